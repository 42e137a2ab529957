package sim

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
	"lockstep/actors/core/orders"
	"lockstep/actors/core/partition"
)

// broker is one logical broker of a process: one volume, one image, and its replicas. It repeats the wiring
// of actors/broker.Broker.
type broker struct {
	id       core.ReplicaID
	home     *process
	disk     *disk
	feed     *feed
	io       *mailbox // disk work that somebody waits for: catch-up reads, quarantine, reopening
	running  bool
	stops    int // stops and reopenings under way: replicas of theirs are still closing
	lost     error
	replicas map[core.PartitionID]*replica
	retiring map[core.PartitionID][]func()
	barred   map[core.PartitionID]core.LeaderEpoch
	dropping map[core.PartitionID]int
}

func newBroker(p *process, id core.ReplicaID, d *disk) *broker {
	b := &broker{id: id, home: p, disk: d, running: true, replicas: map[core.PartitionID]*replica{}, dropping: map[core.PartitionID]int{}, retiring: map[core.PartitionID][]func(){}, barred: map[core.PartitionID]core.LeaderEpoch{}}
	b.feed = &feed{broker: b, image: image.Empty(), box: p.newMailbox("image/" + b.name())}
	b.io = p.newMailbox("io/" + b.name())
	p.boxes = append(p.boxes, b.feed.box, b.io)
	return b
}

func (b *broker) name() string { return "broker-" + strconv.Itoa(int(b.id)) }

func (b *broker) assigned(p image.Partition) bool { return slices.Contains(p.Replicas, b.id) }

func (b *broker) ensure(id core.PartitionID) *replica {
	if r := b.replicas[id]; r != nil || !b.running || b.lost != nil || b.dropping[id] > 0 {
		return r
	}
	r := newReplica(b, id)
	b.replicas[id] = r
	r.start()
	return r
}

// spawnAll spawns the assigned replicas that are not there yet and returns how far each log goes.
func (b *broker) spawnAll(topics []image.Topic) []controller.ReplicaLog {
	if b.lost != nil {
		return nil
	}
	b.running = true
	for _, t := range topics {
		for i, p := range t.Partitions {
			if b.assigned(p) {
				b.ensure(core.PartitionID{Topic: t.ID, Index: int32(i)})
			}
		}
	}
	return b.logs()
}

// logs says how far each replica of a healthy volume goes: durable ends only.
func (b *broker) logs() []controller.ReplicaLog {
	if b.lost != nil {
		return nil
	}
	var list []controller.ReplicaLog
	for _, id := range sortedPartitions(b.replicas) {
		v := b.replicas[id].view
		last := core.NoEpoch
		if n := len(v.Epochs); n > 0 {
			last = v.Epochs[n-1].Epoch
		}
		list = append(list, controller.ReplicaLog{ID: id, Replica: b.id, LastEpoch: last, LEO: v.LEO})
	}
	return list
}

// strays are the replicas that the volume has streams of and that nobody spawned.
func (b *broker) strays() []controller.ReplicaLog {
	var list []controller.ReplicaLog
	for _, name := range b.disk.names("partition/") {
		if id, ok := partitionIn(name); ok && b.replicas[id] == nil {
			list = append(list, controller.ReplicaLog{ID: id, Replica: b.id, LastEpoch: core.NoEpoch})
		}
	}
	return list
}

func partitionIn(name string) (id core.PartitionID, ok bool) {
	parts := strings.Split(name, "/")
	if len(parts) != 4 {
		return id, false
	}
	topic, err := base64.RawURLEncoding.DecodeString(parts[1])
	index, err2 := strconv.ParseInt(parts[2], 10, 32)
	if err != nil || err2 != nil || len(topic) != len(id.Topic) {
		return id, false
	}
	copy(id.Topic[:], topic)
	id.Index = int32(index)
	return id, true
}

func partitionStream(id core.PartitionID, broker core.ReplicaID) string {
	return fmt.Sprintf("partition/%s/broker-%d", id, broker)
}

func ledgerStream(id core.PartitionID) string { return "ledger/" + id.String() }

// drop closes a replica whose partition is gone and forgets its streams.
func (b *broker) drop(id core.PartitionID) {
	r, lost := b.replicas[id], b.lost != nil
	delete(b.replicas, id)
	if lost && r == nil {
		return
	}
	b.dropping[id]++
	delete(b.barred, id)
	forget := func() {
		if lost { // what lies there is listed when the broker comes back
			b.back(id)
			return
		}
		b.disk.drop(ledgerStream(id), func() {})
		b.disk.drop(partitionStream(id, b.id), func() { b.back(id) })
	}
	if waiting, closing := b.retiring[id]; closing {
		b.retiring[id] = append(waiting, forget)
		return
	}
	if r == nil {
		forget()
		return
	}
	b.finish(id, r, forget)
}

func (b *broker) finish(id core.PartitionID, r *replica, then func()) {
	b.retiring[id] = nil
	b.stops++
	r.close(func() {
		waiting := b.retiring[id]
		delete(b.retiring, id)
		b.stops--
		for _, forget := range waiting {
			forget()
		}
		then()
	})
}

// volumeLost is told by the first actor whose journal failed (D4).
func (b *broker) volumeLost(err error) {
	if b.lost != nil {
		return
	}
	b.lost = err
	b.home.site.world.say("%s %s: volume lost", b.home.site.id, b.name())
	for _, id := range sortedPartitions(b.replicas) {
		r := b.replicas[id]
		r.partition.poison(err)
		r.highwater.poison(err)
	}
	b.home.fence(b.id, "volume lost", func(any) {})
}

// fence tells the controller that a broker serves no more, with the durable ends of the others.
func (p *process) fence(id core.ReplicaID, text string, reply func(any)) {
	var logs []controller.ReplicaLog
	for _, b := range p.brokers {
		if b.id != id {
			logs = append(logs, b.logs()...)
		}
	}
	fenced := p.broker(id)
	fenced.stops++
	p.controller.ask(func(ref core.RequestID) controller.Command {
		return controller.StopBroker{Ref: ref, Broker: id, Text: text, Logs: logs}
	}, func(answer any) {
		fenced.feed.box.post(func() { fenced.stops-- })
		reply(answer)
	})
}

// stop is clusterctl brokers stop: the replicas close first, so that the ends which the election compares
// are those of survivors that hear nothing more from the broker.
func (b *broker) stop(done func()) {
	b.running = false
	b.stops++
	list := b.replicas
	b.replicas = map[core.PartitionID]*replica{}
	left := len(list) + 1
	closed := func() {
		if left--; left == 0 {
			b.stops--
			b.home.fence(b.id, "stopped by an operator", func(any) { done() })
		}
	}
	for _, id := range sortedPartitions(list) {
		b.finish(id, list[id], closed)
	}
	closed()
}

// restart is clusterctl brokers start: a lost volume is opened again first, once nothing stands on it.
func (b *broker) restart() {
	b.io.post(func() {
		if b.stops > 0 || b.feed.held { // two actors must not stand on one stream, and nobody leads by an old image
			b.home.wake(b.home.mono()+10*ms, b.restart)
			return
		}
		if b.lost == nil {
			b.comeBack()
			return
		}
		list := b.replicas
		b.stops++
		b.running, b.replicas = false, map[core.PartitionID]*replica{}
		left := len(list) + 1
		closed := func() {
			if left--; left == 0 {
				b.stops--
				b.disk.reopen()
				b.lost = nil
				b.io.post(b.comeBack)
			}
		}
		for _, id := range sortedPartitions(list) {
			list[id].close(closed)
		}
		closed()
	})
}

func (b *broker) comeBack() {
	p := b.home
	var topics []image.Topic
	for _, id := range sortedTopics(p.newest.Topics) {
		topics = append(topics, *p.newest.Topics[id])
	}
	logs := append(b.spawnAll(topics), b.strays()...)
	told := image.Broker{ID: b.id, Live: true, Host: string(p.site.id), Port: int32(9091 + b.id)}
	p.controller.ask(func(ref core.RequestID) controller.Command {
		return controller.StartBroker{Ref: ref, Broker: told, Logs: logs}
	}, func(any) {})
}

func sortedTopics[V any](m map[core.TopicID]V) []core.TopicID {
	return slices.SortedFunc(maps.Keys(m), func(a, b core.TopicID) int { return slices.Compare(a[:], b[:]) })
}

// feed carries the stream of facts into the image of one broker and turns what changed into roles.
type feed struct {
	broker *broker
	box    *mailbox
	image  *image.Image
	held   bool
	kept   []image.Fact
	freed  int64 // when it was held last
}

func (f *feed) post(facts []image.Fact) { f.box.post(func() { f.receive(facts) }) }

func (f *feed) hold(hold bool) {
	f.box.post(func() {
		f.held = hold
		f.freed = f.broker.home.site.world.now
		if !hold {
			facts := f.kept
			f.kept = nil
			f.receive(facts)
		}
	})
}

func (f *feed) receive(facts []image.Fact) {
	if f.held {
		f.kept = append(f.kept, facts...)
		return
	}
	before := f.image
	f.image = image.ApplyAll(before, facts)
	for _, id := range orders.Touched(facts, before, f.image) {
		if f.assigns(f.image, id) {
			f.bring(id)
		} else if f.broker.replicas[id] != nil || f.assigns(before, id) {
			f.broker.drop(id)
		}
	}
}

func (f *feed) assigns(img *image.Image, id core.PartitionID) bool {
	p, known := img.Partition(id)
	return known && f.broker.assigned(p)
}

func (f *feed) bring(id core.PartitionID) {
	if r := f.broker.ensure(id); r != nil {
		r.tellRole()
	}
}

// position is what a reader of a kind may read below.
func position(v partition.View, until partition.Position) core.Offset {
	if until == partition.PositionLEO {
		return v.LEO
	}
	return v.HW
}
