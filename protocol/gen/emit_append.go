package main

import "fmt"

// appendTo writes the method that appends the structure's bytes.
func (w *printer) appendTo(s *goStruct) {
	w.p("func (m *%s) appendTo(b []byte, version int16, flexible bool) []byte {", s.name)
	for _, f := range s.fields {
		w.when(and(f.versions.cond(s.context), f.tagged.not(s.context)), func() { w.appendField(s, f) })
	}
	w.appendTags(s)
	w.p("return b\n}\n")
}

func (w *printer) appendTags(s *goStruct) {
	if s.flexible.meet(s.context).empty() {
		return
	}
	tagged := s.tags()
	w.p("if flexible {")
	if len(tagged) == 0 {
		w.p("b = append(b, 0)\n}")
		return
	}
	w.p("tags := uint64(0)")
	for _, f := range tagged {
		w.p("if %s { tags++ }", f.sent(s))
	}
	w.p("b = wire.AppendUvarint(b, tags)")
	for _, f := range tagged {
		w.p("if %s {", f.sent(s))
		w.p("b = wire.AppendTag(b, %d, func(b []byte) []byte {", *f.Tag)
		w.appendField(s, f)
		w.p("return b\n})\n}")
	}
	w.p("}")
}

// tags are the tagged fields in ascending order, as the wire wants them.
func (s *goStruct) tags() []*goField {
	var out []*goField
	for _, f := range s.fields {
		if f.tagged.meet(s.context).empty() {
			continue
		}
		at := len(out)
		for at > 0 && *out[at-1].Tag > *f.Tag {
			at--
		}
		out = append(out[:at], append([]*goField{f}, out[at:]...)...)
	}
	return out
}

func (f *goField) sent(s *goStruct) string {
	return and(f.tagged.meet(f.versions).cond(s.context), f.notDefault())
}

func (f *goField) flag() string {
	if f.plainString {
		return "false"
	}
	return "flexible"
}

func (w *printer) appendField(s *goStruct, f *goField) {
	x := "m." + f.Name
	null := f.nullable.cond(s.context.meet(f.versions))
	switch {
	case f.isArray():
		w.nullOr(x, null, "b = wire.AppendNullArray(b, "+f.flag()+")", func() {
			w.p("b = wire.AppendArrayLen(b, len(%s), %s)", x, f.flag())
			w.p("for i := range %s {", x)
			if f.ref != nil {
				w.p("b = %s[i].appendTo(b, %s, flexible)", x, f.ref.v())
			} else {
				w.p("%s", f.scalar.appendExpr(x+"[i]", f.flag()))
			}
			w.p("}")
		})
	case f.ref != nil && f.pointer():
		if null != "" {
			panic(fmt.Sprintf("%s.%s: a structure is nullable in all of its versions or in none", s.name, f.Name))
		}
		w.p("if %s == nil {\nb = wire.AppendInt8(b, -1)\n} else {", x)
		w.p("b = %s.appendTo(wire.AppendInt8(b, 1), %s, flexible)\n}", x, f.ref.v())
	case f.ref != nil:
		w.p("b = %s.appendTo(b, %s, flexible)", x, f.ref.v())
	case f.pointer():
		w.nullableString(x, null, f)
	case f.scalar.goType == "[]byte":
		w.nullOr(x, null, "b = wire.AppendNullArray(b, "+f.flag()+")", func() {
			w.p("b = wire.AppendBytes(b, %s, %s)", x, f.flag())
		})
	default:
		w.p("%s", f.scalar.appendExpr(x, f.flag()))
	}
}

// nullOr writes null when x is nil in a version that has null, else what body writes.
func (w *printer) nullOr(x, null, writeNull string, body func()) {
	if null == "false" {
		body()
		return
	}
	w.p("if %s {\n%s\n} else {", and(x+" == nil", null), writeNull)
	body()
	w.p("}")
}

// nullableString writes a string that may be null; "" stands for null in versions without it.
func (w *printer) nullableString(x, null string, f *goField) {
	if null == "" && f.scalar.cast == "" {
		w.p("b = wire.AppendNullableString(b, %s, %s)", x, f.flag())
		return
	}
	w.p("switch {")
	w.p("case %s != nil:", x)
	w.p("%s", f.scalar.appendExpr("*"+x, f.flag()))
	if null != "" {
		w.p("case !(%s):\nb = wire.AppendString(b, \"\", %s)", null, f.flag())
	}
	w.p("default:\nb = wire.AppendNullableString(b, nil, %s)\n}", f.flag())
}

func (s scalar) appendExpr(x, flag string) string {
	if s.lengthy {
		return fmt.Sprintf("b = wire.Append%s(b, %s, %s)", s.wire, s.toWire(x), flag)
	}
	return fmt.Sprintf("b = wire.Append%s(b, %s)", s.wire, s.toWire(x))
}

// v is the version that the structure is written and read in.
func (s *goStruct) v() string {
	if s.line {
		return fmt.Sprint(s.version)
	}
	return "version"
}
