// Package access says who may do what: Kafka's ACLs, judged as Kafka's StandardAuthorizer judges them (KIP-11, KIP-290). It
// is pure; the controller keeps the bindings, every broker's image carries them, and the front asks.
package access

import "strings"

// ResourceType is what an ACL is about, by Kafka's code.
type ResourceType int8

// The resource types; 2 to 6 are Kafka's, 8 is that of mirrors (rulings §1; KIP-1279).
const (
	AnyType         ResourceType = 1 // in filters only
	Topic           ResourceType = 2
	Group           ResourceType = 3
	Cluster         ResourceType = 4 // its only name is ClusterName
	TransactionalID ResourceType = 5
	DelegationToken ResourceType = 6
	User            ResourceType = 7
	ClusterMirror   ResourceType = 8
)

// ClusterName is the name of the one resource of type Cluster.
const ClusterName = "kafka-cluster"

// Wildcard is the literal resource name that means all of a type, and the host that means every address.
const Wildcard = "*"

// PatternType is how the resource name of an ACL is meant, by Kafka's code.
type PatternType int8

// The pattern types. Any and Match are of filters only: Match finds whatever applies to the name.
const (
	AnyPattern   PatternType = 1
	MatchPattern PatternType = 2
	Literal      PatternType = 3
	Prefixed     PatternType = 4
)

// Operation is what is done with a resource, by Kafka's code.
type Operation int8

// The operations.
const (
	AnyOperation    Operation = 1 // in filters only
	All             Operation = 2
	Read            Operation = 3
	Write           Operation = 4
	Create          Operation = 5
	Delete          Operation = 6
	Alter           Operation = 7
	Describe        Operation = 8
	ClusterAction   Operation = 9
	DescribeConfigs Operation = 10
	AlterConfigs    Operation = 11
	IdempotentWrite Operation = 12
	CreateTokens    Operation = 13
	DescribeTokens  Operation = 14
	TwoPhaseCommit  Operation = 15
)

// Permission is whether an ACL allows or denies, by Kafka's code.
type Permission int8

// The permissions.
const (
	AnyPermission Permission = 1 // in filters only
	Deny          Permission = 2
	Allow         Permission = 3
)

// Principal is who asks, in Kafka's form: a type, a colon and a name, which may hold colons itself.
type Principal string

// Anonymous is whoever a listener does not ask for a name; Everybody is the principal of an ACL that means all users.
const (
	Anonymous Principal = "User:ANONYMOUS"
	Everybody Principal = "User:*"
)

// UserNamed is the principal of a user.
func UserNamed(name string) Principal { return Principal("User:" + name) }

// Name is the principal without its type.
func (p Principal) Name() string {
	_, name, _ := strings.Cut(string(p), ":")
	return name
}
