package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// schema is one message in Kafka's schema language, or one of our additions to it: "event" and
// "snapshot" for journals, "bus" for NATS, and "struct" for a structure that several messages of one
// package share.
type schema struct {
	Type                  string   `json:"type"`
	APIKey                *int16   `json:"apiKey"`
	ID                    *int16   `json:"id"`
	Name                  string   `json:"name"`
	ValidVersions         string   `json:"validVersions"`
	FlexibleVersions      string   `json:"flexibleVersions"`
	LatestVersionUnstable bool     `json:"latestVersionUnstable"`
	Listeners             []string `json:"listeners"`
	About                 string   `json:"about"`
	Fields                []*field `json:"fields"`
	CommonStructs         []*group `json:"commonStructs"`

	file            string
	valid, flexible span
}

// group is an entry of commonStructs.
type group struct {
	Name     string   `json:"name"`
	Versions string   `json:"versions"`
	About    string   `json:"about"`
	Fields   []*field `json:"fields"`
}

type field struct {
	Name             string   `json:"name"`
	Type             string   `json:"type"`
	Versions         string   `json:"versions"`
	NullableVersions string   `json:"nullableVersions"`
	TaggedVersions   string   `json:"taggedVersions"`
	FlexibleVersions string   `json:"flexibleVersions"`
	Tag              *uint32  `json:"tag"`
	Default          any      `json:"default"`
	Ignorable        bool     `json:"ignorable"`
	MapKey           bool     `json:"mapKey"`
	ZeroCopy         bool     `json:"zeroCopy"`
	About            string   `json:"about"`
	EntityType       string   `json:"entityType"`
	Fields           []*field `json:"fields"`

	versions, nullable, tagged span
	plainString                bool // flexibleVersions "none": the field keeps the old form
}

var comment = regexp.MustCompile(`(?m)^\s*//.*$`)

// load reads one schema file: a message, or an array of messages.
func load(path string) ([]*schema, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	raw = comment.ReplaceAll(raw, nil)
	var list []*schema
	if trimmed := bytes.TrimSpace(raw); len(trimmed) > 0 && trimmed[0] != '[' {
		var one *schema
		if err := strict(raw, &one); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		list = []*schema{one}
	} else if err := strict(raw, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, s := range list {
		s.file = path
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("%s: %s %q: %w", path, s.Type, s.Name, err)
		}
	}
	return list, nil
}

func strict(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil && d.More() {
		err = fmt.Errorf("something follows the JSON value")
	}
	if err != nil {
		return fmt.Errorf("line %d: %w", 1+bytes.Count(raw[:d.InputOffset()], []byte("\n")), err)
	}
	return nil
}

var goName = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

func (s *schema) check() (err error) {
	switch s.Type {
	case "event", "bus":
		if s.ID == nil {
			return fmt.Errorf("an id is required")
		}
	case "snapshot", "struct", "data":
	case "request", "response", "metadata", "coordinator-key", "coordinator-value":
		if s.APIKey == nil {
			return fmt.Errorf("an apiKey is required")
		}
	default:
		return fmt.Errorf("unknown type; want event, snapshot, struct, bus, metadata, coordinator-key, coordinator-value, data, request or response")
	}
	if !goName.MatchString(s.Name) {
		return fmt.Errorf("the name must be a Go identifier that begins with a capital letter")
	}
	if s.Type == "struct" && s.ValidVersions == "" {
		s.ValidVersions = "0+"
	}
	if s.valid, err = parseSpan(s.ValidVersions); err != nil || s.valid.empty() {
		return fmt.Errorf("validVersions %q: want a number or a range like 0-3", s.ValidVersions)
	}
	if s.Type != "struct" && s.valid.hi == forever {
		return fmt.Errorf("validVersions %q must have an end", s.ValidVersions)
	}
	if s.FlexibleVersions == "" {
		s.FlexibleVersions = "0+"
	}
	if s.flexible, err = parseSpan(s.FlexibleVersions); err != nil {
		return fmt.Errorf("flexibleVersions: %w", err)
	}
	if (s.Type == "event" || s.Type == "bus" || s.Type == "snapshot") && !s.flexible.covers(s.valid) {
		return fmt.Errorf("flexibleVersions %q: every version of an event, snapshot or bus message is flexible", s.FlexibleVersions)
	}
	for _, g := range s.CommonStructs {
		if err := checkFields(g.Fields, s.flexible); err != nil {
			return fmt.Errorf("struct %s.%w", g.Name, err)
		}
	}
	return checkFields(s.Fields, s.flexible)
}

func checkFields(fields []*field, flexible span) error {
	seen, tags := map[string]bool{}, map[uint32]bool{}
	for _, f := range fields {
		if err := f.check(flexible); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		if seen[f.Name] {
			return fmt.Errorf("%s: named twice", f.Name)
		}
		seen[f.Name] = true
		if f.Tag != nil {
			if tags[*f.Tag] {
				return fmt.Errorf("%s: tag %d is used twice", f.Name, *f.Tag)
			}
			tags[*f.Tag] = true
		}
		if len(f.Fields) > 0 {
			if err := checkFields(f.Fields, flexible); err != nil {
				return fmt.Errorf("%s.%w", f.Name, err)
			}
		}
	}
	return nil
}

func (f *field) check(flexible span) (err error) {
	if !goName.MatchString(f.Name) {
		return fmt.Errorf("the name must be a Go identifier that begins with a capital letter")
	}
	if f.Type == "" {
		return fmt.Errorf("a type is required")
	}
	if f.Versions == "" {
		f.Versions = "0+"
	}
	if f.versions, err = parseSpan(f.Versions); err != nil {
		return fmt.Errorf("versions: %w", err)
	}
	if f.nullable, err = parseSpan(f.NullableVersions); err != nil {
		return fmt.Errorf("nullableVersions: %w", err)
	}
	if f.tagged, err = parseSpan(f.TaggedVersions); err != nil {
		return fmt.Errorf("taggedVersions: %w", err)
	}
	if (f.Tag != nil) != !f.tagged.empty() {
		return fmt.Errorf("tag and taggedVersions go together")
	}
	if !f.tagged.empty() && !flexible.covers(f.tagged) {
		return fmt.Errorf("taggedVersions %q are not all flexible", f.TaggedVersions)
	}
	if f.FlexibleVersions != "" && f.FlexibleVersions != "none" {
		return fmt.Errorf("flexibleVersions of a field is \"none\" or absent")
	}
	f.plainString = f.FlexibleVersions == "none"
	if !f.nullable.empty() && !f.canBeNull() {
		return fmt.Errorf("type %s cannot be null", f.Type)
	}
	if f.isNullDefault() && f.nullable.empty() {
		return fmt.Errorf("default null needs nullableVersions")
	}
	if !f.nullable.empty() && !f.tagged.empty() && !f.isNullDefault() {
		return fmt.Errorf("a tagged field that may be null needs default null")
	}
	return nil
}

func (f *field) isArray() bool { return strings.HasPrefix(f.Type, "[]") }

func (f *field) elem() string { return strings.TrimPrefix(f.Type, "[]") }

func (f *field) canBeNull() bool {
	_, prim := primitives[f.Type]
	return f.isArray() || !prim || f.Type == "string" || f.Type == "bytes" || f.Type == "records"
}

func (f *field) isNullDefault() bool { return f.Default == "null" }
