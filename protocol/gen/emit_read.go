package main

import "fmt"

// readFrom writes the method that reads the structure.
func (w *printer) readFrom(s *goStruct) {
	w.p("func (m *%s) readFrom(r *wire.Reader, version int16, flexible bool) {", s.name)
	w.p("m.Default()")
	for _, f := range s.fields {
		w.when(and(f.versions.cond(s.context), f.tagged.not(s.context)), func() { w.readField(s, f) })
	}
	w.readTags(s)
	w.p("}\n")
	w.least(s)
}

// least writes the smallest size of a structure by version, against which counts of it are held.
func (w *printer) least(s *goStruct) {
	always, more := s.least()
	if len(more) == 0 || !s.element {
		return
	}
	w.p("func (*%s) least(version int16, flexible bool) int {\nn := %d", s.name, always)
	for _, m := range more {
		w.p("if %s {\nn += %d\n}", m.cond, m.bytes)
	}
	w.p("return max(n, 1)\n}\n")
}

func (w *printer) readTags(s *goStruct) {
	if s.flexible.meet(s.context).empty() {
		return
	}
	w.p("if flexible {")
	defer w.p("}")
	tagged := s.tags()
	if len(tagged) == 0 {
		w.p("r.SkipTags()")
		return
	}
	w.p("for n := r.Uvarint(); n > 0 && r.Err() == nil; n-- {")
	w.p("tag, body := r.Tag()")
	w.p("switch {")
	for _, f := range tagged {
		w.p("case %s:", and(fmt.Sprintf("tag == %d", *f.Tag), f.tagged.meet(f.versions).cond(s.context)))
		w.p("func(r *wire.Reader) {")
		w.readField(s, f)
		w.p("}(&body)")
		w.p("r.EndTag(tag, &body)")
	}
	w.p("}\n}")
}

func (w *printer) readField(s *goStruct, f *goField) {
	x := "m." + f.Name
	null := f.nullable.cond(s.context.meet(f.versions))
	switch {
	case f.isArray():
		w.readArray(x, null, f)
	case f.ref != nil && f.pointer():
		w.p("if %s = nil; r.Int8() >= 0 {\n%s = new(%s)\n%s.readFrom(r, %s, flexible)\n}", x, x, f.ref.name, x, f.ref.v())
	case f.ref != nil:
		w.p("%s.readFrom(r, %s, flexible)", x, f.ref.v())
	case f.pointer() && null == "":
		w.p("%s", f.scalar.readNullable(x, f.flag()))
	case f.pointer():
		w.p("if %s {", null)
		w.p("%s", f.scalar.readNullable(x, f.flag()))
		w.p("} else {\nv := %s\n%s = &v\n}", f.scalar.readExpr("r", f.flag()), x)
	case f.scalar.goType == "[]byte" && null == "":
		w.p("%s = r.Nullable%s(%s)", x, f.scalar.wire, f.flag())
	case f.scalar.goType == "[]byte" && null != "false":
		w.p("if %s {\n%s = r.Nullable%s(%s)\n} else {\n%s = r.%s(%s)\n}", null, x, f.scalar.wire, f.flag(), x, f.scalar.wire, f.flag())
	default:
		w.p("%s = %s", x, f.scalar.readExpr("r", f.flag()))
	}
}

func (w *printer) readArray(x, null string, f *goField) {
	elem := f.goType()[2:]
	switch null {
	case "false":
		w.p("if n := r.ArrayLen(%s, %s); n > 0 {", f.flag(), f.leastElem())
	case "":
		w.p("if n := r.NullableArrayLen(%s, %s); n >= 0 {", f.flag(), f.leastElem())
	default:
		w.p("{\nvar n int\nif %s {\nn = r.NullableArrayLen(%s, %s)\n} else {\nn = r.ArrayLen(%s, %s)\n}", null, f.flag(), f.leastElem(), f.flag(), f.leastElem())
		w.p("if n >= 0 {")
	}
	w.p("%s = make([]%s, n)", x, elem)
	w.p("for i := range %s {", x)
	if f.ref != nil {
		w.p("%s[i].readFrom(r, %s, flexible)", x, f.ref.v())
	} else {
		w.p("%s[i] = %s", x, f.scalar.readExpr("r", f.flag()))
	}
	w.p("}\n}")
	if null != "" && null != "false" {
		w.p("}")
	}
}

func (s scalar) readExpr(r, flag string) string {
	if s.lengthy {
		return s.fromWire(fmt.Sprintf("%s.%s(%s)", r, s.wire, flag))
	}
	return s.fromWire(fmt.Sprintf("%s.%s()", r, s.wire))
}

func (s scalar) readNullable(x, flag string) string {
	if s.cast == "" {
		return fmt.Sprintf("%s = r.NullableString(%s)", x, flag)
	}
	return fmt.Sprintf("if v := r.NullableString(%s); v != nil {\nnamed := %s(*v)\n%s = &named\n} else {\n%s = nil\n}", flag, s.cast, x, x)
}
