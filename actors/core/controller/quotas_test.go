package controller

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

func client(name string) image.QuotaEntity {
	return image.QuotaEntity{Client: image.QuotaName{Kind: image.QuotaNamed, Name: name}}
}

// alterQuotas sends one AlterQuotas and returns its codes.
func (w *world) alterQuotas(dry bool, entries ...QuotaAlteration) (codes []perr.Code) {
	w.t.Helper()
	for _, e := range w.do(AlterQuotas{Entries: entries, DryRun: dry}) {
		if a, ok := e.(QuotasAnswered); ok {
			for _, r := range a.Results {
				if (r.Code == perr.None) != (r.Text == "") {
					w.t.Errorf("code %d says %q", r.Code, r.Text)
				}
				codes = append(codes, r.Code)
			}
		}
	}
	return codes
}

func TestQuotasAreAlteredEntityByEntity(t *testing.T) {
	w := newWorld(t)
	any := image.QuotaEntity{User: image.QuotaName{Kind: image.QuotaDefault}, Client: image.QuotaName{Kind: image.QuotaDefault}}
	rate := func(v float64) QuotaLimit { return QuotaLimit{Key: ProducerByteRate, Value: v} }
	told := map[image.QuotaEntity]map[string]float64{}
	for _, c := range []struct {
		what    string
		entries []QuotaAlteration
		codes   []perr.Code
		change  func()
	}{
		{"two, of which one is wrong", []QuotaAlteration{{client("a"), []QuotaLimit{rate(1024)}}, {client("b"), []QuotaLimit{{Key: "speed", Value: 1}}}},
			[]perr.Code{0, perr.InvalidRequest}, func() { told[client("a")] = map[string]float64{ProducerByteRate: 1024} }},
		{"another limit", []QuotaAlteration{{client("a"), []QuotaLimit{{Key: RequestPercentage, Value: 12.5}}}},
			[]perr.Code{0}, func() { told[client("a")] = map[string]float64{ProducerByteRate: 1024, RequestPercentage: 12.5} }},
		{"defaults", []QuotaAlteration{{any, []QuotaLimit{{Key: ConsumerByteRate, Value: 7}}}}, []perr.Code{0}, func() { told[any] = map[string]float64{ConsumerByteRate: 7} }},
		{"one twice", []QuotaAlteration{{any, nil}, {any, nil}}, []perr.Code{0, perr.InvalidRequest}, nil},
		{"nobody", []QuotaAlteration{{}}, []perr.Code{perr.InvalidRequest}, nil},
		{"no name", []QuotaAlteration{{client(""), nil}}, []perr.Code{perr.InvalidRequest}, nil},
		{"a limit twice", []QuotaAlteration{{client("a"), []QuotaLimit{rate(1), rate(2)}}}, []perr.Code{perr.InvalidRequest}, nil},
		{"values", []QuotaAlteration{{client("c"), []QuotaLimit{rate(0)}}, {client("d"), []QuotaLimit{rate(-1)}}, {client("e"), []QuotaLimit{rate(1.5)}},
			{client("f"), []QuotaLimit{rate(math.NaN())}}, {client("g"), []QuotaLimit{{Key: RequestPercentage, Value: math.Inf(1)}}}},
			[]perr.Code{perr.InvalidRequest, perr.InvalidRequest, perr.InvalidRequest, perr.InvalidRequest, perr.InvalidRequest}, nil},
		{"remove what is not there", []QuotaAlteration{{client("z"), []QuotaLimit{{Key: ProducerByteRate, Remove: true}}}}, []perr.Code{0}, nil},
		{"remove one", []QuotaAlteration{{client("a"), []QuotaLimit{{Key: ProducerByteRate, Remove: true}}}},
			[]perr.Code{0}, func() { told[client("a")] = map[string]float64{RequestPercentage: 12.5} }},
		{"remove the last", []QuotaAlteration{{client("a"), []QuotaLimit{{Key: RequestPercentage, Remove: true}}}}, []perr.Code{0}, func() { delete(told, client("a")) }},
	} {
		if codes := w.alterQuotas(true, c.entries...); !reflect.DeepEqual(codes, c.codes) || !reflect.DeepEqual(w.img.Quotas, told) {
			t.Errorf("%s, dry run: %v, told %v", c.what, codes, w.img.Quotas)
		}
		if c.change != nil {
			c.change()
		}
		if codes := w.alterQuotas(false, c.entries...); !reflect.DeepEqual(codes, c.codes) || !reflect.DeepEqual(w.img.Quotas, told) {
			t.Errorf("%s: %v, told %v, want %v %v", c.what, codes, w.img.Quotas, c.codes, told)
		}
		back, err := restore("", w.s.snapshot())
		if err != nil || !reflect.DeepEqual(back.quotas, w.s.quotas) {
			t.Errorf("%s: restored %v (%v), want %v", c.what, back.quotas, err, w.s.quotas)
		}
		if fresh := image.ApplyAll(image.Empty(), back.Facts()); !reflect.DeepEqual(fresh.Quotas, told) {
			t.Errorf("%s: a broker that starts is told %v", c.what, fresh.Quotas)
		}
	}
}

func TestQuotasAreBounded(t *testing.T) {
	w := newWorld(t)
	var entries []QuotaAlteration
	for i := range maxQuotas + 1 {
		entries = append(entries, QuotaAlteration{client(fmt.Sprint(i)), []QuotaLimit{{Key: ProducerByteRate, Value: 1}}})
	}
	out := decide(w.s, core.Now{}, AlterQuotas{Entries: entries})
	for _, ev := range out.Events {
		apply(w.s, ev)
	}
	if n := len(w.s.quotas); n != maxQuotas {
		t.Errorf("%d quotas", n)
	}
}
