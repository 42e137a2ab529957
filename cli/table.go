package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// screen is how many characters a line of a table may have: what an operator's terminal shows without a break.
const screen = 100

// narrowest is what a name is cut to, so that its end still tells topics apart.
const narrowest = 12

// table prints rows in columns as wide as their content, up to a limit; longer names keep their end,
// because that is where topics differ. A table that is wider than the screen first puts its last column, the text,
// below each row, then cuts its names, then leaves spare columns out and says which; --json has everything.
type table struct {
	heads  []string
	limits []int // 0: as wide as needed
	names  []int // columns that may be cut
	spare  []int // columns that may be left out, the first one first
	texts  int   // how many of the last columns go below the row; 0: one
	rows   [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) print(w io.Writer) {
	l := t.layout()
	for i, row := range append([][]string{t.heads}, t.rows...) {
		var line strings.Builder
		for _, c := range l.columns {
			cell := shorten(t.cut(c, row[c]), l.widths[c])
			line.WriteString(cell)
			line.WriteString(strings.Repeat(" ", l.widths[c]-utf8.RuneCountInString(cell)+1))
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
		if l.below && i > 0 {
			for _, text := range row[len(row)-max(t.texts, 1):] {
				for _, part := range wrap(printable(text), screen-4) {
					fmt.Fprintln(w, "    "+part)
				}
			}
		}
	}
	if len(l.left) > 0 {
		fmt.Fprintf(w, "(too narrow for %s: --json has them)\n", strings.Join(l.left, ", "))
	}
}

// layout is which columns are shown how wide, and whether the last one goes below.
type layout struct {
	columns []int
	widths  []int
	below   bool
	left    []string
}

func (t *table) layout() layout {
	l := layout{widths: make([]int, len(t.heads))}
	for i := range t.heads {
		l.columns = append(l.columns, i)
	}
	for _, row := range append([][]string{t.heads}, t.rows...) {
		for i, cell := range row {
			l.widths[i] = max(l.widths[i], utf8.RuneCountInString(t.cut(i, cell)))
		}
	}
	if l.total() > screen && len(t.heads) > 1 {
		l.below = true
		l.columns = l.columns[:len(l.columns)-max(t.texts, 1)]
	}
	for l.total() > screen {
		widest := -1
		for _, i := range t.names {
			if l.widths[i] > narrowest && (widest < 0 || l.widths[i] > l.widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		l.widths[widest]--
	}
	for _, i := range t.spare {
		if l.total() > screen {
			l.columns = slices.DeleteFunc(l.columns, func(c int) bool { return c == i })
			l.left = append(l.left, t.heads[i])
		}
	}
	return l
}

func (l *layout) total() int {
	n := -1
	for _, i := range l.columns {
		n += l.widths[i] + 1
	}
	return n
}

func (t *table) cut(column int, cell string) string {
	cell = printable(cell)
	if column < len(t.limits) && t.limits[column] > 0 {
		return shorten(cell, t.limits[column])
	}
	return cell
}

// shorten keeps the end of what is longer than width.
func shorten(cell string, width int) string {
	runes := []rune(cell)
	if len(runes) <= width {
		return cell
	}
	return "..." + string(runes[len(runes)-width+3:])
}

// wrap breaks a text at spaces into lines of at most width characters. A longer word stays whole: a path that is broken
// cannot be copied.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// printable keeps a name or a client id from moving the cursor, turning the direction of the line or faking one.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
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
