package front

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/perr"
)

// flow produces values one after the other, and counts how often each was read by the members of a group.
type flow struct {
	h     *house
	group string
	mu    sync.Mutex
	seen  map[string]int
	sent  int
}

// member reads until it is closed; what it has read is committed as it goes.
func (f *flow) member(opts ...kgo.Opt) *kgo.Client {
	c := f.h.client(append([]kgo.Opt{kgo.ConsumerGroup(f.group), kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.HeartbeatInterval(50 * time.Millisecond), kgo.AutoCommitInterval(100 * time.Millisecond), kgo.FetchMaxWait(50 * time.Millisecond)}, opts...)...)
	go func() {
		for {
			fetches := c.PollFetches(context.Background())
			if fetches.IsClientClosed() {
				return
			}
			fetches.EachRecord(func(r *kgo.Record) {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.seen[string(r.Value)]++
			})
		}
	}()
	return c
}

// pass sends some more and waits until all are read.
func (f *flow) pass() {
	f.h.t.Helper()
	var records []*kgo.Record
	for range 60 {
		records = append(records, &kgo.Record{Value: fmt.Append(nil, f.sent)})
		f.sent++
	}
	f.h.produce("t", records, kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	waitFor(f.h.t, "everything to be read", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.seen) == f.sent
	})
}

// becomes waits until the group has a kind and a number of members.
func (f *flow) becomes(kind string, members int) {
	f.h.t.Helper()
	adm := kadm.NewClient(f.h.client())
	seen := ""
	defer func() {
		if f.h.t.Failed() {
			f.h.t.Log("last seen: ", seen)
		}
	}()
	waitFor(f.h.t, fmt.Sprintf("a stable %s group of %d", kind, members), func() bool {
		listed, err := adm.ListGroups(patient(f.h.t))
		if err != nil {
			f.h.t.Fatal(err)
		}
		g := listed[f.group]
		n := 0
		switch g.GroupType {
		case "classic":
			d, err := adm.DescribeGroups(patient(f.h.t), f.group)
			if err == nil {
				n = len(d[f.group].Members)
			}
		case "consumer":
			r := kmsg.NewPtrConsumerGroupDescribeRequest()
			r.Groups = []string{f.group}
			for b := range f.h.addrs {
				if resp := f.h.raw(b+1, r, 1).(*kmsg.ConsumerGroupDescribeResponse); resp.Groups[0].ErrorCode == 0 {
					n = len(resp.Groups[0].Members)
				}
			}
		}
		seen = fmt.Sprint(g, n)
		return g.GroupType == kind && g.State == "Stable" && n == members
	})
}

// KIP-848: members of a live group change the protocol one after the other, there and back, and nothing is left unread.
func TestALiveGroupChangesItsProtocolAndBack(t *testing.T) {
	for name, balancer := range map[string]kgo.GroupBalancer{"eager": kgo.RangeBalancer(), "cooperative": kgo.CooperativeStickyBalancer()} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, 3)
			h.create("t", 6, 3, nil)
			f := &flow{h: h, group: "g", seen: map[string]int{}}
			classic, modern := kgo.Balancers(balancer), kgo.ServerSideBalancer()
			a, b := f.member(classic), f.member(classic)
			f.becomes("classic", 2)
			f.pass()
			c := f.member(modern)
			f.becomes("consumer", 3)
			f.pass()
			a.Close()
			d := f.member(modern)
			f.becomes("consumer", 3)
			f.pass()
			h.restart()
			f.pass()
			b.Close()
			f.becomes("consumer", 2)
			f.pass()
			e := f.member(classic)
			f.becomes("consumer", 3)
			f.pass()
			c.Close()
			d.Close()
			f.becomes("classic", 1)
			f.pass()
			e.Close()
		})
	}
}

// An operator turns the consumer protocol off; members of the classic one go on.
func TestTheConsumerProtocolIsAFeature(t *testing.T) {
	h := newHouse(t, 1)
	h.create("t", 1, 1, nil)
	beat := func() perr.Code {
		r := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		h.makeOrdinary(r)
		return perr.Code(h.raw(1, r, 1).(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode)
	}
	level := func() int16 {
		for _, f := range h.raw(1, handshake(), 4).(*kmsg.ApiVersionsResponse).FinalizedFeatures {
			if f.Name == "group.version" {
				return f.MaxVersionLevel
			}
		}
		return 0
	}
	if code := beat(); code != perr.None || level() != 1 {
		t.Fatalf("%s at level %d", code, level())
	}
	r := kmsg.NewPtrUpdateFeaturesRequest()
	u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	u.Feature, u.MaxVersionLevel, u.UpgradeType = "group.version", 0, 2
	r.FeatureUpdates = append(r.FeatureUpdates, u)
	if resp := h.raw(1, r, 1).(*kmsg.UpdateFeaturesResponse); resp.ErrorCode != 0 {
		t.Fatalf("%+v", resp)
	}
	waitFor(t, "the feature to be off", func() bool { return level() == 0 })
	if code := beat(); code != perr.UnsupportedVersion {
		t.Errorf("%s", code)
	}
	h.member("classic")
}
