package fetcher

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/protocol/batch"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// peer is a Kafka broker made of a few lines: one topic, logs written by the test, and a script that may
// change any fetch answer. It speaks over TCP, so that the fetcher's own framing is tested with it.
type peer struct {
	t     *testing.T
	ln    net.Listener
	topic core.TopicID

	cluster, name, nats string

	mu     sync.Mutex
	moved  *sync.Cond
	logs   []*peerLog
	gone   bool    // the topic does not exist
	others []*peer // brokers of the same cluster
	asked  int     // how often metadata of the topic was asked for
	newest int16   // of Fetch
	script func(q peerFetch, p *messages.FetchResponsePartition)
	// mangle changes an answer's bytes; with cutShort set the connection ends after them.
	mangle      func(key int16, frame []byte) []byte
	knowsNoSync bool // does not serve 108 and 109
	cutShort    bool
	extra       func(*messages.FetchResponse)
	fetches     []peerFetch
	conns       map[net.Conn]bool
	doorman     *doorman // nil: anybody may ask
	serving     sync.WaitGroup
}

// peerLog is one partition of the peer.
type peerLog struct {
	epoch   core.LeaderEpoch // of the leader
	batches []batch.Batch
	start   core.Offset
	hw      core.Offset
	refuse  perr.Code // to sync fetches
	release int64
	unclean core.LeaderEpoch
	plain   bool // states no evidence
	source  core.Incarnation
}

// peerFetch is one partition of one fetch, as it arrived.
type peerFetch struct {
	Partition int32
	Epoch     core.LeaderEpoch
	Last      core.LeaderEpoch
	Offset    core.Offset
	Compare   core.Offset
	Sync      bool
	Probe     bool // wants no data: part of a divergence check
	NoRecords bool // may not read now: throttled
	Floors    []messages.ReplicaFloorsPartition
	ISR       []int32
	Positions map[int32]int64 // of the replicas listed
	MaxWait   time.Duration
}

func startPeer(t *testing.T, partitions int) *peer {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, ln: ln, cluster: "source", topic: core.TopicID{7}, name: "orders", newest: 20, conns: map[net.Conn]bool{}}
	p.moved = sync.NewCond(&p.mu)
	for range partitions {
		p.logs = append(p.logs, &peerLog{epoch: 1, unclean: core.NoEpoch})
	}
	p.serving.Go(p.accept)
	t.Cleanup(p.stop)
	return p
}

func (p *peer) stop() {
	p.ln.Close()
	p.dropConnections()
	p.serving.Wait()
}

func (p *peer) addr() string { return p.ln.Addr().String() }

func (p *peer) dropConnections() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
		delete(p.conns, c)
	}
	p.moved.Broadcast()
}

// change runs f on the peer's state and wakes parked fetches.
func (p *peer) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	p.moved.Broadcast()
}

// produce appends n records of one byte each as one batch, under the leader's epoch.
func (p *peer) produce(partition, n int, committed bool) {
	p.change(func() {
		l := p.logs[partition]
		l.append(n)
		if committed {
			l.hw = l.end()
		}
	})
}

func (l *peerLog) append(n int) {
	raw := testBatch(n)
	batch.Stamp(raw, int64(l.end()), int32(l.epoch))
	b, _, err := batch.Parse(raw)
	if err != nil {
		panic(err)
	}
	l.batches = append(l.batches, b)
}

func (l *peerLog) end() core.Offset {
	if len(l.batches) == 0 {
		return l.start
	}
	return core.Offset(l.batches[len(l.batches)-1].LastOffset()) + 1
}

// cut removes everything from offset on and elects a new leader.
func (l *peerLog) cut(offset core.Offset, epoch core.LeaderEpoch) {
	for len(l.batches) > 0 && core.Offset(l.batches[len(l.batches)-1].LastOffset()) >= offset {
		l.batches = l.batches[:len(l.batches)-1]
	}
	l.epoch = epoch
}

// endOf answers OffsetForLeaderEpoch: the largest epoch not above asked, and where it ends.
func (l *peerLog) endOf(asked core.LeaderEpoch) (core.LeaderEpoch, core.Offset) {
	found, end := core.NoEpoch, core.Offset(-1)
	for _, b := range l.batches {
		if e := core.LeaderEpoch(b.LeaderEpoch); e <= asked {
			found, end = e, core.Offset(b.LastOffset())+1
		}
	}
	if found == core.NoEpoch && asked >= 0 {
		found, end = asked, l.start // below all that is known: where the first known begins
	}
	if asked >= l.epoch {
		end = l.end()
		found = l.epoch
	}
	return found, end
}

func (p *peer) accept() {
	for {
		c, err := p.ln.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.conns[c] = true
		p.mu.Unlock()
		p.serving.Go(func() {
			p.serve(c)
			c.Close()
			p.mu.Lock()
			delete(p.conns, c)
			p.mu.Unlock()
		})
	}
}

func (p *peer) serve(c net.Conn) {
	for {
		var head [4]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return
		}
		frame := make([]byte, binary.BigEndian.Uint32(head[:]))
		if _, err := io.ReadFull(c, frame); err != nil {
			return
		}
		key, version := int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:]))
		corr := frame[4:8]
		body := frame[10+int(binary.BigEndian.Uint16(frame[8:])):]
		req, err := messages.NewRequest(key, version)
		if err != nil {
			req = kmsg.RequestForKey(key)
			req.SetVersion(version)
		}
		if req.IsFlexible() {
			body = body[1:]
		}
		if err := req.ReadFrom(body); err != nil {
			p.t.Errorf("fetcher sent an unreadable request of key %d: %v", key, err)
			return
		}
		resp := p.reply(c, req)
		if resp == nil {
			return
		}
		resp.SetVersion(version)
		out := append([]byte{0, 0, 0, 0}, corr...)
		if resp.IsFlexible() && key != messages.KeyApiVersions {
			out = append(out, 0)
		}
		out = resp.AppendTo(out)
		binary.BigEndian.PutUint32(out, uint32(len(out)-4))
		p.mu.Lock()
		if p.mangle != nil {
			out = p.mangle(key, out)
		}
		end := p.cutShort
		p.cutShort = false
		p.mu.Unlock()
		if _, err := c.Write(out); err != nil || end {
			return
		}
	}
}

func (p *peer) answer(c net.Conn, req kmsg.Request) kmsg.Response {
	switch req := req.(type) {
	case *kmsg.ApiVersionsRequest:
		resp := kmsg.NewPtrApiVersionsResponse()
		for key, newest := range map[int16]int16{1: p.newest, 2: 7, 3: 12, 17: 1, 18: 3, 23: 4, 32: 4, 36: 2, 108: 0, 109: 0} {
			k := kmsg.NewApiVersionsResponseApiKey()
			if k.ApiKey, k.MaxVersion = key, newest; key > 100 && p.knowsNoSync {
				continue
			}
			resp.ApiKeys = append(resp.ApiKeys, k)
		}
		return resp
	case *kmsg.MetadataRequest:
		return p.metadata(req)
	case *kmsg.DescribeConfigsRequest:
		return p.configs(req)
	case *kmsg.OffsetForLeaderEpochRequest:
		return p.ends(req)
	case *kmsg.ListOffsetsRequest:
		return p.starts(req)
	case *messages.FetchRequest:
		return p.fetch(c, req)
	case *messages.UnregisterMirrorSyncTopicRequest:
		return nil // taken, and the connection breaks behind it
	default:
		p.t.Errorf("fetcher sent an unexpected request %T", req)
		return nil
	}
}

func (p *peer) metadata(req *kmsg.MetadataRequest) kmsg.Response {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(req.Topics) > 0 {
		p.asked++
		p.moved.Broadcast()
	}
	resp := kmsg.NewPtrMetadataResponse()
	resp.ClusterID = &p.cluster
	b := kmsg.NewMetadataResponseBroker()
	addr := p.ln.Addr().(*net.TCPAddr)
	b.NodeID, b.Host, b.Port = 1, "127.0.0.1", int32(addr.Port)
	resp.Brokers = append(resp.Brokers, b)
	for i, other := range p.others {
		b.NodeID, b.Port = int32(i+2), int32(other.ln.Addr().(*net.TCPAddr).Port)
		resp.Brokers = append(resp.Brokers, b)
	}
	t := kmsg.NewMetadataResponseTopic()
	t.Topic, t.TopicID = &p.name, p.topic
	for i, l := range p.logs {
		pt := kmsg.NewMetadataResponseTopicPartition()
		pt.Partition, pt.Leader, pt.LeaderEpoch = int32(i), 1, int32(l.epoch)
		t.Partitions = append(t.Partitions, pt)
	}
	if p.gone {
		if req.Topics == nil {
			return resp
		}
		t = kmsg.NewMetadataResponseTopic()
		t.TopicID, t.ErrorCode = p.topic, int16(perr.UnknownTopicId)
	}
	resp.Topics = append(resp.Topics, t)
	return resp
}

func (p *peer) configs(req *kmsg.DescribeConfigsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeConfigsResponse()
	for _, r := range req.Resources {
		out := kmsg.NewDescribeConfigsResponseResource()
		out.ResourceType, out.ResourceName = r.ResourceType, r.ResourceName
		add := func(name, value string, source kmsg.ConfigSource) {
			c := kmsg.NewDescribeConfigsResponseResourceConfig()
			c.Name, c.Value, c.Source = name, &value, source
			out.Configs = append(out.Configs, c)
		}
		if r.ResourceType == kmsg.ConfigResourceTypeBroker && p.nats != "" {
			add("lockstep.nats.url", p.nats, kmsg.ConfigSourceStaticBrokerConfig)
		}
		if r.ResourceType == kmsg.ConfigResourceTypeTopic {
			add("retention.ms", "1000", kmsg.ConfigSourceDynamicTopicConfig)
			add("min.insync.replicas", "2", kmsg.ConfigSourceDynamicTopicConfig)
			add("segment.bytes", "1048576", kmsg.ConfigSourceDefaultConfig)
		}
		resp.Resources = append(resp.Resources, out)
	}
	return resp
}

// fence is the code for a request under another epoch than the leader's.
func (l *peerLog) fence(epoch int32) perr.Code {
	switch e := core.LeaderEpoch(epoch); {
	case e < l.epoch:
		return perr.FencedLeaderEpoch
	case e > l.epoch:
		return perr.UnknownLeaderEpoch
	default:
		return perr.None
	}
}

func (p *peer) ends(req *kmsg.OffsetForLeaderEpochRequest) kmsg.Response {
	p.mu.Lock()
	defer p.mu.Unlock()
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	for _, t := range req.Topics {
		out := kmsg.NewOffsetForLeaderEpochResponseTopic()
		out.Topic = t.Topic
		for _, q := range t.Partitions {
			r := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			r.Partition = q.Partition
			l := p.logs[q.Partition]
			if r.ErrorCode = int16(l.fence(q.CurrentLeaderEpoch)); r.ErrorCode == 0 {
				epoch, end := l.endOf(core.LeaderEpoch(q.LeaderEpoch))
				r.LeaderEpoch, r.EndOffset = int32(epoch), int64(end)
			}
			out.Partitions = append(out.Partitions, r)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

func (p *peer) starts(req *kmsg.ListOffsetsRequest) kmsg.Response {
	p.mu.Lock()
	defer p.mu.Unlock()
	resp := kmsg.NewPtrListOffsetsResponse()
	for _, t := range req.Topics {
		out := kmsg.NewListOffsetsResponseTopic()
		out.Topic = t.Topic
		for _, q := range t.Partitions {
			r := kmsg.NewListOffsetsResponseTopicPartition()
			r.Partition = q.Partition
			l := p.logs[q.Partition]
			r.ErrorCode, r.Offset, r.LeaderEpoch = int16(l.fence(q.CurrentLeaderEpoch)), int64(l.start), int32(l.epoch)
			out.Partitions = append(out.Partitions, r)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

// awaitFetch waits until some fetch, past ones included, is as ok wants it.
func (p *peer) awaitFetch(ok func(peerFetch) bool) {
	p.t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	timer := time.AfterFunc(5*time.Second, func() { p.change(func() {}) })
	defer timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for seen := 0; ; {
		for ; seen < len(p.fetches); seen++ {
			if ok(p.fetches[seen]) {
				return
			}
		}
		if !time.Now().Before(deadline) {
			p.t.Fatalf("timed out waiting for a fetch; last of %d: %+v", len(p.fetches), p.fetches[max(0, len(p.fetches)-3):])
		}
		p.moved.Wait()
	}
}
