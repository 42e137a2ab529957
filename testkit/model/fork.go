package model

import (
	"reflect"
	"unsafe"

	"lockstep/actors/core/highwater"
	"lockstep/actors/core/partition"
)

// copier copies a machine's state for another branch of the search. Machines replace most slices and never
// change their elements, but they append in place and write to maps: so capacity is cut to the length,
// and maps are copied. What Apply changes in place is copied whole.
type copier[T any] struct {
	slices []uintptr
	whole  []field
	maps   []field
}

// writtenInPlace are the slices whose elements Apply changes.
var writtenInPlace = map[string]bool{"replicas": true, "gates": true, "followers": true}

type field struct {
	offset uintptr
	t      reflect.Type
}

var (
	copyPart = newCopier[partition.State]()
	copyHW   = newCopier[highwater.State]()
)

func newCopier[T any]() copier[T] {
	var c copier[T]
	c.find(reflect.TypeFor[T](), 0)
	return c
}

func (c *copier[T]) find(t reflect.Type, at uintptr) {
	for i := range t.NumField() {
		f := t.Field(i)
		switch f.Type.Kind() {
		case reflect.Struct:
			c.find(f.Type, at+f.Offset)
		case reflect.Slice:
			if writtenInPlace[f.Name] {
				c.whole = append(c.whole, field{at + f.Offset, f.Type})
				continue
			}
			c.slices = append(c.slices, at+f.Offset)
		case reflect.Map:
			c.maps = append(c.maps, field{at + f.Offset, f.Type})
		default:
		}
	}
}

func (c *copier[T]) of(s *T) *T {
	n := *s
	p := unsafe.Pointer(&n)
	for _, at := range c.slices {
		h := (*[3]uintptr)(unsafe.Add(p, at))
		h[2] = h[1]
	}
	for _, f := range c.whole {
		detach(reflect.NewAt(f.t, unsafe.Add(p, f.offset)).Elem())
	}
	for _, f := range c.maps {
		v := reflect.NewAt(f.t, unsafe.Add(p, f.offset)).Elem()
		if v.IsNil() {
			continue
		}
		m := reflect.MakeMapWithSize(f.t, v.Len())
		for it := v.MapRange(); it.Next(); {
			m.SetMapIndex(it.Key(), it.Value())
		}
		v.Set(m)
	}
	return &n
}
