package partition

import (
	"fmt"

	"lockstep/actors/core"
)

// Machine is the partition replica as every driver runs it.
func Machine() core.Machine[State, Command, Event, Effect] {
	return core.Machine[State, Command, Event, Effect]{
		Name: "partition", Init: New, Decide: Decide, Apply: Apply,
		Encode: encode, Decode: decode, Snapshot: snapshot, Restore: restore,
	}
}

// decision collects what one command leads to. s is a copy that every emitted event is applied to, except
// for its maps; was is the state as it is. The copy is held by value, so that a decision stays on the stack.
type decision struct {
	s   State
	was *State
	now core.Now
	out core.Outcome[Event, Effect]
}

func (d *decision) emit(ev Event) {
	Apply(&d.s, ev)
	d.out.Events = with(d.out.Events, ev)
}
func (d *decision) early(f Effect) { d.out.Early = with(d.out.Early, f) }
func (d *decision) late(f Effect)  { d.out.Late = with(d.out.Late, f) }

// with appends, and makes room for the usual few at once.
func with[T any](list []T, one T) []T {
	if list == nil {
		list = make([]T, 0, 4)
	}
	return append(list, one)
}

// Decide says what one command leads to. s is not changed; the bytes of a batch to be appended are
// stamped, which is what the command hands over.
func Decide(s *State, now core.Now, cmd Command) core.Outcome[Event, Effect] {
	d := &decision{s: *s, was: s, now: now}
	d.s.asDraft()
	switch c := cmd.(type) {
	case Lead:
		d.lead(c)
	case Follow:
		d.follow(c)
	case AppendBatch:
		d.appendClient(c)
	case WriteMarker:
		d.writeMarker(c)
	case DeleteRecords:
		d.deleteRecords(c)
	case ExpireRecords:
		d.expireRecords(c)
	case ForgetProducers:
		d.forgetProducers(c)
	case PrepareCleaning:
		d.prepareCleaning(c)
	case CleanBatches:
		d.cleanBatches(c)
	case DescribeProducers:
		d.late(ProducersDescribed{Ref: c.Ref, Producers: s.describeProducers()})
	case AppendMirrored:
		d.appendMirrored(c)
	case AdoptSource:
		d.adopt(c)
	case Quarantined:
		d.quarantined(c)
	case QuarantineFailed:
		d.unsaved(c)
	case FenceMirror:
		d.fence(c)
	case WritePidReset:
		d.writePidReset(c)
	case JoinLeader:
		d.join(c)
	case AlignTo:
		d.alignTo(c)
	case Aligned:
		d.aligned(c)
	case Replicate:
		d.replicate(c)
	case ReplicaReported:
		d.replicaReported(c)
	case Advanced:
		d.advanced(c)
	case Shown:
		d.shown(c)
	case Refused:
		d.refused(c)
	case AdmissionChanged:
		if s.leading() && c.Epoch == s.epoch {
			d.emit(AdmissionLearned{Admission: c})
		}
	case ParkFetch:
		d.park(c)
	case UnparkFetch:
		if _, ok := s.parked[c.Ref]; ok {
			d.emit(FetchesWoken{Refs: []core.RequestID{c.Ref}})
		}
	case Tick:
		d.tick()
	default:
		panic(fmt.Sprintf("partition: unknown command %T", cmd))
	}
	return d.out
}
