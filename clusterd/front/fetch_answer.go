package front

import (
	"slices"
	"sort"

	"lockstep/actors/broker"
	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/image"
	"lockstep/actors/core/partition"
	"lockstep/journal"
	"lockstep/protocol/batch"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// answer is one attempt at a response to a fetch.
type answer struct {
	*fetch
	img     *image.Image
	resp    *messages.FetchResponse
	budget  int // bytes left
	bytes   int // record bytes taken
	kept    int // bytes that limits left empty though there was more to read
	urgent  bool
	coming  bool // records this reader asked for are acknowledged, and shown in a moment
	watches []watch
	results []result // of each reading
}

// compose lists every partition that is read, with data as long as the budget lasts (compat-F02); in a session that is
// continued only what changed. Neighbours of one topic stand under one mention of it.
func (a *answer) compose() {
	r := a.req
	a.resp = r.ResponseKind().(*messages.FetchResponse)
	a.results = make([]result, 0, len(a.readings))
	last := -1
	for i, reading := range a.readings {
		at := messages.NewFetchResponsePartition()
		at.PartitionIndex = reading.asked.Partition
		at.HighWatermark, at.LastStableOffset, at.LogStartOffset, at.PreferredReadReplica = -1, -1, -1, -1
		at.Records = []byte{} // never null (compat-F16)
		if topic, unknown := a.front.topicFor(a.from, access.Read, a.img, reading.topic, reading.id, r.Version >= 13); unknown != perr.None {
			a.refuse(&at, unknown)
		} else {
			a.partition(place(i), topic, &reading.asked, &at)
		}
		a.results = append(a.results, resultOf(&at))
		if a.session != nil && !reading.changed(&at) {
			continue
		}
		if last < 0 || a.readings[last].topic != reading.topic || a.readings[last].id != reading.id {
			out := messages.NewFetchResponseTopic()
			out.Topic, out.TopicId = reading.topic, reading.id
			a.resp.Responses = append(a.resp.Responses, out)
		}
		last = i
		out := &a.resp.Responses[len(a.resp.Responses)-1]
		out.Partitions = append(out.Partitions, at)
	}
}

// enough reports whether there is as much as the fetch waits for. Batches go out whole, so that what limits leave empty
// counts as well: waiting would not fill it. A minimum beyond the limit of the answer is that limit.
func (a *answer) enough(limit int) bool {
	return a.bytes+a.kept >= min(int(a.req.MinBytes), max(limit, 1))
}

// settle is called for the attempt that is answered: the session, or a new one, remembers it.
func (a *answer) settle() {
	switch {
	case a.session != nil:
		a.session.answered(a.results)
		a.resp.SessionId = a.session.id
	case a.opens():
		for i, r := range a.readings {
			r.told = a.results[i].told
		}
		a.resp.SessionId = a.front.sessions.open(newFetchSession(a.req.Version >= 13, a.from.Principal, a.readings))
	}
}

type (
	askedPartition    = messages.FetchRequestPartition
	answeredPartition = messages.FetchResponsePartition
)

// refuse answers a partition with an error, beside which nothing is stated (compat-F15).
func (a *answer) refuse(at *answeredPartition, code perr.Code) {
	at.ErrorCode = int16(perr.ForVersion(messages.KeyFetch, a.req.Version, code))
	at.HighWatermark, at.LastStableOffset, at.LogStartOffset = -1, -1, -1
	a.urgent = true
}

// partition answers for one partition this broker knows.
func (a *answer) partition(at place, topic *image.Topic, asked *askedPartition, out *answeredPartition) {
	replica, view, code := a.front.leaderHere(topic, asked.Partition)
	// Evidence is stated beside whatever else is answered, by a leader (R11).
	defer func() { a.mirror.state(out, asked, core.PartitionID{Topic: topic.ID, Index: asked.Partition}, replica) }()
	if code == perr.None {
		code = fenceEpoch(view, asked.CurrentLeaderEpoch)
	}
	if code == perr.None {
		code = a.failure(at)
	}
	if code != perr.None {
		a.hintLeader(out, topic, asked.Partition, view)
		a.refuse(out, code)
		return
	}
	id := replica.ID()
	until, code := a.mirror.bound(id, a.req.IsolationLevel)
	if code != perr.None {
		a.refuse(out, code)
		return
	}
	from := core.Offset(asked.FetchOffset)
	// Below the log start is out of range always, before divergence is looked at (compat-F13). Between
	// HW and LEO the offset is valid and the answer waits (compat-F12, F14).
	if from < view.LogStart || from > view.LEO {
		a.refuse(out, perr.OffsetOutOfRange)
		return
	}
	out.HighWatermark, out.LastStableOffset, out.LogStartOffset = int64(view.HW), int64(view.LSO), int64(view.LogStart)
	if a.req.IsolationLevel == 1 {
		out.AbortedTransactions = []messages.FetchResponseAbortedTransaction{}
	}
	if a.diverges(view, asked, out) {
		return
	}
	a.read(at, replica, view, until, asked, out)
}

// hintLeader tells v12 clients who leads, and v16 clients where.
func (a *answer) hintLeader(out *answeredPartition, topic *image.Topic, index int32, view partition.View) {
	b, epoch, ok := leaderHint(a.img, topic, index, view)
	if !ok || a.req.Version < 12 {
		return
	}
	out.CurrentLeader.LeaderId, out.CurrentLeader.LeaderEpoch = int32(b.ID), int32(epoch)
	for _, known := range a.resp.NodeEndpoints {
		if known.NodeId == int32(b.ID) {
			return
		}
	}
	n := messages.NewFetchResponseNodeEndpoint()
	n.NodeId = int32(b.ID)
	n.Host, n.Port = a.from.at.told(b)
	a.resp.NodeEndpoints = append(a.resp.NodeEndpoints, n)
}

// diverges tells a reader whose last fetched epoch ended elsewhere where to truncate to.
func (a *answer) diverges(view partition.View, asked *askedPartition, out *answeredPartition) bool {
	if a.req.Version < 12 || asked.LastFetchedEpoch < 0 {
		return false
	}
	epoch, end := partition.EndOffsetForEpoch(view, core.LeaderEpoch(asked.LastFetchedEpoch))
	switch {
	case end == core.Unknown:
		a.refuse(out, perr.OffsetOutOfRange) // an epoch from a future this leader does not know
		return true
	case int32(epoch) < asked.LastFetchedEpoch || int64(end) < asked.FetchOffset:
		out.DivergingEpoch.Epoch, out.DivergingEpoch.EndOffset = int32(epoch), int64(end)
		a.urgent = true
		return true
	default:
		return false
	}
}

// read takes whole batches. The first batch of the answer is taken whatever its size, else a reader
// whose limits are below it would ask for the same offset for ever; it is the only one (compat-F01, F03).
func (a *answer) read(at place, replica *broker.Replica, view partition.View, until partition.Position,
	asked *askedPartition, out *answeredPartition) {
	if asked.NoRecords {
		return // a throttled mirror waits for its time, not for records
	}
	below := position(view, until)
	from := core.Offset(asked.FetchOffset)
	a.watches = append(a.watches, watch{place: at, replica: replica, until: until, beyond: max(below, from)})
	a.coming = a.coming || waitForShown && from >= below && coming(view, until) > from
	if from >= below || a.budget <= 0 && a.bytes > 0 {
		return
	}
	room := min(int(asked.PartitionMaxBytes), a.budget)
	if room <= 0 && a.bytes > 0 {
		return // nothing fits; a read would fetch a batch from the disk to throw it away
	}
	batches, deleted, err := a.batches(replica, from, below, max(room, 0))
	if err != nil {
		a.front.log.Error("reading a partition failed", "partition", replica.ID().String(), "offset", int64(from), "reason", err.Error())
		a.refuse(out, perr.KafkaStorageError)
		return
	}
	if deleted {
		// What was asked for was deleted since the view was taken: records further on are no answer to it.
		a.refuse(out, perr.OffsetOutOfRange)
		return
	}
	end := from
	for i, b := range batches {
		if b.Last >= below || len(b.Bytes) > room && (i > 0 || a.bytes > 0) {
			break
		}
		if a.req.Version < 10 && headerOf(b).Codec() == batch.Zstd {
			a.refuse(out, perr.UnsupportedCompressionType) // compat-F19
			out.Records = []byte{}
			return
		}
		end = b.Last + 1
		out.Records = append(out.Records, b.Bytes...)
		room -= len(b.Bytes)
		a.budget -= len(b.Bytes)
		a.bytes += len(b.Bytes)
	}
	if end < below {
		a.kept += max(room, 0)
	}
	if until == partition.PositionLSO {
		for _, t := range view.Txns.AbortedIn(from, end) {
			if t.Marker < end && !endsIn(batches, t.Marker) {
				continue // its marker was compacted away since the view was taken: what the producer wrote after it would be skipped
			}
			out.AbortedTransactions = append(out.AbortedTransactions, messages.FetchResponseAbortedTransaction{ProducerId: t.ProducerID, FirstOffset: int64(t.First)})
		}
	}
}

// emptyReads is how often one fetch looks behind what compaction has emptied.
const emptyReads = 64

// batches reads from an offset on; deleted says that the log begins above it by now. Mirrors are given all there is.
// Consumers are not given what compaction has emptied, which Kafka's logs do not have either: some make no step from an
// answer without records. Where nothing follows it is given all the same, for there is no other way to the end.
func (a *answer) batches(replica *broker.Replica, from, below core.Offset, room int) (list []journal.StoredBatch, deleted bool, err error) {
	for n := 0; ; n++ {
		list, err = replica.Read(from, below, room)
		if err != nil || len(list) == 0 {
			return list, false, err
		}
		if list[0].Base > from && n == 0 {
			return nil, true, nil
		}
		list[0] = fromOn(list[0], from)
		if a.mirror != nil {
			return list, false, nil
		}
		last := list[len(list)-1]
		if kept := slices.DeleteFunc(list, isNothing); len(kept) > 0 {
			return kept, false, nil
		}
		if last.Last+1 >= below || n == emptyReads {
			return []journal.StoredBatch{last}, false, nil
		}
		from = last.Last + 1
	}
}

// fromOn is a stored batch for who asks for an offset inside of it: of what is empty only the rest. A reader that appends what it
// is given was in the middle of it when it was put together, and a batch that begins below its end is none it can append.
func fromOn(s journal.StoredBatch, from core.Offset) journal.StoredBatch {
	if rest, ok := headerOf(s).From(int64(from)); ok && s.Base < from {
		s.Base, s.Bytes = from, rest.Bytes
	}
	return s
}

func isNothing(s journal.StoredBatch) bool { return headerOf(s).IsNothing() }

// headerOf reads the header of a stored batch; that of one without is zero, which is an ordinary batch to whoever asks.
func headerOf(s journal.StoredBatch) batch.Batch {
	b, _, _ := batch.Parse(s.Bytes)
	return b
}

// endsIn reports whether the batch at an offset is a control batch.
func endsIn(batches []journal.StoredBatch, marker core.Offset) bool {
	i := sort.Search(len(batches), func(i int) bool { return batches[i].Last >= marker })
	return i < len(batches) && batches[i].Base == marker && headerOf(batches[i]).IsControl()
}

// coming is what position will be once everything that was acknowledged is shown.
func coming(v partition.View, until partition.Position) core.Offset {
	switch until {
	case partition.PositionHW:
		return v.Coming
	case partition.PositionLSO:
		return v.Txns.LSO(v.Coming)
	case partition.PositionLEO:
		return core.Unknown
	default:
		panic("front: unknown position")
	}
}

// position is what a reader of a kind may read below.
func position(v partition.View, until partition.Position) core.Offset {
	switch until {
	case partition.PositionHW:
		return v.HW
	case partition.PositionLSO:
		return min(v.LSO, v.HW)
	case partition.PositionLEO:
		return v.LEO
	default:
		panic("front: unknown position")
	}
}

// topicID is for answers that name their topics, as those below v13 do.
func (a *answer) topicID(name string) core.TopicID {
	if t, known := a.img.TopicNamed(name); known {
		return t.ID
	}
	return core.TopicID{}
}
