package model

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"unsafe"

	"lockstep/actors/core/highwater"
	"lockstep/actors/core/partition"
	"lockstep/protocol/batch"
)

// renderer appends the canonical bytes of the value at p: equal values give equal bytes, whatever order a
// map has. It is compiled once per type, since it runs on every machine that a step touches. Fields are
// read whether exported or not: soft state has no other rendering.
type renderer func(b []byte, p unsafe.Pointer) []byte

// forms renders the parts of a state, without the fields that nothing within the bounds reads.
type forms struct {
	without map[string]bool // as in "highwater.soft.timer"
	boxed   sync.Map        // reflect.Type of a value in an interface -> box

	part, hw, idle, late, batches, view, fetcher, read,
	ints, links, proposals, floors, answer, acked, stated renderer
}

type box struct {
	id     byte
	render renderer
}

// unread are fields that no decision of the machines reads here, or only to tell the outside what the
// model leaves out: timers, evidence for destinations, texts, push credit, deadlines. Two states that
// differ in nothing else have the same future.
var unread = []string{
	"highwater.soft.timer", "highwater.soft.toldGates", "highwater.soft.toldWaiters", "highwater.soft.weak",
	"highwater.soft.soonest", "highwater.soft.waitBytes", "highwater.gate.HoldsSince", "highwater.gate.LastReport",
	"highwater.gate.Start", "highwater.hard.Epoch", "highwater.hard.To", "highwater.AppliedImage.Version",
	"highwater.PublishFloor.Replicas", "highwater.PublishFloor.ISR",
	"partition.soft.trouble", "partition.soft.stashBytes", "partition.soft.lookedAt", "partition.soft.parked",
	"partition.soft.epochStart", "partition.follower.Flights", "partition.follower.Bytes",
	"partition.View.Text", "partition.View.Confirms", "partition.View.LSO", "partition.MirrorAnswered.Text",
	"partition.State.ID", "highwater.State.ID",
}

// unreadAtOne are the fields that tell an older report of a mirror's ISR size from a newer one. No size
// is below a min ISR of one, and nothing else asks.
var unreadAtOne = []string{
	"highwater.soft.seq", "highwater.gate.Seq", "highwater.gate.DestEpoch", "highwater.gate.Heard", "highwater.gate.ISRSize",
	"highwater.PublishFloor.Seq", "highwater.PublishFloor.DestEpoch", "highwater.ReportFloor.Seq", "highwater.ReportFloor.DestEpoch",
	"highwater.PublishFloor.ISRSize", "highwater.ReportFloor.ISRSize",
}

// forgotten is what a high watermark that leads nothing keeps for nobody: the next leader epoch begins
// with none of it (R2, R3).
var forgotten = []string{
	"image", "epochStart", "self", "mode", "hw", "replicas", "imaged", "pending", "gates", "term", "adopted", "adoptedOf", "r", "h",
	"tracked", "waits", "floor", "published", "statedISR", "statedAt", "seq", "waiters", "stampOpen", "stamp", "stampOnDisk", "told",
}

func newForms(b *Bounds) *forms {
	f := &forms{without: map[string]bool{}}
	for _, name := range unread {
		f.without[name] = true
	}
	if b.MinISR == 1 {
		for _, name := range unreadAtOne {
			f.without[name] = true
		}
	}
	f.hw = f.compile(reflect.TypeFor[highwater.State]())
	f.part = f.compile(reflect.TypeFor[partition.State]())
	f.late, f.batches = f.compile(reflect.TypeFor[[2][]any]()), f.compile(reflect.TypeFor[[]batch.Batch]())
	f.view, f.fetcher = f.compile(reflect.TypeFor[partition.View]()), f.compile(reflect.TypeFor[fetcher]())
	f.read, f.ints = f.compile(reflect.TypeFor[partition.ReadLeaderLog]()), f.compile(reflect.TypeFor[[]uint8]())
	f.links, f.proposals = f.compile(reflect.TypeFor[[]letter]()), f.compile(reflect.TypeFor[[]proposal]())
	f.floors, f.answer = f.compile(reflect.TypeFor[[]floorOnWay]()), f.compile(reflect.TypeFor[answer]())
	f.acked, f.stated = f.compile(reflect.TypeFor[[]ack]()), f.compile(reflect.TypeFor[[]statement]())
	idle := &forms{without: map[string]bool{}}
	for name := range f.without {
		idle.without[name] = true
	}
	for _, name := range forgotten {
		idle.without["highwater.soft."+name] = true
	}
	f.idle = idle.compile(reflect.TypeFor[highwater.State]())
	return f
}

func appendInt(b []byte, n uint64) []byte {
	for n >= 0x80 {
		b = append(b, byte(n)|0x80)
		n >>= 7
	}
	return append(b, byte(n))
}

func (f *forms) compile(t reflect.Type) renderer {
	if t == reflect.TypeFor[batch.Batch]() {
		// The bytes are a function of these: records are numbered and never built twice.
		return func(b []byte, p unsafe.Pointer) []byte {
			one := (*batch.Batch)(p)
			b = appendInt(b, uint64(one.BaseOffset))
			b = appendInt(b, uint64(one.LeaderEpoch))
			return appendInt(b, uint64(one.CRC))
		}
	}
	switch t.Kind() {
	case reflect.Bool, reflect.Uint8, reflect.Int8:
		return func(b []byte, p unsafe.Pointer) []byte { return append(b, *(*byte)(p)) }
	case reflect.Int16, reflect.Uint16:
		return func(b []byte, p unsafe.Pointer) []byte { return appendInt(b, uint64(*(*uint16)(p))) }
	case reflect.Int32, reflect.Uint32:
		return func(b []byte, p unsafe.Pointer) []byte { return appendInt(b, uint64(*(*uint32)(p))) }
	case reflect.Int64, reflect.Uint64, reflect.Int, reflect.Uint:
		return func(b []byte, p unsafe.Pointer) []byte { return appendInt(b, *(*uint64)(p)) }
	case reflect.String:
		return func(b []byte, p unsafe.Pointer) []byte {
			s := *(*string)(p)
			return append(appendInt(b, uint64(len(s))), s...)
		}
	case reflect.Struct:
		return f.compileStruct(t)
	case reflect.Array:
		elem, size, n := f.compile(t.Elem()), t.Elem().Size(), t.Len()
		return func(b []byte, p unsafe.Pointer) []byte {
			for i := range n {
				b = elem(b, unsafe.Add(p, uintptr(i)*size))
			}
			return b
		}
	case reflect.Slice:
		elem, size := f.compile(t.Elem()), t.Elem().Size()
		return func(b []byte, p unsafe.Pointer) []byte {
			s := (*[3]uintptr)(p)
			b = appendInt(b, uint64(s[1]))
			for i := range s[1] {
				b = elem(b, unsafe.Add(*(*unsafe.Pointer)(p), i*size))
			}
			return b
		}
	case reflect.Pointer:
		elem := f.compile(t.Elem())
		return func(b []byte, p unsafe.Pointer) []byte {
			at := *(*unsafe.Pointer)(p)
			if at == nil {
				return append(b, 0)
			}
			return elem(append(b, 1), at)
		}
	case reflect.Map:
		key, value := f.compile(t.Key()), f.compile(t.Elem())
		return func(b []byte, p unsafe.Pointer) []byte {
			m := reflect.NewAt(t, p).Elem()
			if m.Len() == 0 {
				return append(b, 0)
			}
			return renderMap(b, m, key, value)
		}
	case reflect.Interface:
		return func(b []byte, p unsafe.Pointer) []byte {
			if (*[2]unsafe.Pointer)(p)[0] == nil {
				return append(b, 0)
			}
			// The second word points to the value: no command or effect is a bare pointer (boxOf refuses).
			one := f.boxOf(reflect.NewAt(t, p).Elem().Elem().Type())
			return one.render(append(b, one.id), (*[2]unsafe.Pointer)(p)[1])
		}
	default:
		panic(fmt.Sprintf("model: no canonical form of %s", t))
	}
}

func (f *forms) compileStruct(t reflect.Type) renderer {
	type field struct {
		offset uintptr
		render renderer
	}
	var fields []field
	for i := range t.NumField() {
		if one := t.Field(i); !f.without[t.String()+"."+one.Name] {
			fields = append(fields, field{one.Offset, f.compile(one.Type)})
		}
	}
	return func(b []byte, p unsafe.Pointer) []byte {
		for _, one := range fields {
			b = one.render(b, unsafe.Add(p, one.offset))
		}
		return b
	}
}

var (
	boxIDs   = map[reflect.Type]byte{}
	boxIDsMu sync.Mutex
)

// boxOf renders what an interface holds, behind a number for its type.
func (f *forms) boxOf(t reflect.Type) box {
	if known, ok := f.boxed.Load(t); ok {
		return known.(box)
	}
	if t.Kind() != reflect.Struct || t.NumField() == 1 && t.Field(0).Type.Kind() == reflect.Pointer {
		panic(fmt.Sprintf("model: %s in an interface", t))
	}
	boxIDsMu.Lock()
	id, known := boxIDs[t]
	if !known {
		id = byte(len(boxIDs) + 1)
		boxIDs[t] = id
	}
	boxIDsMu.Unlock()
	one := box{id, f.compile(t)}
	f.boxed.Store(t, one)
	return one
}

func renderMap(b []byte, m reflect.Value, key, value renderer) []byte {
	var entries [][]byte
	for it := m.MapRange(); it.Next(); {
		entries = append(entries, renderBoxed(renderBoxed(nil, it.Key(), key), it.Value(), value))
	}
	slices.SortFunc(entries, bytes.Compare)
	b = appendInt(b, uint64(len(entries)))
	for _, e := range entries {
		b = append(b, e...)
	}
	return b
}

// renderBoxed renders a value that has no address of its own.
func renderBoxed(b []byte, v reflect.Value, r renderer) []byte {
	box := reflect.New(v.Type())
	box.Elem().Set(v)
	return r(b, box.UnsafePointer())
}
