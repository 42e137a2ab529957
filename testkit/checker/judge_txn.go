package checker

import (
	"cmp"
	"slices"
)

// abortedRead looks at whatever was read committed: by consumers, in transactions, and at the end.
func abortedRead(j *judging) {
	judge := func(who string, v Value) {
		if t, part := j.txns[v]; part && (j.Txns[t].Fate == Aborted || j.Txns[t].Fate == NeverAsked) {
			j.wrong("%s read %s as committed; its transaction of %s was %s", who, j.name(v), instant(j.Txns[t].Began), j.Txns[t].Fate)
		}
	}
	for i := range j.Polls {
		if p := &j.Polls[i]; j.Readers[p.Reader].Committed {
			for _, v := range p.Values {
				judge(j.Readers[p.Reader].Name, v)
			}
		}
	}
	for _, t := range j.Txns {
		for _, v := range t.Read {
			judge("a transaction", v)
		}
	}
	for _, log := range j.Stable {
		for _, e := range log {
			judge("the last reader", e.Value)
		}
	}
}

func torn(j *judging) {
	for _, t := range j.Txns {
		found := 0
		for _, v := range t.Wrote {
			if j.stable[v] {
				found++
			}
		}
		if (t.Fate == Undecided && !j.Mirrored || t.Fate == Committed) && found != 0 && found != len(t.Wrote) {
			j.wrong("the transaction of writer %d that began at %s (%s) is read committed with %d of its %d records", t.Writer, instant(t.Began), t.Fate, found, len(t.Wrote))
		}
	}
}

// circular looks for cycles of transactions that have read each other's records: whoever reads committed data reads what
// ended before.
func circular(j *judging) {
	edges := make([][]int, len(j.Txns))
	for reader, t := range j.Txns {
		for _, v := range t.Read {
			if writer, part := j.txns[v]; part {
				edges[writer] = append(edges[writer], reader)
			}
		}
	}
	for _, cycle := range cycles(edges) {
		j.wrong("%d transactions have read each other's records in a circle, among them those of %s and %s", len(cycle), instant(j.Txns[cycle[0]].Began), instant(j.Txns[cycle[len(cycle)-1]].Began))
	}
}

// writeCycles counts the transactions in cycles of which record stands before which, in the logs that are committed.
func (j *judging) writeCycles() (n int) {
	edges := make([][]int, len(j.Txns))
	for _, log := range j.Stable {
		before := -1
		for _, e := range log {
			t, part := j.txns[e.Value]
			if !part {
				continue
			}
			if before >= 0 && before != t {
				edges[before] = append(edges[before], t)
			}
			before = t
		}
	}
	for _, cycle := range cycles(edges) {
		n += len(cycle)
	}
	return n
}

// cycles are the strongly connected components of more than one node, or of one that points at itself (Tarjan 1972).
func cycles(edges [][]int) (out [][]int) {
	type frame struct{ node, next int }
	index, low := make([]int, len(edges)), make([]int, len(edges))
	on := make([]bool, len(edges))
	var stack []int
	counter := 0
	for root := range edges {
		if index[root] != 0 {
			continue
		}
		frames := []frame{{root, 0}}
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			v := f.node
			if f.next == 0 {
				counter++
				index[v], low[v], on[v] = counter, counter, true
				stack = append(stack, v)
			}
			if f.next < len(edges[v]) {
				w := edges[v][f.next]
				f.next++
				switch {
				case index[w] == 0:
					frames = append(frames, frame{w, 0})
				case on[w]:
					low[v] = min(low[v], index[w])
				}
				continue
			}
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				parent := frames[len(frames)-1].node
				low[parent] = min(low[parent], low[v])
			}
			if low[v] != index[v] {
				continue
			}
			var component []int
			for last := -1; last != v; {
				last = stack[len(stack)-1]
				stack, on[last] = stack[:len(stack)-1], false
				component = append(component, last)
			}
			if len(component) > 1 || slices.Contains(edges[v], v) {
				slices.Sort(component)
				out = append(out, component)
			}
		}
	}
	slices.SortFunc(out, func(a, b []int) int { return cmp.Compare(a[0], b[0]) })
	return out
}
