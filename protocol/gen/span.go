package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// span is a range of versions, both ends inclusive. The zero span is empty.
type span struct {
	lo, hi int
	some   bool
}

const forever = math.MaxInt16

func parseSpan(s string) (span, error) {
	if s == "" || s == "none" {
		return span{}, nil
	}
	lo, hi, ranged := strings.Cut(s, "-")
	if open, ok := strings.CutSuffix(s, "+"); ok {
		lo, hi, ranged = open, strconv.Itoa(forever), true
	}
	a, err := strconv.Atoi(lo)
	b := a
	if err == nil && ranged {
		b, err = strconv.Atoi(hi)
	}
	if err != nil || a < 0 || b < a {
		return span{}, fmt.Errorf("%q is not a range of versions: want 3, 1-4, 2+ or none", s)
	}
	return span{a, b, true}, nil
}

func (s span) empty() bool { return !s.some }

func (s span) covers(o span) bool { return o.empty() || s.some && s.lo <= o.lo && o.hi <= s.hi }

func (s span) meet(o span) span {
	m := span{max(s.lo, o.lo), min(s.hi, o.hi), s.some && o.some}
	if !m.some || m.lo > m.hi {
		return span{}
	}
	return m
}

// cond is the Go condition for version being in s, given that it is in context; "" when always true.
func (s span) cond(context span) string {
	in := s.meet(context)
	switch {
	case in.empty():
		return "false"
	case in.lo <= context.lo && in.hi >= context.hi:
		return ""
	case in.lo <= context.lo:
		return fmt.Sprintf("version <= %d", in.hi)
	case in.hi >= context.hi:
		return fmt.Sprintf("version >= %d", in.lo)
	case in.lo == in.hi:
		return fmt.Sprintf("version == %d", in.lo)
	default:
		return fmt.Sprintf("version >= %d && version <= %d", in.lo, in.hi)
	}
}

// not is the Go condition for version being outside s.
func (s span) not(context span) string {
	switch c := s.cond(context); c {
	case "":
		return "false"
	case "false":
		return ""
	default:
		return "!(" + c + ")"
	}
}
