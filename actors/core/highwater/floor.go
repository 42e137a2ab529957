package highwater

import "lockstep/actors/core"

// trackSource takes what the source says of itself, if it is the epoch whose log we hold (R8, G10).
func (d *decision) trackSource(c TrackSourceHW) {
	s := &d.s
	if !s.leading || s.mode != Mirroring || (c.SourceEpoch != s.adopted && trackAdoptedEpochOnly) {
		return
	}
	if c.HW > s.tracked || c.Waits != s.waits {
		d.emit(SourceTracked{HW: c.HW, Waits: c.Waits})
	}
}

// settleFloor states the floor of this mirror: the smallest durable LEO of everybody who may lead here,
// all heard in the current term. It grows only while enough replicas are in sync; the report itself
// goes on, because its size is what lets the source refuse in time (R5, R9).
func (d *decision) settleFloor() {
	s := &d.s
	if s.mode != Mirroring || !s.image.MirrorOf.Reporting || !s.imaged || s.adopted == core.NoEpoch {
		return
	}
	of := s.image.MirrorOf
	size, need := int32(len(s.image.ISR)), max(1, of.PinnedISR)
	floor := s.floor
	if low := lowest(s.counting(d.now.Mono)); low != core.Unknown && (size >= need || !noFloorUnderMinISR) {
		floor = max(floor, low)
	}
	if floor == s.floor && size == s.statedISR && d.now.Mono < s.repeatAt() {
		return
	}
	d.emit(FloorStated{Floor: floor, ISRSize: size, Seq: s.seq + 1, At: d.now.Mono})
	report := PublishFloor{
		Mirror: of.Mirror, Epoch: of.Epoch, SourceEpoch: s.adopted, SourceIncarnation: s.adoptedOf, Incarnation: of.Incarnation,
		Floor: floor, ISRSize: size, MinISR: need, DestEpoch: s.epoch, Seq: s.seq, ISR: s.image.ISR, Unsynced: s.image.Unsynced,
	}
	for _, p := range s.replicas {
		if p.LEO != core.Unknown {
			report.Replicas = append(report.Replicas, ReplicaLEO{Replica: p.Replica, LEO: p.LEO})
		}
	}
	d.late(report)
}

// repeatAt is when the newest report is sent again, because any of them may have been lost.
func (s *State) repeatAt() int64 {
	if s.statedAt == never {
		return never
	}
	if s.waits {
		return s.statedAt + floorRepeat
	}
	if every := s.image.MirrorOf.RepeatNs; every > 0 && repeatWithinLease {
		return s.statedAt + every
	}
	return s.statedAt + floorIdleRepeat
}
