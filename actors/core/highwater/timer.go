package highwater

// settleTimer asks for the next Tick. An earlier one that is armed already is kept: it will look again.
func (d *decision) settleTimer() {
	at := d.s.nextInstant(d.now.Mono)
	if at == 0 || (d.s.timer != 0 && d.s.timer <= at) {
		return
	}
	d.emit(TimerArmed{At: at})
	d.early(ArmTimer{At: at})
}

// nextInstant is when time alone changes a conclusion; 0 if it never does.
func (s *State) nextInstant(now int64) int64 {
	next := int64(0)
	consider := func(at int64) {
		if at > now && (next == 0 || at < next) {
			next = at
		}
	}
	consider(s.soonest)
	for _, p := range s.replicas {
		if p.Replica == s.self {
			continue
		}
		if at, late := s.lateAt(p); late {
			consider(at)
		}
	}
	for _, g := range s.gates {
		if g.UnderSince != 0 {
			consider(g.UnderSince + underMinPatience)
		}
	}
	if s.mode == Mirroring && s.image.MirrorOf.Reporting && s.statedAt != never {
		consider(s.repeatAt())
	}
	for _, t := range s.weak {
		if t.Batches > 0 {
			consider(t.dueAt())
		}
	}
	if s.pending.On {
		consider(s.pending.At + proposalRetry)
	} else {
		consider(s.pending.PausedUntil)
	}
	return next
}
