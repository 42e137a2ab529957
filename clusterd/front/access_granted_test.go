package front

import (
	"bytes"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// right is one "OPERATION TYPE" of a rule, of a resource that the house has unless it names another behind a colon.
func right(who access.Principal, text string) kmsg.CreateACLsRequestCreation {
	op, resource, _ := strings.Cut(text, " ")
	kind, name, named := strings.Cut(resource, ":")
	of := map[string]struct {
		kind access.ResourceType
		name string
	}{
		"TOPIC": {access.Topic, secretTopic}, "GROUP": {access.Group, secretGroup}, "CLUSTER": {access.Cluster, access.ClusterName},
		"TRANSACTIONAL_ID": {access.TransactionalID, secretTxn}, "CLUSTER_MIRROR": {access.ClusterMirror, secretMirror},
	}[kind]
	if !named {
		name = of.name
	}
	operation, err := kmsg.ParseACLOperation(op)
	if err != nil || of.kind == 0 {
		panic(text)
	}
	return kmsg.CreateACLsRequestCreation{ResourceType: kmsg.ACLResourceType(of.kind), ResourceName: name, ResourcePatternType: kmsg.ACLResourcePatternTypeLiteral,
		Principal: string(who), Host: access.Wildcard, Operation: operation, PermissionType: kmsg.ACLPermissionTypeAllow}
}

// allow gives rights, and returns when the broker knows of them.
func (h *house) allow(rights ...kmsg.CreateACLsRequestCreation) {
	h.t.Helper()
	r := kmsg.NewPtrCreateACLsRequest()
	r.Creations = rights
	for _, made := range h.raw(1, r, 3).(*kmsg.CreateACLsResponse).Results {
		if made.ErrorCode != 0 {
			h.t.Fatal(perr.Code(made.ErrorCode), *made.ErrorMessage)
		}
	}
}

// trial is a rule, somebody with some of its rights, and whether these are enough.
type trial struct {
	rule   accessRule
	id     core.TopicID
	who    access.Principal
	has    []string
	enough bool
}

// trials are of each list of rights that is enough for a rule that whole, and the list without any one of it.
func trials(rules []accessRule, id core.TopicID, stem string) (list []trial) {
	for i, rule := range rules {
		if rule.needs == "" {
			continue
		}
		for j, all := range strings.Split(rule.needs, " | ") {
			rights := strings.Split(all, ", ")
			for without := -1; without < len(rights); without++ {
				t := trial{rule: rule, id: id, who: access.UserNamed(fmt.Sprint(stem, i, "-", j, "-", without)), has: rights, enough: without < 0}
				if !t.enough {
					t.has = slices.Delete(slices.Clone(rights), without, without+1)
				}
				list = append(list, t)
			}
		}
	}
	return list
}

// Who has the rights of a rule may, and nobody who lacks one of them.
func TestTheRightsOfARuleAreEnoughAndNeeded(t *testing.T) {
	h := guarded(t, map[string]string{"auto.create.topics.enable": "true"})
	topic, gated := h.secrets()
	all := slices.Concat(trials(accessRules, topic, "a"), trials(adminRules, topic, "b"), trials(mirrorRules, gated, "c"))
	var rights []kmsg.CreateACLsRequestCreation
	for _, try := range all {
		for _, has := range try.has {
			rights = append(rights, right(try.who, has))
		}
	}
	h.allow(rights...)
	// First those who may not, then those who may look, and only then those who may take it all away.
	order := func(t trial) int {
		switch {
		case !t.enough:
			return 0
		case t.rule.denied == "":
			return 1
		case t.rule.key == messages.KeyDeleteAcls:
			return 3
		default:
			return 2
		}
	}
	slices.SortStableFunc(all, func(a, b trial) int { return order(a) - order(b) })
	for _, try := range all {
		_, version := versionsOf(try.rule)
		a, _ := messages.APIOf(try.rule.key)
		resp := h.as(try.who, try.rule.ask(try.id, version), version)
		refused, told := map[string][]perr.Code{}, map[string]bool{}
		errorsIn(reflect.ValueOf(resp), "", refused)
		wordsIn(reflect.ValueOf(resp), told)
		denied := try.rule.denied == ""
		for _, codes := range refused {
			denied = denied || slices.ContainsFunc(codes, isDenial)
		}
		for word := range told {
			denied = denied && (try.rule.denied != "" || !strings.Contains(word, "secret"))
		}
		if denied == try.enough {
			t.Errorf("%s v%d with %q: denied %v: %v", a.Name, version, try.has, denied, refused)
		}
	}
}

func isDenial(code perr.Code) bool {
	switch code {
	case perr.TopicAuthorizationFailed, perr.GroupAuthorizationFailed, perr.ClusterAuthorizationFailed, perr.TransactionalIdAuthorizationFailed, perr.ClusterMirrorAuthorizationFailed:
		return true
	default:
		return false
	}
}

// What is judged for each topic of a produce or a fetch costs no memory of who may, with an authorizer or without one.
func TestJudgingAllocatesNothing(t *testing.T) {
	h := guarded(t, nil)
	id := h.fill("t", 1, 10)
	f, img := h.fronts[0], h.fronts[0].image()
	for _, who := range []access.Principal{access.Anonymous, stranger} {
		for _, on := range []bool{true, false} {
			f.access.On = on
			from := Client{Principal: who, Host: "10.0.0.1"}
			want := perr.None
			if on && who == stranger {
				want = perr.TopicAuthorizationFailed
			}
			if n := testing.AllocsPerRun(100, func() {
				_, byName := f.topicFor(from, access.Write, img, "t", core.TopicID{}, false)
				_, byID := f.topicFor(from, access.Read, img, "", id, true)
				if byName != want || byID != want {
					t.Error(byName, byID)
				}
			}); n > 0 && want == perr.None {
				t.Errorf("%s, authorizer %v: %v allocations", who, on, n)
			}
		}
	}
}

// A denial is logged with all that an operator needs to allow it, and a flood of them in one line; what is only left out is none.
func TestDenialsAreLoggedSeldom(t *testing.T) {
	h := guarded(t, nil)
	h.secrets()
	var log bytes.Buffer
	h.fronts[0].log = slog.New(slog.NewTextHandler(&log, nil))
	h.as(stranger, kmsg.NewPtrListGroupsRequest(), 5)
	h.as(stranger, kmsg.NewPtrMetadataRequest(), 12)
	if log.Len() > 0 {
		t.Errorf("what is left out is logged: %s", log.String())
	}
	for range 100 {
		h.as(stranger, metadataOf(secretTopic), 12)
	}
	line := log.String()
	for _, want := range []string{"User:mallory", "10.0.0.1", "DESCRIBE", "TOPIC", secretTopic} {
		if strings.Count(line, "not allowed") != 1 || !strings.Contains(line, want) {
			t.Errorf("a hundred denials of %s are logged as %q", want, line)
		}
	}
}
