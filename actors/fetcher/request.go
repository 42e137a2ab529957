package fetcher

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"lockstep/actors/bus/facts"
	"lockstep/actors/core"
	"lockstep/actors/core/highwater"
	"lockstep/protocol/messages"
)

const (
	// syncFetchVersion is the first Fetch that carries MirrorReplicaInfo.
	syncFetchVersion = 20
	// asyncWait bounds how old an idle partition's newest answer gets: lag zero is measured against one
	// younger than a second (C7).
	asyncWait = 500 * time.Millisecond
	// idFetchVersion is the first Fetch that names topics by id; older ones are not spoken: a name is only
	// a label (F34).
	idFetchVersion = 13
)

// buildFetch makes the next fetch of everything that may be read now; nil flight when there is nothing.
func (f *fetcher) buildFetch(now time.Time) (*messages.FetchRequest, *flight) {
	ready := f.ready(now)
	if len(ready) == 0 {
		return nil, nil
	}
	m := f.mirror
	fl := &flight{asked: map[core.PartitionID]asked{}, sent: m.home().Now().Mono}
	req := messages.NewPtrFetchRequest()
	req.ReplicaId, req.IsolationLevel = -1, 0
	req.MinBytes, req.MaxBytes = m.config.FetchMinBytes, m.config.FetchMaxBytes
	wait := m.config.FetchWait
	if slices.ContainsFunc(ready, func(c *cursor) bool { return !c.Sync }) {
		wait = min(wait, asyncWait)
	}
	if len(ready) < f.alive() {
		wait = min(wait, shortWait)
	}
	inBand := !m.links().Connected(m.name)
	for _, c := range ready {
		sync := c.readsSync(now)
		if c.refuse.active() {
			if sync {
				m.count.probes.Add(1)
			}
			wait = min(wait, max(c.refuse.probe.Sub(now), 0))
		}
		if sync && inBand && c.owes(m.home()) {
			// Without the bus only the next fetch can carry the floor: do not park this one for long.
			wait = min(wait, owedWait)
		}
		room, closed := f.room(c, now)
		if room == 0 {
			m.count.throttled.Add(1)
			if !c.stated || !throttleRecordsAlone {
				// A source that speaks only the KIP would answer with a batch whatever the limit: it is not asked.
				c.until = now.Add(min(closed, watchEvery))
				continue
			}
			wait = min(wait, closed, asyncWait)
		}
		q := asked{session: c.Session, epoch: c.adopted, attempt: c.attempt, offset: c.next, sync: sync, sent: fl.sent}
		fl.asked[c.ID] = q
		c.flying++
		c.flight = fl
		addPartition(req, c, int32(min(int64(m.config.PartitionBytes), room)), room == 0)
		if sync {
			addReplicas(req, m, c)
		}
	}
	if len(fl.asked) == 0 {
		return nil, nil
	}
	if throttled := f.tightest(ready, now); throttled < int64(req.MaxBytes) {
		req.MaxBytes = int32(max(throttled, 1))
	}
	req.MaxWaitMs = int32(wait.Milliseconds())
	fl.parks = wait > shortWait
	m.count.fetches.Add(1)
	return req, fl
}

// ready lists the cursors that may be read, in an order that moves on with every fetch.
func (f *fetcher) ready(now time.Time) []*cursor {
	var list []*cursor
	for _, c := range f.cursors {
		if c.phase == fetching && c.flying < window && !now.Before(c.until) {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *cursor) int {
		return cmp.Or(bytes.Compare(a.ID.Topic[:], b.ID.Topic[:]), cmp.Compare(a.ID.Index, b.ID.Index))
	})
	if len(list) == 0 {
		return nil
	}
	f.turn = (f.turn + 1) % len(list)
	return slices.Concat(list[f.turn:], list[:f.turn])
}

// alive counts the cursors that will be read again without an operator.
func (f *fetcher) alive() (n int) {
	for _, c := range f.cursors {
		if c.phase != diverged {
			n++
		}
	}
	return n
}

// owes reports whether the source waits, or may soon wait, for a floor it has not been told in band.
func (c *cursor) owes(home Destination) bool {
	if c.waiters {
		return true
	}
	floor, ok := home.Floor(c.ID)
	return ok && floor.SourceEpoch == c.adopted && floor.Floor < c.next
}

// tightest is how many bytes one answer may bring: no more than the mirror, and each broker at home, has room for.
func (f *fetcher) tightest(list []*cursor, now time.Time) int64 {
	least := int64(1) << 62
	for _, c := range list {
		if room, _ := f.room(c, now); room > 0 {
			least = min(least, room)
		}
	}
	return least
}

// addPartition asks for one partition; noRecords asks for everything else that an answer has (F51).
func addPartition(req *messages.FetchRequest, c *cursor, max int32, noRecords bool) {
	n := len(req.Topics)
	if n == 0 || req.Topics[n-1].TopicId != c.ID.Topic {
		req.Topics = append(req.Topics, messages.FetchRequestTopic{TopicId: c.ID.Topic})
		n++
	}
	p := messages.NewFetchRequestPartition()
	p.Partition, p.CurrentLeaderEpoch = c.ID.Index, int32(c.adopted)
	p.FetchOffset, p.LastFetchedEpoch, p.PartitionMaxBytes = int64(c.next), int32(c.last), max
	p.NoRecords = noRecords
	t := &req.Topics[n-1]
	t.Partitions = append(t.Partitions, p)
}

// addReplicas reports where our replicas stand, in the KIP's form and as a floor.
func addReplicas(req *messages.FetchRequest, m *mirrorRun, c *cursor) {
	info := &req.MirrorReplicaInfo
	info.MirrorName = string(m.name)
	n := len(info.Topics)
	if n == 0 || info.Topics[n-1].TopicId != c.ID.Topic {
		info.Topics = append(info.Topics, messages.FetchRequestMirroredTopics{Topic: c.Topic, TopicId: c.ID.Topic})
		n++
	}
	floor := c.currentFloor(m)
	info.Topics[n-1].Partitions = append(info.Topics[n-1].Partitions, listed(c.ID.Index, floor))
	if floor.Epoch != 0 {
		facts.AddFloor(ensureFloors(m, info), c.ID, floor)
	}
	ensureFloors(m, info)
}

// listed is a floor as the KIP says it: a position for each member of the ISR, none above the floor. A source
// that takes the smallest of them gets the floor or less, which stays true (R5); of a member that nothing is
// known of it gets 0, because the draft's own formula would count a missing one, or an empty ISR, as in sync
// (F01).
func listed(index int32, f highwater.PublishFloor) messages.FetchRequestMirroredTopicPartition {
	p := messages.FetchRequestMirroredTopicPartition{Partition: index, MinISR: f.MinISR}
	for _, member := range f.ISR {
		at := core.Offset(0)
		for _, r := range f.Replicas {
			if r.Replica == member && (f.Floor != core.Unknown || !listsNothingAboveFloor) {
				at = r.LEO
			}
		}
		if listsNothingAboveFloor {
			at = min(at, max(f.Floor, 0))
		}
		p.ISR = append(p.ISR, int32(member))
		p.ReplicaLastOffsets = append(p.ReplicaLastOffsets, messages.FetchRequestReplicaLastOffsets{ReplicaId: int32(member), LastFetchOffset: int64(at)})
	}
	return p
}

// statedFloor is the floor that was published under the adopted source epoch and the present registration.
func (c *cursor) statedFloor(home Destination, name core.MirrorName) (f highwater.PublishFloor, ok bool) {
	f, ok = home.Floor(c.ID)
	return f, ok && f.Mirror == name && f.Epoch == c.Epoch && f.Incarnation == c.Incarnation && (f.SourceEpoch == c.adopted && f.SourceIncarnation == c.source || !reportsOfAdoptedEpoch)
}

// currentFloor is the stated floor. While there is none it states none, but names the registration that the
// fetch reads under: without it the source would refuse to read to its LEO.
func (c *cursor) currentFloor(m *mirrorRun) highwater.PublishFloor {
	if f, ok := c.statedFloor(m.home(), m.name); ok {
		return f
	}
	local, _ := m.home().Partition(c.ID)
	return highwater.PublishFloor{Mirror: m.name, Epoch: c.Epoch, SourceEpoch: c.adopted, SourceIncarnation: c.source, Incarnation: c.Incarnation, Floor: core.Unknown,
		ISR: local.ISR, ISRSize: int32(len(local.ISR)), MinISR: local.MinISR, DestEpoch: core.NoEpoch}
}

// ensureFloors names our cluster even in a report without floors: two destinations may use the same mirror
// name (F33).
func ensureFloors(m *mirrorRun, info *messages.FetchRequestMirrorReplicaInfo) *messages.ReplicaFloors {
	if info.Floors == nil {
		info.Floors = &messages.ReplicaFloors{DestinationCluster: string(m.home().ID()), MirrorName: string(m.name),
			Sender: m.all.sender, SentMono: m.home().Now().Mono}
	}
	return info.Floors
}

// fetch sends one fetch at the newest version both sides speak.
func (l *line) fetch(ctx context.Context, m *mirrorRun, addr string, req *messages.FetchRequest) (*messages.FetchResponse, error) {
	conn, err := l.open(ctx, m, addr)
	if err != nil {
		return nil, err
	}
	req.SetVersion(min(syncFetchVersion, conn.newest(req.Key())))
	if req.GetVersion() < idFetchVersion {
		return nil, tooOld("Fetch", req.GetVersion(), idFetchVersion)
	}
	return do[*messages.FetchResponse](ctx, conn, req)
}
