package quorum

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/memory"
)

// TestWhatAMajorityHasIsNeverLostAndNothingComesBack runs many lives of a process over volumes that
// sync when chance says so, lose power together, and are missing now and then. The dumb twin keeps, per
// stream, what was acknowledged and what a life saw replayed: acknowledged entries stay for ever, and
// what a life did not see never appears in a later one.
func TestWhatAMajorityHasIsNeverLostAndNothingComesBack(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { lives(t, rand.New(rand.NewPCG(seed, 7)), 1+int(seed%3)) })
	}
}

func lives(t *testing.T, r *rand.Rand, n int) {
	vols := make([]*memory.Journal, n)
	for i := range vols {
		vols[i] = memory.New(memory.Options{Manual: true})
	}
	streams := []journal.Stream{"control/a", "control/b", "control/c"}
	truth := map[journal.Stream][]string{} // what the last life saw at its start, then acknowledged
	for life := range 6 {
		ms := make([]Member, n)
		missing := -1
		if n >= 3 && r.IntN(3) == 0 {
			missing = r.IntN(n)
		}
		stop := make(chan struct{})
		done := make(chan struct{})
		go func() { // opening waits for syncs: give them
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
					for _, v := range vols {
						v.Sync()
					}
				}
			}
		}()
		for i := range ms {
			ms[i] = Member{ID: core.ReplicaID(i + 1), Journal: vols[i]}
			if i == missing {
				ms[i].Journal = nil
			}
		}
		q, err := Open(ms, Options{})
		close(stop)
		<-done
		if err != nil {
			t.Fatalf("life %d: %v", life, err)
		}
		seen := map[journal.Stream][]string{}
		for _, s := range streams {
			seen[s] = contents(t, q, s)
			acked := truth[s]
			if len(seen[s]) < len(acked) || !slices.Equal(seen[s][:len(acked)], acked) {
				t.Fatalf("life %d, %s: acknowledged %q, found %q", life, s, acked, seen[s])
			}
		}
		truth = seen
		given := map[journal.Stream][]string{}
		for s, lines := range seen {
			given[s] = slices.Clone(lines)
		}
		for step := range 30 {
			s := streams[r.IntN(len(streams))]
			switch k := r.IntN(10); {
			case k < 5:
				text := fmt.Sprintf("%d.%d", life, step)
				given[s] = append(given[s], text)
				upTo := slices.Clone(given[s])
				q.Append(s, []core.Entry{{Kind: core.EntryEvent, Payload: []byte(text)}}, func(_ journal.Seq, err error) {
					if err == nil {
						truth[s] = upTo
					}
				})
			case k < 6:
				upTo := slices.Clone(given[s])
				q.Snapshot(s, []byte(fmt.Sprint(upTo)), func(_ journal.Seq, err error) {
					if err == nil {
						truth[s] = upTo
					}
				})
			default:
				if i := r.IntN(n); i != missing {
					vols[i].Sync()
				}
			}
		}
		for i := range vols {
			if i != missing {
				vols[i] = vols[i].Crash()
			}
		}
	}
}

// contents flattens a stream: a snapshot is the list of entries it covers.
func contents(t *testing.T, q *Quorum, s journal.Stream) (out []string) {
	t.Helper()
	err := q.Replay(s, func(b []byte) error {
		if len(out) > 0 {
			return errors.New("second snapshot")
		}
		for _, f := range splitList(string(b)) {
			out = append(out, f)
		}
		return nil
	}, func(_ journal.Seq, e core.Entry) error {
		out = append(out, string(e.Payload))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func splitList(s string) (out []string) {
	word := ""
	for _, c := range s {
		switch c {
		case '[', ']', ' ':
			if word != "" {
				out = append(out, word)
			}
			word = ""
		default:
			word += string(c)
		}
	}
	return out
}
