package shell

import (
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

const (
	briefItems = 8    // of a list that a log line shows in full
	briefBytes = 2000 // of a line, whatever is in it
)

// brief is an event as a log line shows it: a long list is its length, because the one event of a start
// names every partition of the cluster, and the line must stay readable with thousands of them.
func brief(ev any) string {
	v := reflect.ValueOf(ev)
	if v.Kind() != reflect.Struct {
		return clip(fmt.Sprintf("%+v", ev))
	}
	var b strings.Builder
	b.WriteByte('{')
	for i := range v.NumField() {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(v.Type().Field(i).Name)
		b.WriteByte(':')
		f := v.Field(i)
		if k := f.Kind(); (k == reflect.Slice || k == reflect.Map) && f.Len() > briefItems {
			fmt.Fprintf(&b, "[%d items]", f.Len())
			continue
		}
		fmt.Fprintf(&b, "%+v", f)
	}
	b.WriteByte('}')
	return clip(b.String())
}

func clip(line string) string {
	if len(line) <= briefBytes {
		return line
	}
	end := briefBytes
	for !utf8.RuneStart(line[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes)", line[:end], len(line))
}
