package main

import "fmt"

// primitive says how a scalar is spelled in Go and read and written by package wire.
type primitive struct {
	goType  string
	wire    string // suffix of wire.Append… and Reader.…
	size    int    // smallest encoded size at any version
	lengthy bool   // takes the flexible flag
}

var primitives = map[string]primitive{
	"bool":    {"bool", "Bool", 1, false},
	"int8":    {"int8", "Int8", 1, false},
	"int16":   {"int16", "Int16", 2, false},
	"uint16":  {"uint16", "Uint16", 2, false},
	"int32":   {"int32", "Int32", 4, false},
	"uint32":  {"uint32", "Uint32", 4, false},
	"int64":   {"int64", "Int64", 8, false},
	"float64": {"float64", "Float64", 8, false},
	"uuid":    {"[16]byte", "UUID", 16, false},
	"string":  {"string", "String", 1, true},
	"bytes":   {"[]byte", "Bytes", 1, true},
	"records": {"[]byte", "Records", 1, true},
}

// entity maps the meaning of a field to the type cores use for it.
type entity struct{ base, goType string }

var entities = map[string]entity{
	"offset":            {"int64", "core.Offset"},
	"leaderEpoch":       {"int32", "core.LeaderEpoch"},
	"brokerId":          {"int32", "core.ReplicaID"},
	"topicId":           {"uuid", "core.TopicID"},
	"clusterId":         {"string", "core.ClusterID"},
	"mirrorName":        {"string", "core.MirrorName"},
	"registrationEpoch": {"int64", "core.RegistrationEpoch"},
	"generation":        {"int64", "core.Generation"},
	"releaseNumber":     {"int64", "core.ReleaseNumber"},
	"era":               {"int64", "core.Era"},
	"mirrorTerm":        {"int64", "core.MirrorTerm"},
	"mirrorSession":     {"int64", "core.MirrorSession"},
	"incarnation":       {"uuid", "core.Incarnation"},
	"secret":            {"bytes", "core.Secret"},
}

// plainEntities have a meaning in Kafka's schemas but no type of ours.
var plainEntities = map[string]bool{"": true, "topicName": true, "groupId": true, "transactionalId": true, "producerId": true}

// scalar is the Go spelling of one non-array, non-struct value of field f.
type scalar struct {
	primitive
	cast string // named type, "" when it is the primitive's own
}

func (p *pkg) scalar(f *field) (s scalar, ok bool, err error) {
	prim, ok := primitives[f.elem()]
	if !ok {
		return s, false, nil
	}
	s = scalar{primitive: prim}
	e, known := entities[f.EntityType]
	switch {
	case known && e.base != f.elem():
		return s, true, fmt.Errorf("entityType %s is a %s, not a %s", f.EntityType, e.base, f.elem())
	case known && p.coreTypes:
		s.cast = e.goType
		p.usesCore = true
	case !known && !plainEntities[f.EntityType]:
		return s, true, fmt.Errorf("unknown entityType %q", f.EntityType)
	}
	return s, true, nil
}

func (s scalar) spelled() string {
	if s.cast != "" {
		return s.cast
	}
	return s.goType
}

func (s scalar) toWire(expr string) string {
	if s.cast == "" {
		return expr
	}
	return s.goType + "(" + expr + ")"
}

func (s scalar) fromWire(expr string) string {
	if s.cast == "" {
		return expr
	}
	return s.cast + "(" + expr + ")"
}
