package front

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/perr"
)

// describePages follows cursors to the end and returns what every page held.
func (h *house) describePages(limit int32, topics ...string) (pages []string) {
	h.t.Helper()
	r := kmsg.NewPtrDescribeTopicPartitionsRequest()
	r.ResponsePartitionLimit = limit
	for _, name := range topics {
		r.Topics = append(r.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: name})
	}
	for len(pages) < 20 {
		resp := h.raw(1, r, 0).(*kmsg.DescribeTopicPartitionsResponse)
		var page []string
		for _, rt := range resp.Topics {
			if rt.ErrorCode != 0 {
				page = append(page, *rt.Topic+" "+perr.Code(rt.ErrorCode).Name())
			} else if rt.TopicID == ([16]byte{}) {
				h.t.Errorf("%s has no id", *rt.Topic)
			}
			for _, p := range rt.Partitions {
				page = append(page, fmt.Sprintf("%s/%d", *rt.Topic, p.Partition))
				if p.LeaderID < 1 || len(p.Replicas) != 1 || len(p.ISR) != 1 || p.EligibleLeaderReplicas == nil || p.LastKnownELR == nil {
					h.t.Errorf("%s: %+v", *rt.Topic, p)
				}
			}
		}
		pages = append(pages, strings.Join(page, " "))
		if resp.NextCursor == nil {
			return pages
		}
		r.Cursor = &kmsg.DescribeTopicPartitionsRequestCursor{Topic: resp.NextCursor.Topic, Partition: resp.NextCursor.Partition}
	}
	h.t.Fatalf("no end after %q", pages)
	return nil
}

func TestTopicsAreDescribedInPages(t *testing.T) {
	h := newHouse(t, 1)
	h.create("b", 3, 1, nil)
	h.create("a", 2, 1, nil)
	h.create("c", 1, 1, nil)
	for _, c := range []struct {
		limit  int32
		topics []string
		want   []string
	}{
		{2000, nil, []string{"a/0 a/1 b/0 b/1 b/2 c/0"}},
		{1 << 30, nil, []string{"a/0 a/1 b/0 b/1 b/2 c/0"}},
		{4, nil, []string{"a/0 a/1 b/0 b/1", "b/2 c/0"}},
		{2, nil, []string{"a/0 a/1", "b/0 b/1", "b/2 c/0"}},
		{0, []string{"c", "a"}, []string{"a/0", "a/1", "c/0"}},
		{-1, []string{"c"}, []string{"c/0"}},
		{3, []string{"c", "b", "aa", "b"}, []string{"aa UNKNOWN_TOPIC_OR_PARTITION b/0 b/1 b/2", "c/0"}},
		{9, []string{"no/name"}, []string{"no/name INVALID_TOPIC_EXCEPTION"}},
	} {
		if got := h.describePages(c.limit, c.topics...); !slices.Equal(got, c.want) {
			t.Errorf("%v in pages of %d: %q, want %q", c.topics, c.limit, got, c.want)
		}
	}
	ask := func(cursor string, partition int32, topics ...string) *kmsg.DescribeTopicPartitionsResponse {
		r := kmsg.NewPtrDescribeTopicPartitionsRequest()
		r.Cursor = &kmsg.DescribeTopicPartitionsRequestCursor{Topic: cursor, Partition: partition}
		for _, name := range topics {
			r.Topics = append(r.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: name})
		}
		return h.raw(1, r, 0).(*kmsg.DescribeTopicPartitionsResponse)
	}
	// A topic that was deleted between two pages is stepped over; one that became shorter has no more partitions.
	if resp := ask("bb", 2); len(resp.Topics) != 1 || *resp.Topics[0].Topic != "c" {
		t.Errorf("after a topic that is gone: %+v", resp.Topics)
	}
	if resp := ask("c", 1<<31-1); len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 0 || resp.NextCursor != nil {
		t.Errorf("behind the last partition: %+v", resp)
	}
	for _, resp := range []*kmsg.DescribeTopicPartitionsResponse{ask("b", 0, "a", "c"), ask("a", -1, "a", "c")} {
		if len(resp.Topics) != 2 || perr.Code(resp.Topics[0].ErrorCode) != perr.InvalidRequest {
			t.Errorf("a cursor that makes no sense: %+v", resp.Topics)
		}
	}
}
