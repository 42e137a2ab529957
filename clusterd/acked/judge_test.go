package acked

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"
)

// offline is a producer that reaches nobody: what is answered is decided by the test.
func offline(t *testing.T) *Producer {
	t.Helper()
	p, err := NewProducer([]string{"127.0.0.1:1"}, "orders", 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Client.Close)
	return p
}

func TestAVerdictCountsLossAndDuplicates(t *testing.T) {
	for name, c := range map[string]struct {
		acked  []uint64
		failed []uint64
		read   map[uint64]int
		want   Verdict
	}{
		"all there":                           {[]uint64{0, 1}, nil, map[uint64]int{0: 1, 1: 1}, Verdict{Acked: 2, Found: 2}},
		"one acknowledged record is absent":   {[]uint64{0, 1, 2}, nil, map[uint64]int{0: 1, 2: 1}, Verdict{Acked: 3, Found: 2, Lost: 1, LostSample: []uint64{1}}},
		"a given-up record may be there":      {[]uint64{0}, []uint64{1}, map[uint64]int{0: 1, 1: 1}, Verdict{Acked: 1, Found: 2}},
		"a given-up record may be absent":     {[]uint64{0}, []uint64{1}, map[uint64]int{0: 1}, Verdict{Acked: 1, Found: 1}},
		"twice and thrice":                    {[]uint64{0, 1}, nil, map[uint64]int{0: 2, 1: 3}, Verdict{Acked: 2, Found: 2, Duplicated: 2}},
		"a duplicate that nobody was told of": {nil, []uint64{4}, map[uint64]int{4: 2}, Verdict{Found: 1, Duplicated: 1}},
	} {
		p := offline(t)
		for _, n := range c.acked {
			p.answered(n, time.Now(), nil)
		}
		for _, n := range c.failed {
			p.answered(n, time.Now(), errors.New("given up"))
		}
		if got := p.judge(c.read); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
		if n, err := p.Failed(); n != len(c.failed) || (err != nil) != (n > 0) || p.Acked() != len(c.acked) {
			t.Errorf("%s: %d given up (%v), %d acknowledged", name, n, err, p.Acked())
		}
	}
}

func TestALongLossIsSampled(t *testing.T) {
	p := offline(t)
	for n := range uint64(100) {
		p.answered(n, time.Now(), nil)
	}
	v := p.judge(nil)
	slices.Sort(v.LostSample)
	if v.Lost != 100 || len(slices.Compact(v.LostSample)) != 5 {
		t.Errorf("lost %d, sample %v", v.Lost, v.LostSample)
	}
}

func TestNextNewIgnoresWhatWasSentBefore(t *testing.T) {
	p := offline(t)
	p.next = 10
	next := p.NextNew()
	p.answered(9, time.Now(), nil)
	p.answered(10, time.Now(), errors.New("given up"))
	select {
	case <-next:
		t.Fatal("a record of before, or a failure, counts as new acknowledgement")
	default:
	}
	p.answered(11, time.Now(), nil)
	p.answered(12, time.Now(), nil) // a second one closes nothing twice
	<-next
}

func TestLatencyQuantiles(t *testing.T) {
	p := offline(t)
	if p.Latency(0.99) != 0 {
		t.Error("no answers have a latency")
	}
	for i := range 100 {
		p.latencies = append(p.latencies, time.Duration(100-i)*time.Millisecond)
	}
	for q, want := range map[float64]time.Duration{0: time.Millisecond, 0.5: 51 * time.Millisecond, 0.99: 100 * time.Millisecond, 1: 100 * time.Millisecond} {
		if got := p.Latency(q); got != want {
			t.Errorf("the %v-quantile is %s, want %s", q, got, want)
		}
	}
}
