package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table prints rows in columns as wide as their content, up to a limit; longer names keep their end,
// because that is where topics differ.
type table struct {
	heads  []string
	limits []int // 0: as wide as needed
	rows   [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) print(w io.Writer) {
	widths := make([]int, len(t.heads))
	for _, row := range append([][]string{t.heads}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(t.cut(i, cell)))
		}
	}
	for _, row := range append([][]string{t.heads}, t.rows...) {
		var line strings.Builder
		for i, cell := range row {
			cell = t.cut(i, cell)
			line.WriteString(cell)
			line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+1))
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

func (t *table) cut(column int, cell string) string {
	cell = printable(cell)
	limit := 0
	if column < len(t.limits) {
		limit = t.limits[column]
	}
	runes := []rune(cell)
	if limit == 0 || len(runes) <= limit {
		return cell
	}
	return "..." + string(runes[len(runes)-limit+3:])
}

// printable keeps a name or a client id from moving the cursor or faking a line.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
}

func printJSON(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	if err := out.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
