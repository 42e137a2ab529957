package front

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// inSession asks broker 1 as the client of a session does.
func (h *house) inSession(r *messages.FetchRequest, id, epoch int32, version int16) *messages.FetchResponse {
	h.t.Helper()
	r.SessionId, r.SessionEpoch = id, epoch
	return h.raw(1, r, version).(*messages.FetchResponse)
}

// partitionsOf is what an answer lists, as topic index and bytes, and errors by name.
func partitionsOf(resp *messages.FetchResponse, ids ...core.TopicID) string {
	var list []string
	for _, t := range resp.Responses {
		for _, p := range t.Partitions {
			at := "?"
			for i, id := range ids {
				if id == core.TopicID(t.TopicId) {
					at = fmt.Sprint(i)
				}
			}
			switch {
			case p.ErrorCode != 0:
				at += ":" + perr.Code(p.ErrorCode).Name()
			default:
				at += fmt.Sprintf(":%d", p.HighWatermark)
				if len(p.Records) > 0 {
					at += "+"
				}
			}
			list = append(list, at)
		}
	}
	return strings.Join(list, " ")
}

// TestASessionNamesOnlyWhatChanged: KIP-227, compat-F08, F09.
func TestASessionNamesOnlyWhatChanged(t *testing.T) {
	h := newHouse(t, 1)
	a, b, c := h.fill("a", 1, 10), h.fill("b", 0, 0), h.fill("c", 0, 0)
	first := h.inSession(fetchRequest(1<<20, ask{topic: a, offset: 1}, ask{topic: b}), 0, 0, 13)
	if got := partitionsOf(first, a, b, c); got != "0:1 1:0" || first.SessionId == 0 {
		t.Fatalf("a full fetch names %q in session %d", got, first.SessionId)
	}
	id := first.SessionId
	step := func(what string, epoch int32, r *messages.FetchRequest, want string) {
		t.Helper()
		resp := h.inSession(r, id, epoch, 13)
		if got := partitionsOf(resp, a, b, c); got != want || resp.SessionId != id || resp.ErrorCode != 0 {
			t.Errorf("%s: %q in session %d (%s), want %q in %d", what, got, resp.SessionId, perr.Code(resp.ErrorCode), want, id)
		}
	}
	step("nothing changed", 1, fetchRequest(1<<20), "")
	h.produceOnce("b", 9, -1, oneRecord(plain, "v"))
	waitFor(t, "it below HW", func() bool { return h.latest("b") == 1 })
	step("a record", 2, fetchRequest(1<<20), "1:1+")
	step("its reader moved on, and a partition was added", 3, fetchRequest(1<<20, ask{topic: b, offset: 1}, ask{topic: c}), "2:0")
	step("an offset out of range", 4, fetchRequest(1<<20, ask{topic: a, offset: 7}), "0:OFFSET_OUT_OF_RANGE")
	step("errors are repeated", 5, fetchRequest(1<<20), "0:OFFSET_OUT_OF_RANGE")
	step("and the first good answer is sent", 6, fetchRequest(1<<20, ask{topic: a, offset: 1}), "0:1")
	gone := fetchRequest(1 << 20)
	gone.ForgottenTopicsData = []messages.FetchRequestForgottenTopic{{TopicId: b, Partitions: []int32{0, 5}}}
	h.produceOnce("b", 9, -1, oneRecord(plain, "v"))
	h.produceOnce("c", 9, -1, oneRecord(plain, "v"))
	waitFor(t, "them below HW", func() bool { return h.latest("b") == 2 && h.latest("c") == 1 })
	step("what was forgotten is not read", 7, gone, "2:1+")
	gone = fetchRequest(1 << 20)
	gone.ForgottenTopicsData = []messages.FetchRequestForgottenTopic{{TopicId: a, Partitions: []int32{0}}, {TopicId: c, Partitions: []int32{0}}}
	if resp := h.inSession(gone, id, 8, 13); resp.SessionId != 0 || resp.ErrorCode != 0 || len(resp.Responses) != 0 {
		t.Errorf("an empty session goes on: %+v", resp)
	}
	if n := h.fronts[0].sessions.counts(); n.Sessions != 0 || n.Partitions != 0 {
		t.Errorf("left behind: %+v", n)
	}
}

// TestASessionTellsMoreThanHW: a transaction that ends moves LSO alone.
func TestASessionTellsMoreThanHW(t *testing.T) {
	h := newHouse(t, 1)
	id := h.fill("t", 0, 0)
	r := h.leaderOf(core.PartitionID{Topic: id})
	h.inTxn(r, 7, 0, "v")
	waitFor(t, "the record below HW", func() bool { return h.latest("t") == 1 })
	s := h.inSession(fetchRequest(1<<20, ask{topic: id, offset: 1}), 0, 0, 13)
	if p := s.Responses[0].Partitions[0]; p.LastStableOffset != 0 {
		t.Fatalf("%+v", p)
	}
	h.endTxn(r, 7, true)
	waitFor(t, "the marker below HW", func() bool { return h.latest("t") == 2 })
	resp := h.inSession(fetchRequest(1<<20, ask{topic: id, offset: 2}), s.SessionId, 1, 13)
	if got := partitionsOf(resp, id); got != "0:2" || resp.Responses[0].Partitions[0].LastStableOffset != 2 {
		t.Errorf("%q %+v", got, resp)
	}
}

// TestSessionErrors: compat-F11. Only the right number continues a session, and only under the same kind of names.
func TestSessionErrors(t *testing.T) {
	h := newHouse(t, 1)
	id := h.fill("t", 1, 10)
	open := func(version int16) int32 {
		r := fetchRequest(1<<20, ask{topic: id})
		r.Topics[0].Topic = "t"
		return h.inSession(r, 0, 0, version).SessionId
	}
	byID, byName := open(13), open(12)
	for _, c := range []struct {
		id, epoch int32
		version   int16
		want      perr.Code
	}{
		{0, -1, 13, perr.None}, {0, 3, 13, perr.FetchSessionIdNotFound}, {byID ^ byName, 4, 13, perr.FetchSessionIdNotFound},
		{byID, 2, 13, perr.InvalidFetchSessionEpoch}, {byID, -2, 13, perr.InvalidFetchSessionEpoch},
		{byID, 1, 12, perr.FetchSessionTopicIdError}, {byName, 1, 13, perr.FetchSessionTopicIdError},
		{byName, 1, 12, perr.None}, {byName, 1, 12, perr.InvalidFetchSessionEpoch}, {byName, 2, 7, perr.None},
	} {
		r := fetchRequest(1<<20, ask{topic: id, offset: 1})
		r.Topics[0].Topic = "t"
		resp := h.inSession(r, c.id, c.epoch, c.version)
		if perr.Code(resp.ErrorCode) != c.want || c.want != perr.None && (resp.SessionId != 0 || len(resp.Responses) != 0) {
			t.Errorf("session %d epoch %d v%d: %s, want %s: %+v", c.id, c.epoch, c.version, perr.Code(resp.ErrorCode), c.want, resp)
		}
	}
	// A full fetch ends the session it names, with a new one or without.
	if again := h.inSession(fetchRequest(1<<20, ask{topic: id}), byID, 0, 13); again.SessionId == 0 || again.SessionId == byID {
		t.Errorf("reopened as %d", again.SessionId)
	}
	if end := h.inSession(fetchRequest(1<<20, ask{topic: id}), byName, -1, 13); end.SessionId != 0 || partitionsOf(end, id) != "0:1+" {
		t.Errorf("%+v", end)
	}
	if n := h.fronts[0].sessions.counts(); n.Sessions != 1 {
		t.Errorf("%+v", n)
	}
}

// TestAMirrorsFetchHasNoSession: it reads all it names, each time.
func TestAMirrorsFetchHasNoSession(t *testing.T) {
	h := newHouse(t, 1)
	id := h.fill("t", 1, 10)
	if resp := h.inSession(fetchRequest(1<<20, ask{topic: id}), 0, 0, 20); resp.SessionId != 0 || partitionsOf(resp, id) != "0:1+" {
		t.Errorf("%+v", resp)
	}
	if resp := h.inSession(fetchRequest(1<<20, ask{topic: id}), 5, 1, 20); perr.Code(resp.ErrorCode) != perr.FetchSessionIdNotFound {
		t.Errorf("%+v", resp)
	}
}

// TestASessionTakesTurns: with a limit that one partition fills, the others are read next.
func TestASessionTakesTurns(t *testing.T) {
	h := newHouse(t, 1)
	a, b, c := h.fill("a", 5, 1000), h.fill("b", 5, 1000), h.fill("c", 5, 1000)
	s := h.inSession(fetchRequest(1500, ask{topic: a}, ask{topic: b}, ask{topic: c}), 0, 0, 13)
	if got := partitionsOf(s, a, b, c); got != "0:5+ 1:5 2:5" {
		t.Fatalf("%q", got)
	}
	// The client never moves on, so that each partition has records each time.
	var turns []string
	for epoch := range int32(6) {
		r := fetchRequest(1500)
		turns = append(turns, partitionsOf(h.inSession(r, s.SessionId, epoch+1, 13), a, b, c))
	}
	if got := strings.Join(turns, "|"); got != "0:5+|1:5+|2:5+|0:5+|1:5+|2:5+" {
		t.Errorf("%s", got)
	}
}

// TestPipelinedFetchesOfASession find it as the one before them left it.
func TestPipelinedFetchesOfASession(t *testing.T) {
	h := newHouse(t, 1)
	id := h.fill("t", 1, 10)
	s := h.inSession(fetchRequest(1<<20, ask{topic: id, offset: 1}), 0, 0, 13)
	c := dial(t, h.addrs[0])
	for i := range int32(3) {
		r := fetchRequest(1 << 20)
		r.MaxWaitMs, r.SessionId, r.SessionEpoch = 50, s.SessionId, i+1
		sendRequest(t, c, i, r, 13)
	}
	for i := range int32(3) {
		correlation, body := readResponse(t, c)
		r := fetchRequest(1 << 20)
		r.Version = 13
		if resp := decodeStrictly(t, r, body).(*messages.FetchResponse); correlation != i || resp.ErrorCode != 0 || resp.SessionId != s.SessionId {
			t.Errorf("answer %d: %s", correlation, perr.Code(resp.ErrorCode))
		}
	}
}

// TestASessionContinuedElsewhere: of two connections the later one has it.
func TestASessionContinuedElsewhere(t *testing.T) {
	h := newHouse(t, 1)
	id := h.fill("t", 1, 10)
	s := h.inSession(fetchRequest(1<<20, ask{topic: id, offset: 1}), 0, 0, 13)
	c := dial(t, h.addrs[0])
	r := fetchRequest(1 << 20)
	r.MaxWaitMs, r.SessionId, r.SessionEpoch = 20_000, s.SessionId, 1
	sendRequest(t, c, 1, r, 13)
	session := h.fronts[0].sessions.find(s.SessionId)
	waitFor(t, "the poll to be under way", func() bool {
		session.mu.Lock()
		defer session.mu.Unlock()
		return session.epoch == 2
	})
	if resp := h.inSession(fetchRequest(1<<20), s.SessionId, 2, 13); resp.ErrorCode != 0 || resp.SessionId != s.SessionId {
		t.Fatalf("%+v", resp)
	}
	h.produceOnce("t", 9, -1, oneRecord(plain, "v")) // wakes the first
	_, body := readResponse(t, c)
	if resp := decodeStrictly(t, r, body).(*messages.FetchResponse); perr.Code(resp.ErrorCode) != perr.InvalidFetchSessionEpoch {
		t.Errorf("%+v", resp)
	}
}

// TestLeakedSessionsHurtNobody: compat-F07. A client that opens one with every fetch, as old ones do, takes no session
// from one that continues its own, and none from whoever comes next.
func TestLeakedSessionsHurtNobody(t *testing.T) {
	h := newHouse(t, 1)
	h.stop()
	h.settings["max.incremental.fetch.session.cache.slots"] = "10"
	h.start()
	id := h.fill("t", 1, 10)
	s := h.inSession(fetchRequest(1<<20, ask{topic: id, offset: 1}), 0, 0, 13)
	h.inSession(fetchRequest(1<<20), s.SessionId, 1, 13)
	for range 100 {
		if leak := h.inSession(fetchRequest(1<<20, ask{topic: id, offset: 1}), 0, 0, 13); leak.SessionId == 0 {
			t.Fatal("the next client gets no session")
		}
	}
	if resp := h.inSession(fetchRequest(1<<20), s.SessionId, 2, 13); resp.SessionId != s.SessionId {
		t.Errorf("%+v", resp)
	}
	if n := h.traffic.Sessions(1); n != (SessionCounts{10, 10, 91}) {
		t.Errorf("%+v", n)
	}
}

// TestWhoMakesRoom in the cache, and who is refused.
func TestWhoMakesRoom(t *testing.T) {
	now := time.Unix(0, 0)
	c := newFetchSessions(2)
	c.now = func() time.Time { return now }
	open := func(n int) *fetchSession {
		s := newFetchSession(true, "", nil)
		s.readings = make([]*reading, n)
		c.open(s)
		return s
	}
	small, large := open(1), open(3)
	c.use(small, 1)
	c.use(large, 3)
	if s := open(2); s.id != 0 {
		t.Error("young sessions that are in use made room")
	}
	now = now.Add(sessionIdle + time.Second)
	c.use(small, 1)
	c.use(large, 3)
	if s := open(1); s.id != 0 {
		t.Error("a session as small as the new one made room")
	}
	middle := open(2)
	if middle.id == 0 || c.find(small.id) != nil || c.find(large.id) == nil {
		t.Error("the smaller one that is no longer young makes room")
	}
	c.use(middle, 2)
	now = now.Add(time.Second)
	c.use(middle, 2)
	now = now.Add(sessionIdle)
	if s := open(1); s.id == 0 || c.find(large.id) != nil {
		t.Error("the idle one makes room, however large")
	}
	if c.use(large, 4) || c.use(middle, sessionPartitions+1) {
		t.Error("a session that is gone, or grew too large, goes on")
	}
	if s := open(sessionPartitions + 1); s.id != 0 {
		t.Error("too large, and kept")
	}
	if n := c.counts(); n.Sessions != 2 || n.Partitions != 3 {
		t.Errorf("%+v", n)
	}
	wide := newFetchSessions(math.MaxInt32)
	for range 20 {
		s := newFetchSession(true, "", nil)
		s.readings = make([]*reading, sessionPartitions)
		wide.use(s, len(s.readings))
		if wide.open(s) != 0 {
			wide.use(s, len(s.readings))
		}
	}
	if n := wide.counts(); n.Partitions > cachePartitions || n.Sessions != cachePartitions/sessionPartitions {
		t.Errorf("%+v", n)
	}
	if none := newFetchSessions(0); none.open(newFetchSession(true, "", []*reading{{}})) != 0 {
		t.Error("no slots, and a session")
	}
}

// TestClientsReadInSessions that come and go: partitions that are paused are forgotten, and those resumed come back.
func TestClientsReadInSessions(t *testing.T) {
	h := newHouse(t, 3)
	h.create("t", 6, 3, nil)
	c := h.client(kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(20*time.Millisecond), kgo.FetchMaxPartitionBytes(200))
	h.produce("t", values("one", 60), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	wantEqual(t, "from the start", poll(t, c, 60), sortedValues(values("one", 60)))
	c.PauseFetchPartitions(map[string][]int32{"t": {0, 1, 2}})
	h.produce("t", values("two", 60), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	half := poll(t, c, 30)
	c.ResumeFetchPartitions(map[string][]int32{"t": {0, 1, 2}})
	wantEqual(t, "after a pause", slices.Sorted(slices.Values(append(half, poll(t, c, 30)...))), sortedValues(values("two", 60)))
	open := int64(0)
	for i := range h.fronts {
		open += h.traffic.Sessions(core.ReplicaID(i + 1)).Sessions
	}
	if open == 0 {
		t.Error("the client has no session")
	}
	h.stopBroker(2)
	h.produce("t", values("three", 60), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	wantEqual(t, "after an election", poll(t, c, 60), sortedValues(values("three", 60)))
}

// TestAThrottledAnswerKeepsItsSession: compat-F10.
func TestAThrottledAnswerKeepsItsSession(t *testing.T) {
	h := newHouse(t, 1)
	id := h.fill("t", 3, 1000)
	if err := h.quotaOf(controller.ConsumerByteRate, 10, "user", ""); err != nil {
		t.Fatal(err)
	}
	r := fetchRequest(1<<20, ask{topic: id})
	r.SessionEpoch = 0
	resp := answerOn(t, dial(t, h.addrs[0]), r, 13).(*messages.FetchResponse)
	if resp.ThrottleTimeMs == 0 || resp.SessionId == 0 {
		t.Errorf("throttled for %d ms in session %d", resp.ThrottleTimeMs, resp.SessionId)
	}
}
