package main

import (
	"bytes"
	"fmt"
	"go/format"
	"os"
	"strconv"
	"strings"
)

// printer collects Go source.
type printer struct{ bytes.Buffer }

func (w *printer) p(format string, args ...any) { fmt.Fprintf(&w.Buffer, format+"\n", args...) }

// doc writes a comment wrapped at 100 columns.
func (w *printer) doc(indent, text string) {
	if text == "" {
		return
	}
	line := indent + "//"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > 100 {
			w.p("%s", line)
			line = indent + "//"
		}
		line += " " + word
	}
	w.p("%s", line)
}

func (w *printer) when(cond string, body func()) {
	switch cond {
	case "":
		body()
	case "false":
	default:
		w.p("if %s {", cond)
		body()
		w.p("}")
	}
}

// write formats the source and writes it only when it changed.
func (w *printer) write(path string) error {
	src, err := w.source()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, src) {
		return nil
	}
	return os.WriteFile(path, src, 0o644)
}

func (w *printer) source() ([]byte, error) { return format.Source(w.Bytes()) }

func and(conds ...string) string {
	var some []string
	for _, c := range conds {
		switch {
		case c == "false":
			return "false"
		case c != "":
			some = append(some, c)
		}
	}
	return strings.Join(some, " && ")
}

func parseNumber(text, goType string) (string, error) {
	if goType == "float64" {
		v, err := strconv.ParseFloat(text, 64)
		if v == 0 {
			return "", err
		}
		return strconv.FormatFloat(v, 'g', -1, 64), err
	}
	bits, _ := strconv.Atoi(strings.TrimLeft(goType, "uint"))
	if strings.HasPrefix(goType, "u") {
		v, err := strconv.ParseUint(text, 0, bits)
		if v == 0 {
			return "", err
		}
		return strconv.FormatUint(v, 10), err
	}
	v, err := strconv.ParseInt(text, 0, bits)
	if v == 0 {
		return "", err
	}
	return strconv.FormatInt(v, 10), err
}

// structure writes the type and what every structure can do.
func (w *printer) structure(s *goStruct) {
	about := s.about
	if about == "" {
		about = "is a part of the message that contains it."
	}
	w.doc("", s.name+" "+lowerFirst(about))
	w.p("type %s struct {", s.name)
	if s.top {
		w.p("// Version is the version it is written and read in.\nVersion int16\n")
	}
	for _, f := range s.fields {
		w.doc("\t", f.About)
		w.p("%s %s", f.Name, f.goType())
	}
	w.p("}\n")
	w.defaults(s)
	w.appendTo(s)
	w.readFrom(s)
}

func lowerFirst(s string) string {
	first, rest, _ := strings.Cut(s, " ")
	switch first {
	case "A", "An", "The", "Is", "Says", "Asks", "Answers", "One", "What", "Which":
		return strings.ToLower(first) + " " + rest
	default:
		return s
	}
}

// defaults writes Default, and isDefault for structures that travel as tagged fields.
func (w *printer) defaults(s *goStruct) {
	w.p("// Default sets every field to its default.")
	w.p("func (m *%s) Default() {", s.name)
	if s.top {
		w.p("*m = %s{Version: m.Version}", s.name)
	} else {
		w.p("*m = %s{}", s.name)
	}
	for _, f := range s.fields {
		switch lit, _ := f.literal(f.scalar); {
		case f.ref != nil && !f.isArray() && !f.pointer():
			w.p("m.%s.Default()", f.Name)
		case f.ref == nil && lit != "":
			w.p("m.%s = %s", f.Name, lit)
		}
	}
	w.p("}\n")
	if s.maker {
		w.p("// New%s makes one with every field at its default.", s.name)
		w.p("func New%s() (m %s) {\nm.Default()\nreturn m\n}\n", s.name, s.name)
	}
	if !s.comparable {
		return
	}
	w.p("func (m *%s) isDefault() bool {", s.name)
	conds := []string{}
	for _, f := range s.fields {
		conds = append(conds, "!("+f.notDefault()+")")
	}
	if len(conds) == 0 {
		conds = []string{"true"}
	}
	w.p("return %s\n}\n", strings.Join(conds, " &&\n"))
}

// notDefault is the Go condition for the field to differ from its default.
func (f *goField) notDefault() string {
	x := "m." + f.Name
	lit, _ := f.literal(f.scalar)
	switch {
	case f.isNullDefault() || f.pointer():
		return x + " != nil"
	case f.isArray() || f.ref == nil && f.scalar.goType == "[]byte":
		return "len(" + x + ") > 0"
	case f.ref != nil:
		return "!" + x + ".isDefault()"
	case f.scalar.goType == "bool":
		if lit == "true" {
			return "!" + x
		}
		return x
	case f.scalar.goType == "[16]byte":
		return x + " != " + f.scalar.spelled() + "{}"
	case f.scalar.goType == "string" && lit == "":
		return x + ` != ""`
	case lit == "":
		return x + " != 0"
	default:
		return x + " != " + lit
	}
}
