package checker

import (
	"path/filepath"
	"reflect"
	"testing"
)

// The writers and readers of the histories below.
const (
	idem = iota
	plain
	txnA
	txnB
)

const (
	follower = iota
	stableFollower
	jumper
	groupMember
)

// good is a short history in which every promise is kept: each writer has two records in orders/0, and the second
// transaction was aborted.
func good() *History {
	v := valueOf
	h := &History{
		Partitions: []string{"orders/0"}, Writers: []WriterKind{Idempotent, Plain, Transactional, Transactional},
		Readers: []Reader{{Name: "all", ToEnd: true}, {Name: "stable", Committed: true, ToEnd: true}, {Name: "jumper"}, {Name: "member", Committed: true, Group: true}},
		Sends: []Send{
			{v(idem, 1), 0, 1, 5, 0, Done}, {v(idem, 2), 0, 6, 9, 3, Done},
			{v(plain, 1), 0, 2, 6, 1, Done}, {v(plain, 2), 0, 7, 9, 4, Done},
			{v(txnA, 1), 0, 3, 7, 2, Done}, {v(txnA, 2), 0, 8, 10, 5, Done},
			{v(txnB, 1), 0, 12, 14, 7, Done},
		},
		Txns: []Txn{
			{Writer: txnA, Began: 2, Ended: 12, Fate: Committed, Wrote: []Value{v(txnA, 1), v(txnA, 2)}},
			{Writer: txnB, Began: 11, Ended: 15, Fate: Aborted, Wrote: []Value{v(txnB, 1)}, Read: []Value{v(txnA, 1)}},
		},
		Final:     [][]Entry{{{0, v(idem, 1)}, {1, v(plain, 1)}, {2, v(txnA, 1)}, {3, v(idem, 2)}, {4, v(plain, 2)}, {5, v(txnA, 2)}, {7, v(txnB, 1)}}},
		Commits:   []Commit{{0, 4, 20, 21, Done}, {0, 6, 24, 25, Done}, {0, 2, 26, 27, Unknown}},
		Committed: []Look{{0, -1, 1, 2}, {0, 4, 22, 23}, {0, 6, 26, 28}},
		Register: []RegisterOp{{0, 0, false, -1, 1, 2, Done}, {0, 0, true, 7, 3, 6, Done}, {1, 0, false, 7, 4, 5, Done}, {1, 0, true, 8, 7, 9, Unknown},
			{0, 0, false, 7, 10, 11, Done}, {0, 0, false, 8, 12, 13, Done}, {0, 0, true, 9, 14, 15, Failed}, {2, 0, false, 8, 16, 17, Done}},
		Ends: []EndRead{{0, 0, false, 0, 1, 2}, {0, 0, false, 4, 9, 11}, {0, 1, false, 9, 16, 17}, {0, 0, true, 9, 16, 17}},
	}
	h.Stable = [][]Entry{h.Final[0][:6]}
	all := []int64{0, 1, 2, 3, 4, 5, 7}
	poll := func(reader, session int, at int64, offsets ...int64) {
		p := Poll{Reader: reader, Session: session, At: at, HW: 9, LSO: 9, Offsets: offsets}
		for _, o := range offsets {
			for _, e := range h.Final[0] {
				if e.Offset == o {
					p.Values = append(p.Values, e.Value)
				}
			}
		}
		h.Polls = append(h.Polls, p)
	}
	poll(follower, 0, 18, all[:3]...)
	poll(follower, 0, 19, all[3:]...)
	poll(stableFollower, 0, 19, all[:6]...)
	poll(jumper, 0, 18, 3, 4, 5)
	poll(jumper, 1, 19, 1, 2)
	poll(groupMember, 0, 19, all[:5]...)
	poll(groupMember, 1, 21, 4, 5)
	return h
}

func TestAHistoryThatKeepsEveryPromiseIsAccepted(t *testing.T) {
	if v := Judge(good()); len(v.Violations) > 0 || len(v.Counts) != len(Rules) {
		t.Errorf("%+v", v)
	}
}

// Each rule has histories that it alone must reject, whatever others say.
func TestEveryRuleRejectsWhatBreaksIt(t *testing.T) {
	v := valueOf
	breaks := map[string]map[string]func(h *History){
		"lost": {
			"an acknowledged record is nowhere":  func(h *History) { h.Final[0] = h.Final[0][1:]; h.Stable[0] = h.Stable[0][1:] },
			"one of a committed transaction":     func(h *History) { h.Stable[0] = h.Stable[0][:5] },
			"acknowledged, and never read again": func(h *History) { h.Sends = append(h.Sends, Send{v(plain, 9), 0, 20, 21, 9, Done}) },
		},
		"duplicate": {
			"of an idempotent producer": func(h *History) { h.Final[0] = append(h.Final[0], Entry{8, v(idem, 2)}) },
			"of a transaction":          func(h *History) { h.Final[0] = append(h.Final[0], Entry{8, v(txnA, 2)}) },
			"of nobody that we know":    func(h *History) { h.Final[0] = append(h.Final[0], Entry{8, v(9, 2)}, Entry{9, v(9, 2)}) },
		},
		"misplaced": {"another record is where one was acknowledged": func(h *History) { h.Sends[0].Offset = 1 }},
		"reordered": {
			"of an idempotent producer": func(h *History) { l := h.Final[0]; l[0].Value, l[3].Value = l[3].Value, l[0].Value },
			"of a plain one":            func(h *History) { l := h.Final[0]; l[1].Value, l[4].Value = l[4].Value, l[1].Value },
		},
		"inversion": {"a record that was sent later stands first": func(h *History) { h.Sends[0].Began, h.Sends[0].Ended = 20, 21 }},
		"vanished": {
			"beyond the end":      func(h *History) { p := &h.Polls[1]; p.Offsets[3] = 8 },
			"another record":      func(h *History) { h.Polls[3].Values[0] = v(idem, 7) },
			"where nothing is":    func(h *History) { h.Polls[1].Offsets[2] = 6 },
			"two saw two of them": func(h *History) { h.Polls[2].Values[1] = v(plain, 8) },
		},
		"skipped": {
			"offsets go back": func(h *History) { h.Polls[0].At, h.Polls[1].At = 19, 18 },
			"twice the same":  func(h *History) { h.Polls[3].Offsets[1] = 3 },
			"one is left out": func(h *History) {
				p := &h.Polls[3]
				p.Offsets, p.Values = []int64{3, 5}, []Value{p.Values[0], p.Values[2]}
			},
			"one is left out in a group":   func(h *History) { p := &h.Polls[5]; p.Offsets[4], p.Values[4] = 5, v(txnA, 2) },
			"between two of its own polls": func(h *History) { p := &h.Polls[1]; p.Offsets, p.Values = p.Offsets[1:], p.Values[1:] },
		},
		"unseen": {
			"by who reads to the end":  func(h *History) { p := &h.Polls[1]; p.Offsets, p.Values = p.Offsets[:3], p.Values[:3] },
			"by the group together":    func(h *History) { h.Polls = h.Polls[:6] },
			"by who never saw any":     func(h *History) { h.Polls = append(h.Polls[:2], h.Polls[3:]...) },
			"by a group without polls": func(h *History) { h.Polls = h.Polls[:5] },
		},
		"above": {
			"the HW":  func(h *History) { h.Polls[1].HW = 7 },
			"the LSO": func(h *History) { h.Polls[2].LSO = 5 },
		},
		"G1a": {
			"by a consumer": func(h *History) {
				p := &h.Polls[2]
				p.Offsets, p.Values = append(p.Offsets, 7), append(p.Values, v(txnB, 1))
			},
			"in a transaction":         func(h *History) { h.Txns[0].Read = []Value{v(txnB, 1)} },
			"at the end":               func(h *History) { h.Stable[0] = h.Final[0] },
			"that nobody would commit": func(h *History) { h.Txns[0].Fate = NeverAsked },
		},
		"G1b": {
			"a part of a committed one":       func(h *History) { h.Stable[0] = h.Stable[0][:5] },
			"a part of one without an answer": func(h *History) { h.Txns[0].Fate = Undecided; h.Stable[0] = h.Stable[0][:5] },
		},
		"G1c": {
			"two have read each other": func(h *History) { h.Txns[0].Read = []Value{v(txnB, 1)} },
			"one has read its own":     func(h *History) { h.Txns[0].Read = []Value{v(txnA, 1)} },
		},
		"ends": {
			"the HW goes back":               func(h *History) { h.Ends = append(h.Ends, EndRead{0, 0, false, 8, 18, 19}) },
			"the LSO goes back":              func(h *History) { h.Ends = append(h.Ends, EndRead{0, 0, true, 8, 18, 19}) },
			"it is below an acknowledgement": func(h *History) { h.Ends[2] = EndRead{0, 1, false, 5, 16, 17} },
		},
		"commits": {
			"read lower than committed": func(h *History) { h.Committed[2].Offset = 4 },
			"read as none":              func(h *History) { h.Committed[1].Offset = -1 },
			"committed lower":           func(h *History) { h.Commits[1].Offset = 3 },
		},
		"register": {
			"a write is forgotten":            func(h *History) { h.Register[4].Value = -1 },
			"a read of what nobody wrote":     func(h *History) { h.Register[2].Value = 6 },
			"what was refused is read":        func(h *History) { h.Register[7].Value = 9 },
			"what was unknown comes and goes": func(h *History) { h.Register[7].Value = 7 },
		},
	}
	for _, r := range Rules {
		if len(breaks[r.Name]) == 0 {
			t.Errorf("no history breaks %s", r.Name)
		}
		for what, change := range breaks[r.Name] {
			h := good()
			change(h)
			if v := Judge(h); v.Counts[r.Name] == 0 {
				t.Errorf("%s: %s: not noticed; told %+v", r.Name, what, v.Violations)
			}
		}
	}
}

// A client without idempotence may find a record again behind later ones; nobody promised it anything else.
func TestAPlainProducerMayHaveDuplicates(t *testing.T) {
	h := good()
	again := Entry{8, valueOf(plain, 1)}
	h.Final[0], h.Stable[0] = append(h.Final[0], again), append(h.Stable[0][:6:6], again)
	for i, reader := range h.Polls {
		if reader.Reader != jumper && i != 0 && i != 5 {
			h.Polls[i].Offsets, h.Polls[i].Values = append(reader.Offsets, 8), append(reader.Values, again.Value)
		}
	}
	if v := Judge(h); len(v.Violations) > 0 {
		t.Errorf("%+v", v.Violations)
	}
}

// At a mirror whose source died, markers of a transaction that nobody was told of may be missing in some partitions.
func TestAtAMirrorWhatHasNoAnswerMayBeTorn(t *testing.T) {
	h := good()
	h.Mirrored, h.Txns[0].Fate, h.Stable[0], h.Polls = true, Undecided, h.Stable[0][:5], h.Polls[:1]
	if v := Judge(h); len(v.Violations) > 0 {
		t.Errorf("%+v", v.Violations)
	}
	if h.Txns[0].Fate = Committed; Judge(h).Counts["G1b"] == 0 {
		t.Error("a committed transaction is torn, too")
	}
}

func TestWriteCyclesAreCountedAndAllowed(t *testing.T) {
	h := good()
	h.Txns[1].Fate, h.Txns[1].Read = Committed, nil
	h.Final[0][1].Value, h.Final[0][6].Value = valueOf(txnB, 1), valueOf(txnA, 2) // A, B and A again, in either order
	h.Stable = [][]Entry{{{0, valueOf(txnA, 1)}, {1, valueOf(txnB, 1)}, {2, valueOf(txnA, 2)}}}
	if v := Judge(h); v.WriteCycles != 2 || v.Counts["G1c"] != 0 {
		t.Errorf("%d transactions in cycles of writes, %d in cycles of reads", v.WriteCycles, v.Counts["G1c"])
	}
}

func TestAHistoryIsJudgedAgainFromItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.json.gz")
	want := good()
	if err := want.Save(path); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v\n got %+v\nwant %+v", err, got, want)
	}
	if err := (&Command{Judge: path}).Run(); err != nil {
		t.Error(err)
	}
	want.Ends = append(want.Ends, EndRead{0, 0, false, 8, 18, 19})
	if err := want.Save(path); err != nil {
		t.Fatal(err)
	}
	if err := (&Command{Judge: path}).Run(); err == nil {
		t.Error("a broken promise is no error")
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is missing is a history")
	}
}

func TestCyclesAreTheComponentsOfAGraph(t *testing.T) {
	got := cycles([][]int{{1}, {2}, {0, 3}, {4}, {5}, {4}, {6}, {0}})
	if want := [][]int{{0, 1, 2}, {4, 5}, {6}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
