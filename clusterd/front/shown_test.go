package front

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/broker"
	"lockstep/actors/core"
	"lockstep/actors/core/partition"
	"lockstep/protocol/perr"
)

// A ledger whose disk takes longer than a reader may wait holds back what is shown. The end of the log is then unknown: one
// below what was acknowledged would be read as its loss.
func TestAnEndBelowWhatWasAcknowledgedIsNoAnswer(t *testing.T) {
	slow, other := &broker.Replica{}, &broker.Replica{}
	w := &showing{wanted: map[*broker.Replica]core.Offset{slow: 5}}
	for _, c := range []struct {
		replica *broker.Replica
		hw      core.Offset
		want    perr.Code
	}{{slow, 4, perr.OffsetNotAvailable}, {slow, 5, perr.None}, {slow, 9, perr.None}, {other, 4, perr.None}} {
		v := partition.View{HW: c.hw, LSO: c.hw, Confirms: true}
		v.Confirms = v.Confirms && !w.lacks(c.replica, v)
		for ask, want := range map[int64]perr.Code{askLatest: c.want, askEarliest: perr.None} {
			q := kmsg.NewListOffsetsRequestTopicPartition()
			q.Timestamp = ask
			out := kmsg.NewListOffsetsResponseTopicPartition()
			if code := listOffset(c.replica, v, q, 7, 0, &out); code != want {
				t.Errorf("HW %d of 5, question %d: %s, want %s", c.hw, ask, code.Name(), want.Name())
			}
		}
	}
}
