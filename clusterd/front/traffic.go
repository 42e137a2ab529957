package front

import (
	"sync"
	"sync/atomic"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/histogram"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// Traffic counts what the listeners of one process serve, since it was made. It is written from every
// connection without a lock; nil counts nothing.
type Traffic struct {
	apis   [apiKeys]apiTraffic
	topics sync.Map // core.TopicID → *topicTraffic
	errors sync.Map // apiError → *atomic.Int64
	conns  sync.Map // core.ReplicaID → *atomic.Int64
	// listeners by name → *admissions
	listeners sync.Map
	// core.ReplicaID → *fetchSessions, of the broker's newest listener
	sessions sync.Map
}

// apiKeys bounds the api keys that are counted; ours end well below.
const apiKeys = 128

type apiTraffic struct {
	requests atomic.Int64
	took     histogram.Histogram // from the whole frame to the answer's bytes
}

type topicTraffic struct {
	records, bytesIn, bytesOut, mirrorBytesOut atomic.Int64
}

type apiError struct {
	key  int16
	code perr.Code
}

// APITraffic is one api as operators read it.
type APITraffic struct {
	Name     string
	Requests int64
	Took     histogram.Snapshot // of answered requests; acks=0 has no answer
}

// TopicTraffic is what clients wrote to one topic and read from it, in records and bytes of batches.
type TopicTraffic struct {
	Topic                                      core.TopicID
	RecordsIn, BytesIn, BytesOut, MirrorsBytes int64 // MirrorsBytes went to mirrors
}

// APIError counts one error of one api, per partition answered.
type APIError struct {
	API   string
	Code  perr.Code
	Count int64
}

// APIs lists every api that is served, also those that nobody asked yet.
func (t *Traffic) APIs() (list []APITraffic) {
	for _, api := range messages.APIs() {
		a := &t.apis[api.Key]
		list = append(list, APITraffic{api.Name, a.requests.Load(), a.took.Snapshot()})
	}
	return list
}

// Topics lists topics that were written or read, deleted ones included, in no order.
func (t *Traffic) Topics() (list []TopicTraffic) {
	t.topics.Range(func(id, counts any) bool {
		c := counts.(*topicTraffic)
		list = append(list, TopicTraffic{id.(core.TopicID), c.records.Load(), c.bytesIn.Load(), c.bytesOut.Load(), c.mirrorBytesOut.Load()})
		return true
	})
	return list
}

// Errors lists errors of Produce and Fetch that were answered at least once, in no order.
func (t *Traffic) Errors() (list []APIError) {
	t.errors.Range(func(key, count any) bool {
		k := key.(apiError)
		row, _ := messages.APIOf(k.key)
		list = append(list, APIError{row.Name, k.code, count.(*atomic.Int64).Load()})
		return true
	})
	return list
}

// Connections is how many clients are connected to a broker's listener now.
func (t *Traffic) Connections(id core.ReplicaID) int64 { return t.connections(id).Load() }

// Sessions counts the fetch sessions of a broker.
func (t *Traffic) Sessions(id core.ReplicaID) SessionCounts {
	if s, ok := t.sessions.Load(id); ok {
		return s.(*fetchSessions).counts()
	}
	return SessionCounts{}
}

// Forget drops a deleted topic.
func (t *Traffic) Forget(id core.TopicID) { t.topics.Delete(id) }

func (t *Traffic) connections(id core.ReplicaID) *atomic.Int64 {
	return entry[atomic.Int64](&t.conns, id)
}

// entry finds or makes a map's value; almost always it is there.
func entry[V any](m *sync.Map, key any) *V {
	if v, ok := m.Load(key); ok {
		return v.(*V)
	}
	v, _ := m.LoadOrStore(key, new(V))
	return v.(*V)
}

func (t *Traffic) asked(key int16) {
	if t != nil && key >= 0 && key < apiKeys {
		t.apis[key].requests.Add(1)
	}
}

func (t *Traffic) answered(key int16, took time.Duration) {
	if t != nil && key >= 0 && key < apiKeys {
		t.apis[key].took.Observe(took)
	}
}

func (t *Traffic) refused(key int16, code perr.Code) {
	if t != nil {
		entry[atomic.Int64](&t.errors, apiError{key, code}).Add(1)
	}
}

func (t *Traffic) produced(topic core.TopicID, records int32, bytes int) {
	if t != nil {
		c := entry[topicTraffic](&t.topics, topic)
		c.records.Add(int64(records))
		c.bytesIn.Add(int64(bytes))
	}
}

// fetched counts a finished answer, partition by partition.
func (t *Traffic) fetched(resp *messages.FetchResponse, topics func(string) core.TopicID, mirror bool) {
	if t == nil {
		return
	}
	for i := range resp.Responses {
		rt := &resp.Responses[i]
		bytes := 0
		for j := range rt.Partitions {
			if code := perr.Code(rt.Partitions[j].ErrorCode); code != perr.None {
				t.refused(messages.KeyFetch, code)
			}
			bytes += len(rt.Partitions[j].Records)
		}
		if bytes == 0 {
			continue
		}
		id := core.TopicID(rt.TopicId)
		if id.IsZero() {
			id = topics(rt.Topic)
		}
		c := entry[topicTraffic](&t.topics, id)
		if mirror {
			c.mirrorBytesOut.Add(int64(bytes))
		} else {
			c.bytesOut.Add(int64(bytes))
		}
	}
}

// appended reports whether an error leaves the batch in the log.
func appended(code perr.Code) bool {
	switch code {
	case perr.RequestTimedOut, perr.NotEnoughReplicasAfterAppend, perr.MirrorSyncReplicationTimeout, perr.NotEnoughRemoteReplicasAfterAppend:
		return true
	default:
		return false
	}
}
