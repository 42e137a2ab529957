package access

import (
	"fmt"
	"strings"
)

// The longest texts of a binding, in bytes: names of groups and transactional ids may be long, and so may the subject of a
// certificate, but bindings stay in memory.
const (
	maxName      = 1024
	maxPrincipal = 1024
	maxHost      = 255
)

// Check says what is wrong with a binding that is to be made, "" if nothing is. As in Kafka, an operation that there is not
// for the type is no error: nobody will ask for it.
func (b Binding) Check() string {
	p := b.Pattern
	switch {
	case !p.Type.known():
		return fmt.Sprintf("resource type %d of an ACL; use 2 (topic), 3 (group), 4 (cluster), 5 (transactional id), 6 (delegation token), 7 (user) or 8 (cluster mirror)", p.Type)
	case p.Kind != Literal && p.Kind != Prefixed:
		return fmt.Sprintf("pattern type %d of an ACL; use 3 (literal) or 4 (prefixed)", p.Kind)
	case !b.Operation.known():
		return fmt.Sprintf("operation %d of an ACL; use 2 (all) to %d", b.Operation, TwoPhaseCommit)
	case b.Permission != Deny && b.Permission != Allow:
		return fmt.Sprintf("permission type %d of an ACL; use 2 (deny) or 3 (allow)", b.Permission)
	case p.Name == "":
		return "the resource name of an ACL is empty; use a name, or * for all"
	case len(p.Name) > maxName:
		return fmt.Sprintf("resource name %.32q… has %d bytes; %d is the most", p.Name, len(p.Name), maxName)
	case p.Type == Cluster && p.Name != ClusterName:
		return fmt.Sprintf("resource name %.100q of an ACL of the cluster; the only name is %s", p.Name, ClusterName)
	case !strings.Contains(string(b.Principal), ":"):
		return fmt.Sprintf("principal %.100q has no type: use type:name, as User:alice, or %s for everybody", b.Principal, Everybody)
	case len(b.Principal) > maxPrincipal:
		return fmt.Sprintf("principal %.32q… has %d bytes; %d is the most", b.Principal, len(b.Principal), maxPrincipal)
	case b.Host == "":
		return "the host of an ACL is empty; use an address, or * for all"
	case len(b.Host) > maxHost:
		return fmt.Sprintf("host %.32q… has %d bytes; %d is the most", b.Host, len(b.Host), maxHost)
	default:
		return ""
	}
}

// Check says what is wrong with a filter, "" if nothing is.
func (f Filter) Check() string {
	switch {
	case f.Type != AnyType && !f.Type.known():
		return fmt.Sprintf("resource type %d of a filter of ACLs; use 1 (any) to %d", f.Type, ClusterMirror)
	case f.Kind < AnyPattern || f.Kind > Prefixed:
		return fmt.Sprintf("pattern type %d of a filter of ACLs; use 1 (any), 2 (match), 3 (literal) or 4 (prefixed)", f.Kind)
	case f.Operation != AnyOperation && !f.Operation.known():
		return fmt.Sprintf("operation %d of a filter of ACLs; use 1 (any) to %d", f.Operation, TwoPhaseCommit)
	case f.Permission < AnyPermission || f.Permission > Allow:
		return fmt.Sprintf("permission type %d of a filter of ACLs; use 1 (any), 2 (deny) or 3 (allow)", f.Permission)
	default:
		return ""
	}
}

func (t ResourceType) known() bool { return t >= Topic && t <= ClusterMirror }
func (o Operation) known() bool    { return o >= All && o <= TwoPhaseCommit }

// Operations are what may be done with a resource of a type (Kafka's AclEntry.supportedOperations); All is none of them.
func (t ResourceType) Operations() []Operation {
	switch t {
	case Topic:
		return []Operation{Read, Write, Create, Delete, Alter, Describe, DescribeConfigs, AlterConfigs}
	case Group:
		return []Operation{Read, Delete, Describe, DescribeConfigs, AlterConfigs}
	case Cluster:
		return []Operation{Create, Alter, Describe, ClusterAction, DescribeConfigs, AlterConfigs, IdempotentWrite}
	case TransactionalID:
		return []Operation{Write, Describe, TwoPhaseCommit}
	case DelegationToken:
		return []Operation{Describe}
	case User:
		return []Operation{CreateTokens, DescribeTokens}
	case ClusterMirror:
		return []Operation{Create, Delete, Alter, Describe, DescribeConfigs, AlterConfigs}
	default:
		return nil
	}
}
