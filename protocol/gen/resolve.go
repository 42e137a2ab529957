package main

import (
	"cmp"
	"fmt"
	"strconv"
)

// pkg collects the Go structures of one generated file.
type pkg struct {
	coreTypes bool // entityType chooses types of actors/core
	usesCore  bool
	structs   []*goStruct
	byName    map[string]*goStruct
}

type goStruct struct {
	name     string
	about    string
	fields   []*goField
	context  span // versions in which it appears
	flexible span // of the message it was made for, for the smallest size
	top      bool // carries a Version field
	maker    bool // has a New function, as kmsg's types do
	element  bool // some array has it as its element
	// line is set for structures with a line of versions of their own, which others may embed: they are then
	// written in their newest version.
	line    bool
	version int
	// comparable is set when something asks whether it equals its default: it is sent as a tagged
	// field that is not a pointer, or is a part of one that is.
	comparable bool
}

type goField struct {
	*field
	ref    *goStruct // nil for scalars
	scalar scalar
}

func newPkg(coreTypes bool, shared ...*goStruct) *pkg {
	p := &pkg{coreTypes: coreTypes, byName: map[string]*goStruct{}}
	for _, s := range shared {
		p.byName[s.name] = s
	}
	return p
}

// add turns a message into Go structures: its common structs first, then itself with nested ones.
func (p *pkg) add(s *schema) (*goStruct, error) {
	local := map[string]*goStruct{}
	for _, g := range s.CommonStructs {
		span, err := parseSpan(g.Versions)
		if err != nil {
			return nil, err
		}
		if span.empty() {
			span = s.valid
		}
		made, err := p.structOf(s, s.Name+g.Name, g.About, g.Fields, s.valid.meet(span), local)
		if err != nil {
			return nil, err
		}
		local[g.Name] = made
	}
	return p.structOf(s, s.Name, s.About, s.Fields, s.valid, local)
}

func (p *pkg) structOf(s *schema, name, about string, fields []*field, context span, local map[string]*goStruct) (*goStruct, error) {
	if p.byName[name] != nil {
		return nil, fmt.Errorf("struct %s is made twice", name)
	}
	out := &goStruct{name: name, about: about, context: context, flexible: s.flexible, maker: !p.coreTypes}
	p.byName[name] = out
	for _, f := range fields {
		made, err := p.fieldOf(s, f, context, local)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", name, f.Name, err)
		}
		out.fields = append(out.fields, made)
	}
	p.structs = append(p.structs, out)
	return out, nil
}

func (p *pkg) fieldOf(s *schema, f *field, context span, local map[string]*goStruct) (*goField, error) {
	out := &goField{field: f}
	if f.versions.meet(context).empty() {
		return nil, fmt.Errorf("versions %q never meet those of the message", f.Versions)
	}
	sc, isScalar, err := p.scalar(f)
	if err != nil {
		return nil, err
	}
	switch known := p.byName[f.elem()]; {
	case isScalar:
		out.scalar = sc
		if len(f.Fields) > 0 {
			return nil, fmt.Errorf("type %s has no fields", f.Type)
		}
		if lit, err := f.literal(sc); err != nil || lit != "" && out.pointer() {
			return nil, cmp.Or(err, fmt.Errorf("the default of a string that may be null is null"))
		}
		return out, nil
	case len(f.Fields) > 0:
		out.ref, err = p.structOf(s, s.Name+f.elem(), f.About, f.Fields, f.versions.meet(context), local)
	case local[f.elem()] != nil:
		out.ref = local[f.elem()]
	case known != nil:
		out.ref = known
	default:
		return nil, fmt.Errorf("unknown type %s: not a primitive, no fields, no commonStructs or struct of that name", f.Type)
	}
	if err == nil && out.isArray() {
		out.ref.element = true
	}
	if err == nil && !f.tagged.empty() && !out.isArray() && !out.pointer() {
		out.ref.compare()
	}
	return out, err
}

func (s *goStruct) compare() {
	s.comparable = true
	for _, f := range s.fields {
		if f.ref != nil && !f.isArray() && !f.pointer() {
			f.ref.compare()
		}
	}
}

// literal is the Go literal of the default value, "" when it is Go's zero value.
func (f *field) literal(s scalar) (string, error) {
	if f.isArray() || f.Default == nil || f.isNullDefault() {
		return "", nil
	}
	text := fmt.Sprint(f.Default)
	switch s.goType {
	case "string":
		if text == "" {
			return "", nil
		}
		return fmt.Sprintf("%q", text), nil
	case "bool":
		switch text {
		case "true":
			return "true", nil
		case "false":
			return "", nil
		}
	case "[]byte", "[16]byte":
	default:
		v, err := parseNumber(text, s.goType)
		if err == nil {
			return v, nil
		}
	}
	return "", fmt.Errorf("default %q does not fit type %s", text, f.Type)
}

func (g *goField) goType() string {
	elem := ""
	switch {
	case g.ref != nil:
		elem = g.ref.name
	default:
		elem = g.scalar.spelled()
	}
	switch {
	case g.isArray():
		return "[]" + elem
	case !g.nullable.empty() && (g.ref != nil || g.scalar.goType == "string"):
		return "*" + elem
	default:
		return elem
	}
}

// pointer reports whether null is a nil pointer.
func (g *goField) pointer() bool { return g.goType()[0] == '*' }

// least is the smallest number of bytes one value of the structure takes in every version, and what it
// takes more in some.
func (s *goStruct) least() (always int, more []leastMore) {
	for _, f := range s.fields {
		if !f.tagged.meet(s.context).empty() {
			continue
		}
		n := f.leastField()
		if cond := f.versions.cond(s.context); cond != "" {
			more = append(more, leastMore{cond, n})
		} else {
			always += n
		}
	}
	switch {
	case s.flexible.covers(s.context):
		always++
	case !s.flexible.meet(s.context).empty():
		more = append(more, leastMore{"flexible", 1})
	}
	return always, more
}

type leastMore struct {
	cond  string
	bytes int
}

func (g *goField) leastField() int {
	switch {
	case g.isArray(), !g.nullable.empty():
		return 1
	case g.ref != nil:
		n, _ := g.ref.least()
		return n
	default:
		return g.scalar.size
	}
}

// leastElem is the Go expression for the smallest number of bytes one element takes in the version at hand.
func (g *goField) leastElem() string {
	if g.ref == nil {
		return strconv.Itoa(g.scalar.size)
	}
	if always, more := g.ref.least(); len(more) == 0 {
		return strconv.Itoa(max(1, always))
	}
	return fmt.Sprintf("new(%s).least(version, flexible)", g.ref.name)
}
