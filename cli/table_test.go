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
