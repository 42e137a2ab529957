package model

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"unsafe"

	"lockstep/protocol/batch"
)

// renderer appends the canonical bytes of the value at p: equal values give equal bytes, whatever order a
// map has. It is compiled once per type, since it runs on every machine that an action touches.
type renderer func(b []byte, p unsafe.Pointer) []byte

var renderers sync.Map // reflect.Type -> renderer

// render appends the canonical form of *v. Fields are read whether exported or not: soft state has no
// other rendering, and two states that differ in it are two states.
func render[T any](b []byte, v *T) []byte {
	return rendererOf(reflect.TypeFor[T]())(b, unsafe.Pointer(v))
}

func rendererOf(t reflect.Type) renderer {
	if r, ok := renderers.Load(t); ok {
		return r.(renderer)
	}
	r := compile(t)
	renderers.Store(t, r)
	return r
}

func appendInt(b []byte, n uint64) []byte {
	for n >= 0x80 {
		b = append(b, byte(n)|0x80)
		n >>= 7
	}
	return append(b, byte(n))
}

func compile(t reflect.Type) renderer {
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
		return compileStruct(t)
	case reflect.Array:
		elem, size, n := rendererOf(t.Elem()), t.Elem().Size(), t.Len()
		return func(b []byte, p unsafe.Pointer) []byte {
			for i := range n {
				b = elem(b, unsafe.Add(p, uintptr(i)*size))
			}
			return b
		}
	case reflect.Slice:
		elem, size := rendererOf(t.Elem()), t.Elem().Size()
		return func(b []byte, p unsafe.Pointer) []byte {
			s := (*[3]uintptr)(p)
			b = appendInt(b, uint64(s[1]))
			for i := range s[1] {
				b = elem(b, unsafe.Add(*(*unsafe.Pointer)(p), i*size))
			}
			return b
		}
	case reflect.Map:
		return func(b []byte, p unsafe.Pointer) []byte { return renderMap(b, reflect.NewAt(t, p).Elem()) }
	case reflect.Interface:
		return func(b []byte, p unsafe.Pointer) []byte { return renderAny(b, reflect.NewAt(t, p).Elem()) }
	default:
		panic(fmt.Sprintf("model: no canonical form of %s", t))
	}
}

func compileStruct(t reflect.Type) renderer {
	type field struct {
		offset uintptr
		render renderer
	}
	var fields []field
	for i := range t.NumField() {
		fields = append(fields, field{t.Field(i).Offset, rendererOf(t.Field(i).Type)})
	}
	return func(b []byte, p unsafe.Pointer) []byte {
		for _, f := range fields {
			b = f.render(b, unsafe.Add(p, f.offset))
		}
		return b
	}
}

func renderMap(b []byte, m reflect.Value) []byte {
	var entries [][]byte
	for it := m.MapRange(); it.Next(); {
		entries = append(entries, renderBoxed(renderBoxed(nil, it.Key()), it.Value()))
	}
	slices.SortFunc(entries, bytes.Compare)
	b = appendInt(b, uint64(len(entries)))
	for _, e := range entries {
		b = append(b, e...)
	}
	return b
}

func renderAny(b []byte, v reflect.Value) []byte {
	if v.IsNil() {
		return append(b, 0)
	}
	name := v.Elem().Type().String()
	b = append(appendInt(b, uint64(len(name))), name...)
	return renderBoxed(b, v.Elem())
}

// renderBoxed renders a value that has no address of its own.
func renderBoxed(b []byte, v reflect.Value) []byte {
	box := reflect.New(v.Type())
	box.Elem().Set(v)
	return rendererOf(v.Type())(b, box.UnsafePointer())
}

// fork copies a machine's state for another branch of the search. Machines replace slices and never
// change their elements, but they append in place and write to maps: so capacity is cut to the length,
// and maps are copied.
func fork[T any](s *T) *T {
	c := *s
	detach(reflect.ValueOf(&c).Elem())
	return &c
}

func detach(v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		switch f.Kind() {
		case reflect.Struct:
			detach(f)
		case reflect.Slice:
			h := (*[3]uintptr)(f.Addr().UnsafePointer())
			h[2] = h[1]
		case reflect.Map:
			if f.IsNil() {
				continue
			}
			f = reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem()
			m := reflect.MakeMapWithSize(f.Type(), f.Len())
			for it := f.MapRange(); it.Next(); {
				m.SetMapIndex(it.Key(), it.Value())
			}
			f.Set(m)
		default:
		}
	}
}
