package main

import (
	"strings"
	"testing"
)

func TestTableKeepsTheEndOfLongNamesAndEscapesControlCharacters(t *testing.T) {
	tb := table{heads: []string{"TOPIC", "LAG"}, limits: []int{10}}
	tb.add("orders-europe-west", "12")
	tb.add("a\x1b[31mb\n", "-")
	var out strings.Builder
	tb.print(&out)
	want := "TOPIC      LAG\n...pe-west 12\na?[31mb?   -\n"
	if out.String() != want {
		t.Errorf("got\n%q\nwant\n%q", out.String(), want)
	}
}

// What does not fit is left out by name, never silently.
func TestATableSaysWhatItLeavesOut(t *testing.T) {
	tb := table{heads: []string{"NAME", "A", "B", "WHY"}, names: []int{0}, spare: []int{2}}
	tb.add(strings.Repeat("n", 60), strings.Repeat("a", 60), strings.Repeat("b", 60), "because")
	var out strings.Builder
	tb.print(&out)
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[1], "...nnnnnnnnn aaa") || lines[2] != "    because" || lines[3] != "(too narrow for B: --json has them)" {
		t.Errorf("%q", lines)
	}
}

func TestLongTextsAreWrappedAtSpaces(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "",
		"one two":             "one two",
		"one two three":       "one two/three",
		"abcdefghijklmnop qr": "abcdefghijklmnop/qr",
		"\u00e4\u00f6\u00fc\u00e4 \u00f6\u00fc\u00e4\u00f6\u00fc x": "\u00e4\u00f6\u00fc\u00e4 \u00f6\u00fc\u00e4\u00f6\u00fc/x",
	} {
		if got := strings.Join(wrap(text, 10), "/"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestNamesCannotMoveTheCursorOrTurnTheLine(t *testing.T) {
	if got := printable("a\x1b[2Jb\u009bc\u202ed\u00e4 e"); got != "a?[2Jb?c?d\u00e4 e" {
		t.Errorf("%q", got)
	}
}
