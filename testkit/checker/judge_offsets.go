package checker

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// patience bounds one question to porcupine, whose answer may take exponential time.
const patience = time.Minute

// rising is a value that only rises: a write says how far it must have risen, a read how far it had.
var rising = porcupine.Model{
	Init: func() any { return int64(0) },
	Step: func(state, input, output any) (bool, any) {
		now, in := state.(int64), input.(offsetOp)
		if in.write {
			return true, max(now, in.value)
		}
		return output.(int64) >= now, output.(int64)
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %v", input, output) },
}

// register is what a value was set to last; nobody has set it: -1.
var register = porcupine.Model{
	Init: func() any { return int64(-1) },
	Step: func(state, input, output any) (bool, any) {
		if in := input.(offsetOp); in.write {
			return true, in.value
		}
		return output.(int64) == state.(int64), state
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %v", input, output) },
}

type offsetOp struct {
	write bool
	value int64
}

// linearize asks porcupine about the operations of one offset.
func (j *judging) linearize(m porcupine.Model, ops []porcupine.Operation, what string) {
	switch porcupine.CheckOperationsTimeout(m, ops, patience) {
	case porcupine.Illegal:
		j.wrong("%s: no order of its %d operations explains what was read%s", what, len(ops), firstWrong(m, ops))
	case porcupine.Unknown:
		j.wrong("%s: whether its %d operations are linearizable could not be told within %s", what, len(ops), patience)
	case porcupine.Ok:
	}
}

// firstWrong finds the shortest beginning of a history that no order explains.
func firstWrong(m porcupine.Model, ops []porcupine.Operation) string {
	ops = slices.Clone(ops)
	slices.SortFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
	low, high := 0, len(ops)
	for low < high {
		mid := (low + high) / 2
		// What had not returned may have happened.
		cut := slices.Clone(ops[:mid+1])
		for _, o := range ops[mid+1:] {
			if in := o.Input.(offsetOp); in.write && o.Call < ops[mid].Return {
				o.Return = math.MaxInt64
				cut = append(cut, o)
			}
		}
		if porcupine.CheckOperationsTimeout(m, cut, patience) == porcupine.Illegal {
			high = mid
		} else {
			low = mid + 1
		}
	}
	if low >= len(ops) {
		return ""
	}
	o := ops[low]
	return fmt.Sprintf("; the first that fits no order is %s, from %s to %s", m.DescribeOperation(o.Input, o.Output), instant(o.Call), instant(o.Return))
}

// acksBetween is how many acknowledgements of a partition are left out for one that porcupine sees; every one is held
// against the reads by itself.
const acksBetween = 20

func endsLinearize(j *judging) {
	type log struct {
		partition int
		stable    bool
	}
	reads := map[log][]EndRead{}
	for _, e := range j.Ends {
		k := log{e.Partition, e.Stable}
		reads[k] = append(reads[k], e)
	}
	for k, list := range reads {
		var ops []porcupine.Operation
		for _, e := range list {
			ops = append(ops, porcupine.Operation{ClientId: e.Client, Input: offsetOp{}, Call: e.Began, Output: e.Offset, Return: e.Ended})
		}
		name := fmt.Sprintf("the end of %s", j.Partitions[k.partition])
		if k.stable {
			name = fmt.Sprintf("the last stable offset of %s", j.Partitions[k.partition])
		} else {
			j.endsBelow(k.partition, list)
			for i, s := range j.acked[k.partition] {
				if i%acksBetween == 0 && j.promised(s) {
					ops = append(ops, porcupine.Operation{ClientId: 1000 + s.Value.writer(), Input: offsetOp{true, s.Offset + 1}, Call: s.Began, Output: int64(0), Return: s.Ended})
				}
			}
		}
		j.linearize(rising, ops, name)
	}
}

// endsBelow holds every acknowledgement against the reads that began after it.
func (j *judging) endsBelow(partition int, reads []EndRead) {
	acked := slices.Clone(j.acked[partition])
	slices.SortFunc(acked, func(a, b *Send) int { return cmp.Compare(a.Ended, b.Ended) })
	slices.SortFunc(reads, func(a, b EndRead) int { return cmp.Compare(a.Began, b.Began) })
	most, i := &Send{Offset: -1}, 0
	for _, e := range reads {
		for ; i < len(acked) && acked[i].Ended < e.Began; i++ {
			if acked[i].Offset > most.Offset {
				most = acked[i]
			}
		}
		if e.Offset <= most.Offset {
			j.wrong("the end of %s was read as %d at %s; offset %d had been acknowledged at %s", j.Partitions[partition], e.Offset, instant(e.Began), most.Offset, instant(most.Ended))
		}
	}
}

// commitsGoBack: each member begins where its predecessor's commits ended, so they only rise.
func commitsGoBack(j *judging) {
	type op struct {
		Look
		what string
	}
	ops := map[int][]op{}
	for _, c := range j.Commits {
		if c.Outcome == Done {
			ops[c.Partition] = append(ops[c.Partition], op{Look{c.Partition, c.Offset, c.Began, c.Ended}, "committed"})
		}
	}
	for _, l := range j.Committed {
		ops[l.Partition] = append(ops[l.Partition], op{l, "read"})
	}
	for p, list := range ops {
		ended := slices.Clone(list)
		slices.SortFunc(ended, func(a, b op) int { return cmp.Compare(a.Ended, b.Ended) })
		slices.SortFunc(list, func(a, b op) int { return cmp.Compare(a.Began, b.Began) })
		most, i := op{Look: Look{Offset: -1}}, 0
		for _, o := range list {
			for ; i < len(ended) && ended[i].Ended < o.Began; i++ {
				if ended[i].Offset > most.Offset {
					most = ended[i]
				}
			}
			if o.Offset < most.Offset {
				j.wrong("offset %d of %s was %s at %s, after %d had been %s at %s", o.Offset, j.Partitions[p], o.what, instant(o.Began), most.Offset, most.what, instant(most.Ended))
			}
		}
	}
}

func registerLinearizes(j *judging) {
	keys := map[int][]porcupine.Operation{}
	for _, o := range j.Register {
		op := porcupine.Operation{ClientId: o.Client, Input: offsetOp{o.Write, o.Value}, Call: o.Began, Output: o.Value, Return: o.Ended}
		switch {
		case o.Outcome == Failed, o.Outcome == Unknown && !o.Write:
			continue
		case o.Outcome == Unknown:
			op.Return = math.MaxInt64
		case !o.Write:
			op.Input = offsetOp{}
		}
		keys[o.Key] = append(keys[o.Key], op)
	}
	for k, ops := range keys {
		j.linearize(register, ops, fmt.Sprintf("the committed offset %d", k))
	}
}
