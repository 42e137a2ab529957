package mirror

import (
	"fmt"

	"lockstep/actors/core"
)

// accept lets a diverged topic follow its source again: the operator has decided that the source's history counts.
// What is here beyond it is cut, into quarantine first; what was promised of this data ends with its incarnation
// (R2, R11, F43). The other way out is a stop, which keeps this copy.
func (w *turn) accept(fresh core.Incarnation) (warning string) {
	w.happen(SourceAccepted{Topic: w.t.Topic, Session: w.t.Session + 1, Incarnation: fresh})
	w.withdraw()
	return fmt.Sprintf("partitions %v of topic %q follow cluster %s again; what is cut here is kept in quarantine (clusterctl journal quarantine)", w.t.accepting(), w.t.Name, w.s.source)
}

// decideProgress ends the acceptance of a partition that stands under its source's history: the next cut is judged by
// R11 again.
func (s *State) decideProgress(now core.Now, t *topic, c ReportProgress) outcome {
	w := s.turn(now, t)
	w.happen(ProgressReported{Report: c, At: now.Mono, AtWall: now.Wall})
	if c.Stated && c.Unsynced != t.SourceUnsynced {
		w.happen(SourceDurabilitySeen{Topic: t.Topic, Unsynced: c.Unsynced})
		if c.Unsynced && s.provenOnly(t) && refuseBelowMinClass && (t.phase() == Registering || t.phase() == Arming || t.phase() == Sync) {
			w.demote(reasonOther, 0, unsyncedText)
			return w.out
		}
	}
	if t.restsOnAnswers() {
		w.answered(c)
	}
	if t.Partitions[c.ID.Index].Accept && c.SourceEpoch == c.Adopted && acceptOnce {
		w.happen(SourceFollowed{Topic: t.Topic, Partition: c.ID.Index})
		w.fetch()
	}
	return w.out
}

func (t *topic) acceptSource(ev SourceAccepted) {
	for i := range t.Partitions {
		t.Partitions[i].Accept = t.Partitions[i].Broken
	}
	t.newData(ev.Incarnation)
	t.recover(ev.Session)
}

func (t *topic) accepting() (list []int32) {
	for i, p := range t.Partitions {
		if p.Accept {
			list = append(list, int32(i))
		}
	}
	return list
}
