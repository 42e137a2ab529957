package model

import (
	"reflect"
	"unsafe"
)

// deepCopy copies a state and everything it points to. The machines of the control plane keep maps of
// pointers, and apply changes what these point to.
func deepCopy[T any](s *T) *T {
	n := *s
	detach(reflect.ValueOf(&n).Elem())
	return &n
}

// detach gives a value that was copied shallowly maps, slices and pointed-to values of its own.
func detach(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			detach(reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem())
		}
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		n := reflect.New(v.Type().Elem())
		n.Elem().Set(v.Elem())
		detach(n.Elem())
		v.Set(n)
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		n := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(n, v)
		if k := v.Type().Elem().Kind(); k == reflect.Struct || k == reflect.Pointer || k == reflect.Slice {
			for i := range n.Len() {
				detach(n.Index(i))
			}
		}
		v.Set(n)
	case reflect.Map:
		if v.IsNil() {
			return
		}
		n := reflect.MakeMapWithSize(v.Type(), v.Len())
		for it := v.MapRange(); it.Next(); {
			one := reflect.New(v.Type().Elem()).Elem()
			one.Set(it.Value())
			detach(one)
			n.SetMapIndex(it.Key(), one)
		}
		v.Set(n)
	default: // holds no reference that anybody writes through
	}
}
