package highwater

// missingAt is a mirror that has not reported of this partition since it was added. Its writers could only time out,
// and those that do not wait for it would write what the topic's claim does not cover: so nobody writes (C11, F36).
func (s *State) missingAt() (gate, bool) {
	for _, g := range s.gates {
		if g.Missing && !g.Heard && closeUntilMirrorHasIt {
			return g, true
		}
	}
	return gate{}, false
}

// settleAdditions tells the ledger of mirrors that have an added partition, so that no later leader closes it again.
func (d *decision) settleAdditions() {
	for _, g := range d.s.gates {
		if g.Missing && g.Heard && !g.Confirmed {
			d.emit(AdditionConfirmed{Key: g.Key})
			d.late(ConfirmAddition{Key: g.Key, Epoch: g.Epoch})
		}
	}
}
