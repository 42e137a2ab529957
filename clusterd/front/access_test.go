package front

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

const stranger = access.Principal("User:mallory")

// farSource are the settings of a mirror whose source answers nobody.
var farSource = map[string]string{bootstrapServers: "far:9092", sourceClusterID: "dc3"}

// stillSource knows the cluster of farSource and nothing of its topics.
type stillSource struct{}

func (stillSource) Check(map[string]string) string { return "" }
func (stillSource) Identify(context.Context, map[string]string) (core.ClusterID, error) {
	return "dc3", nil
}
func (stillSource) Topics(context.Context, map[string]string, []string, []string, []string) ([]mirror.SourceTopic, error) {
	return nil, nil
}

// guarded is a house with an authorizer, where whoever comes over a connection may do everything.
func guarded(t *testing.T, settings map[string]string) *house {
	t.Helper()
	h := newHouse(t, 1)
	h.source = stillSource{}
	with := map[string]string{access.AuthorizerClass: access.StandardAuthorizer, access.SuperUsers: string(access.Anonymous)}
	for name, value := range settings {
		with[name] = value
	}
	h.withSettings(with)
	return h
}

// as plays a request of somebody whom a listener has authenticated, and returns what they decode.
func (h *house) as(who access.Principal, r kmsg.Request, version int16) kmsg.Response {
	h.t.Helper()
	r.SetVersion(version)
	slot := NewSlot()
	apis[r.Key()].handle(h.fronts[0], r, Client{ID: "c", Addr: "10.0.0.1:1", Host: "10.0.0.1", Principal: who}, slot)
	stop := make(chan struct{})
	late := time.AfterFunc(10*time.Second, func() { close(stop) })
	defer late.Stop()
	resp, ok := slot.Wait(stop)
	if !ok {
		h.t.Fatalf("%s v%d is not answered", kmsg.NameForKey(r.Key()), version)
	}
	resp.SetVersion(version)
	out := r.ResponseKind()
	if err := out.ReadFrom(resp.AppendTo(nil)); err != nil {
		h.t.Fatalf("%s v%d: %v", kmsg.NameForKey(r.Key()), version, err)
	}
	return out
}

// secrets fills a house with what the rules ask about.
func (h *house) secrets() (topic, gated core.TopicID) {
	h.t.Helper()
	topic, gated = h.fill(secretTopic, 3, 10), h.fill(secretGated, 1, 10)
	h.commitAs(secretGroup, secretTopic, 0, "secret-metadata")
	h.transact(h.transactional(secretTxn), true, secretTopic, "secret-record")
	if err := h.quotaOf("producer_byte_rate", 1e9, quotaUser, secretUser); err != nil {
		h.t.Fatal(err)
	}
	if codes := h.createACLs(1, topicACL(secretTopic, access.UserNamed(secretUser), access.Read)); codes[0] != perr.None {
		h.t.Fatal(codes)
	}
	if codes := h.setPassword(1, secretUser, "secret-password"); codes[0] != perr.None {
		h.t.Fatal(codes)
	}
	if code, why := h.alterConfigs(kmsg.ConfigResourceTypeGroupConfig, secretGroup, false, op{Name: "consumer.session.timeout.ms", Value: text("50000")}); code != perr.None {
		h.t.Fatal(code, why)
	}
	var config []string
	for name, value := range farSource {
		config = append(config, name, value)
	}
	if made := h.createMirror(secretMirror, config...); made.ErrorCode != 0 {
		h.t.Fatal(perr.Code(made.ErrorCode), *made.ErrorMessage)
	}
	if got := (&farMirror{h: h, data: [16]byte{1}}).register(secretGated, gated, 0); got.ErrorCode != 0 {
		h.t.Fatal(perr.Code(got.ErrorCode))
	}
	beat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	beat.Group, beat.MemberID, beat.RebalanceTimeoutMillis = secretConsumers, "secret-member", 60_000
	beat.SubscribedTopicNames, beat.Topics = []string{secretTopic}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	if got := h.raw(1, beat, 1).(*kmsg.ConsumerGroupHeartbeatResponse); got.ErrorCode != 0 || got.Assignment == nil {
		h.t.Fatalf("%+v", got)
	}
	return topic, gated
}

// errorsIn lists the error codes of an answer by the fields on the way to them.
func errorsIn(v reflect.Value, path string, found map[string][]perr.Code) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			errorsIn(v.Elem(), path, found)
		}
	case reflect.Slice:
		for i := range v.Len() {
			errorsIn(v.Index(i), path, found)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if name == "ErrorCode" && v.Field(i).Kind() == reflect.Int16 {
				if code := perr.Code(v.Field(i).Int()); code != perr.None {
					at := strings.TrimPrefix(path, ".")
					if at == "" {
						at = "-"
					}
					found[at] = append(found[at], code)
				}
				continue
			}
			if v.Type().Field(i).IsExported() {
				errorsIn(v.Field(i), path+"."+name, found)
			}
		}
	default:
	}
}

// wordsIn lists the texts, ids and bytes of a message.
func wordsIn(v reflect.Value, found map[string]bool) {
	switch {
	case v.Kind() == reflect.String:
		found[v.String()] = true
	case v.Kind() == reflect.Array || v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		found[fmt.Sprintf("%s", v.Interface())] = true
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			wordsIn(v.Index(i), found)
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		wordsIn(v.Elem(), found)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				wordsIn(v.Field(i), found)
			}
		}
	}
}

// everything is what a super user sees of a house, to be compared.
func (h *house) everything() (all []string) {
	h.t.Helper()
	ask := func(r kmsg.Request, version int16) {
		resp := h.as(access.Anonymous, r, version)
		if list, ok := resp.(*kmsg.ListGroupsResponse); ok { // shards answer in any order
			slices.SortFunc(list.Groups, func(a, b kmsg.ListGroupsResponseGroup) int { return strings.Compare(a.Group, b.Group) })
		}
		all = append(all, fmt.Sprintf("%T %x", resp, resp.AppendTo(nil)))
	}
	for _, rules := range [][]accessRule{accessRules, adminRules, mirrorRules} {
		for _, rule := range rules {
			switch rule.key {
			case messages.KeyListOffsets, messages.KeyOffsetFetch, messages.KeyDescribeGroups, messages.KeyListGroups, messages.KeyDescribeConfigs,
				messages.KeyDescribeClientQuotas, messages.KeyDescribeTransactions, messages.KeyDescribeProducers, messages.KeyListPartitionReassignments,
				messages.KeyListConfigResources, messages.KeyConsumerGroupDescribe, messages.KeyApiVersions, messages.KeyDescribeAcls, messages.KeyDescribeUserScramCredentials:
				_, last := versionsOf(rule)
				ask(rule.ask(h.topic(secretTopic), last), last)
			}
		}
	}
	ask(kmsg.NewPtrMetadataRequest(), 12)
	mirrors := h.as(access.Anonymous, messages.NewPtrDescribeClusterMirrorsRequest(), 0).(*messages.DescribeClusterMirrorsResponse)
	for i := range mirrors.Sources {
		for j := range mirrors.Sources[i].Registrations {
			mirrors.Sources[i].Registrations[j].SilentMs, mirrors.Sources[i].Registrations[j].HoldsMs = 0, 0
		}
	}
	return append(all, fmt.Sprintf("%x", mirrors.AppendTo(nil)))
}

func versionsOf(r accessRule) (from, to int16) {
	a, _ := messages.APIOf(r.key)
	if r.below == 0 {
		return a.Min, a.Max
	}
	return max(r.from, a.Min), r.below - 1
}

// TestEveryApiHasARule of authorization, for all of its versions.
func TestEveryApiHasARule(t *testing.T) {
	ruled := map[string]bool{}
	for _, rule := range slices.Concat(accessRules, adminRules, mirrorRules) {
		for from, to := versionsOf(rule); from <= to; from++ {
			ruled[fmt.Sprintf("%d v%d", rule.key, from)] = true
		}
	}
	for _, a := range messages.APIs() {
		for v := a.Min; v <= a.Max; v++ {
			if !ruled[fmt.Sprintf("%d v%d", a.Key, v)] {
				t.Errorf("%s (%d) v%d has no rule: add one to accessRules, adminRules or mirrorRules that says who may ask, and how others are refused", a.Name, a.Key, v)
			}
		}
	}
}

// A stranger plays every api in every version: all is refused where Kafka refuses it, nothing is changed, and no name, id or
// record comes back that the stranger did not bring along.
func TestAStrangerChangesAndLearnsNothing(t *testing.T) {
	h := guarded(t, map[string]string{"auto.create.topics.enable": "true"})
	topic, gated := h.secrets()
	before := h.everything()
	play := func(rules []accessRule, id core.TopicID) {
		for _, rule := range rules {
			for version, to := versionsOf(rule); version <= to; version++ {
				r := rule.ask(id, version)
				brought := map[string]bool{}
				wordsIn(reflect.ValueOf(r), brought)
				resp := h.as(stranger, r, version)
				name := fmt.Sprintf("%s v%d", kmsg.NameForKey(rule.key), version)
				if a, own := messages.APIOf(rule.key); own {
					name = fmt.Sprintf("%s v%d", a.Name, version)
				}
				refused := map[string][]perr.Code{}
				errorsIn(reflect.ValueOf(resp), "", refused)
				want := map[string][]perr.Code{}
				if rule.denied != "" {
					for _, at := range strings.Split(rule.denied, ", ") {
						want[at] = []perr.Code{rule.code}
					}
				}
				if !reflect.DeepEqual(refused, want) {
					t.Errorf("%s is refused with %v, want %v", name, refused, want)
				}
				told := map[string]bool{}
				wordsIn(reflect.ValueOf(resp), told)
				for word := range told {
					for own := range brought {
						if strings.Contains(own, "secret") || own == "new" {
							word = strings.ReplaceAll(word, own, "") // what they named themselves
						}
					}
					if !brought[word] && (strings.Contains(word, "secret") || word == string(topic[:]) || word == string(gated[:]) || word == "new" || strings.Contains(word, "xxx")) {
						t.Errorf("%s tells a stranger %q", name, word)
					}
				}
			}
		}
	}
	play(accessRules, topic)
	play(adminRules, topic)
	play(mirrorRules, gated)
	for i, now := range h.everything() {
		if now != before[i] {
			t.Errorf("changed:\n%s\n%s", before[i], now)
		}
	}
}
