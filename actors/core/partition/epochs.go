package partition

import "lockstep/actors/core"

// EndOffsetForEpoch answers OffsetForLeaderEpoch (E01): the largest epoch of the log not above asked, and
// where it ends (exclusive). The current epoch of a leader ends at LEO. An epoch above all that is known
// has no answer: (NoEpoch, Unknown). One below all known ends where the first known begins.
func EndOffsetForEpoch(v View, asked core.LeaderEpoch) (core.LeaderEpoch, core.Offset) {
	newest := core.NoEpoch
	if len(v.Epochs) > 0 {
		newest = v.Epochs[len(v.Epochs)-1].Epoch
	}
	if v.IsLeader && asked == v.Epoch {
		return asked, v.LEO
	}
	if v.IsLeader {
		newest = max(newest, v.Epoch)
	}
	if asked == core.NoEpoch || asked > newest {
		return core.NoEpoch, core.Unknown
	}
	return endOf(v.Epochs, v.LEO, asked)
}

// endOf looks asked up in an epoch history that ends at leo; epochs above the newest end at leo too.
func endOf(epochs []EpochStart, leo core.Offset, asked core.LeaderEpoch) (core.LeaderEpoch, core.Offset) {
	for i := len(epochs) - 1; i >= 0; i-- {
		if epochs[i].Epoch > asked {
			continue
		}
		if i+1 < len(epochs) {
			return epochs[i].Epoch, epochs[i+1].Start
		}
		return epochs[i].Epoch, leo
	}
	if len(epochs) > 0 {
		return asked, epochs[0].Start
	}
	return asked, leo
}

// knownEpoch reports whether the history holds exactly this epoch.
func knownEpoch(epochs []EpochStart, epoch core.LeaderEpoch) bool {
	for _, e := range epochs {
		if e.Epoch == epoch {
			return true
		}
	}
	return false
}

// lastEpoch is the epoch of the newest batch, NoEpoch in an empty log.
func (s *State) lastEpoch() core.LeaderEpoch {
	if n := len(s.epochs); n > 0 {
		return s.epochs[n-1].Epoch
	}
	return core.NoEpoch
}

// noteEpoch extends the history with the epoch of a batch. The slice is replaced, never mutated: views
// share it.
func (s *State) noteEpoch(epoch core.LeaderEpoch, base core.Offset) {
	if epoch > s.lastEpoch() {
		s.epochs = append(s.epochs[:len(s.epochs):len(s.epochs)], EpochStart{Epoch: epoch, Start: base})
	}
}

func (s *State) cutEpochs(to core.Offset) {
	n := len(s.epochs)
	for n > 0 && s.epochs[n-1].Start >= to {
		n--
	}
	s.epochs = s.epochs[:n:n]
}
