package front

import (
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// A mebibyte names a hundred thousand features. The controller, which decides for the whole cluster, compared each with all
// before it.
func TestAnUpdateOfManyFeaturesIsRefusedAtOnce(t *testing.T) {
	h := newHouse(t, 1)
	r := kmsg.NewPtrUpdateFeaturesRequest()
	for i := range 100_000 {
		u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
		u.Feature, u.MaxVersionLevel, u.UpgradeType = strconv.FormatInt(int64(i), 36), 1, upgradeOnly
		r.FeatureUpdates = append(r.FeatureUpdates, u)
	}
	began := worked(t)
	if resp := h.raw(1, r, 1).(*kmsg.UpdateFeaturesResponse); perr.Code(resp.ErrorCode) != perr.InvalidUpdateVersion {
		t.Errorf("%s", perr.Code(resp.ErrorCode))
	}
	if took := worked(t) - began; took > 3*time.Second {
		t.Errorf("100000 features took %v", took)
	}
	r.FeatureUpdates = r.FeatureUpdates[:0]
	for range 2 {
		u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
		u.Feature, u.MaxVersionLevel, u.UpgradeType = "group.version", 1, upgradeOnly
		r.FeatureUpdates = append(r.FeatureUpdates, u)
	}
	if resp := h.raw(1, r, 1).(*kmsg.UpdateFeaturesResponse); perr.Code(resp.ErrorCode) != perr.InvalidRequest || !strings.Contains(*resp.ErrorMessage, "twice") {
		t.Errorf("a feature named twice: %s", perr.Code(resp.ErrorCode))
	}
}

// Each mention of a partition was an election of its own, which is a decision of the controller and brought along where
// every log of the cluster ends.
func TestAnElectionIsHeldOnceForAPartition(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 2, 1, nil)
	r := kmsg.NewPtrElectLeadersRequest()
	r.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "t", Partitions: make([]int32, 60_000)}, {Topic: "t", Partitions: []int32{1, 0, 7}}, {Topic: "nobody", Partitions: []int32{0, 0}}}
	began := worked(t)
	resp := h.raw(1, r, 2).(*kmsg.ElectLeadersResponse)
	if took := worked(t) - began; took > 3*time.Second {
		t.Errorf("60000 mentions took %v", took)
	}
	got := map[string]perr.Code{}
	for _, rt := range resp.Topics {
		for _, at := range rt.Partitions {
			name := rt.Topic + "/" + strconv.Itoa(int(at.Partition))
			if _, again := got[name]; again {
				t.Fatalf("%s is answered twice", name)
			}
			got[name] = perr.Code(at.ErrorCode)
		}
	}
	for name, want := range map[string]perr.Code{"t/0": perr.ElectionNotNeeded, "t/1": perr.ElectionNotNeeded, "t/7": perr.UnknownTopicOrPartition, "nobody/0": perr.UnknownTopicOrPartition} {
		if got[name] != want {
			t.Errorf("%s: %s, want %s", name, got[name], want)
		}
	}
}

// What waits for the controller is about one partition: an election of all partitions brought along the ends of all logs for
// each of them.
func TestAnElectionOfAllKnowsOfEachItsOwn(t *testing.T) {
	const partitions = 1000
	h := newHouse(t, 1)
	h.create("t", partitions, 1, nil)
	r := kmsg.NewPtrElectLeadersRequest()
	rt := kmsg.ElectLeadersRequestTopic{Topic: "t"}
	for i := range int32(partitions) {
		rt.Partitions = append(rt.Partitions, i)
	}
	r.Topics = append(r.Topics, rt)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	resp := h.raw(1, r, 2).(*kmsg.ElectLeadersResponse)
	runtime.ReadMemStats(&after)
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != partitions {
		t.Fatalf("%+v", resp)
	}
	if each := (after.TotalAlloc - before.TotalAlloc) / partitions; each > 32<<10 {
		t.Errorf("%d bytes for each of %d partitions", each, partitions)
	}
}

// Each topic had its bound, and a request of a few kilobytes made as many topics of ten thousand partitions as it liked.
func TestOneRequestMakesSoManyPartitions(t *testing.T) {
	h := newHouse(t, 1)
	h.create("a", 1, 1, nil)
	h.create("b", 1, 1, nil)
	topic := func(name string, partitions int32, assigned int) messages.CreateTopicsRequestTopic {
		rt := messages.NewCreateTopicsRequestTopic()
		rt.Name, rt.NumPartitions, rt.ReplicationFactor = name, partitions, 1
		for i := range assigned {
			rt.ReplicationFactor = -1
			a := messages.NewCreateTopicsRequestAssignment()
			a.PartitionIndex, a.BrokerIds = int32(i), []int32{1}
			rt.Assignments = append(rt.Assignments, a)
		}
		return rt
	}
	for _, c := range []struct {
		name   string
		topics []messages.CreateTopicsRequestTopic
		code   perr.Code
	}{
		{"two halves and one more", []messages.CreateTopicsRequestTopic{topic("c", 5000, 0), topic("d", 5000, 0), topic("e", 1, 0)}, perr.PolicyViolation},
		{"the default counts", []messages.CreateTopicsRequestTopic{topic("c", 10_000, 0), topic("d", -1, 0)}, perr.PolicyViolation},
		{"an assignment counts", []messages.CreateTopicsRequestTopic{topic("c", 9_999, 0), topic("d", -1, 2)}, perr.PolicyViolation},
		{"as many as there may be", []messages.CreateTopicsRequestTopic{topic("c", 9_999, 0), topic("d", -1, 1)}, perr.None},
	} {
		r := messages.NewPtrCreateTopicsRequest()
		r.Topics, r.ValidateOnly = c.topics, true
		for _, out := range h.raw(1, r, 7).(*messages.CreateTopicsResponse).Topics {
			if perr.Code(out.ErrorCode) != c.code {
				t.Errorf("%s: %s: %s, want %s", c.name, out.Name, perr.Code(out.ErrorCode), c.code)
			}
		}
	}
	for count, code := range map[int32]perr.Code{5001: perr.None, 5002: perr.PolicyViolation} {
		r := kmsg.NewPtrCreatePartitionsRequest()
		r.ValidateOnly = true
		for name, n := range map[string]int32{"a": 5001, "b": count} {
			rt := kmsg.NewCreatePartitionsRequestTopic()
			rt.Topic, rt.Count = name, n
			r.Topics = append(r.Topics, rt)
		}
		for _, out := range h.raw(1, r, 3).(*kmsg.CreatePartitionsResponse).Topics {
			if perr.Code(out.ErrorCode) != code {
				t.Errorf("to %d: %s: %s, want %s", count, out.Topic, perr.Code(out.ErrorCode), code)
			}
		}
	}
}

// A list grew by a request each time it was appended to, without an end, and each change keeps the whole of it.
func TestAValueIsAsLongAsARequest(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, nil)
	const name = "leader.replication.throttled.replicas"
	add := func(first int) (perr.Code, string) {
		var list []string
		for i := range 3_000 {
			list = append(list, strconv.Itoa(first+i)+":1")
		}
		items := strings.Join(list, ",")
		return h.alterConfigs(kmsg.ConfigResourceTypeTopic, "t", false, op{Name: name, Op: kmsg.IncrementalAlterConfigOpAppend, Value: &items})
	}
	if code, why := add(100_000); code != perr.None {
		t.Fatal(code, why)
	}
	if code, why := add(200_000); code != perr.None && code != perr.InvalidConfig {
		t.Fatal(code, why)
	}
	if code, why := add(300_000); code != perr.InvalidConfig || !strings.Contains(why, name) {
		t.Errorf("%v %q", code, why)
	}
	if got := h.config(kmsg.ConfigResourceTypeTopic, "t", name); len(got) > maxTopicValue {
		t.Errorf("%d bytes are kept", len(got))
	}
}
