// Package properties turns Kafka's client properties into what a client of ours needs: one that is raw, or kgo. Secrets may
// be named instead of written, as Kafka's config providers do (KIP-297, KIP-421), and are then looked up at each use.
package properties

import (
	"fmt"
	"strconv"
	"strings"
)

// Parse reads Java properties as far as Kafka's files use them: key=value or key: value, # and ! comments, backslashes
// that join lines or escape, nothing else. Errors name a line and never show it: it may hold a secret.
func Parse(text string) (map[string]string, error) {
	out := map[string]string{}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		at := i + 1
		line := strings.TrimSpace(lines[i])
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for continues(line) {
			line = line[:len(line)-1]
			if i++; i == len(lines) {
				break
			}
			line += strings.TrimSpace(lines[i])
		}
		end := separator(line)
		if end < 0 {
			return nil, fmt.Errorf("line %d is not key=value; a value goes on in the next line behind a \\", at)
		}
		name, err := unescape(strings.TrimSpace(line[:end]))
		if err != nil || name == "" {
			return nil, fmt.Errorf("line %d has no name before its %c", at, line[end])
		}
		value, err := unescape(strings.TrimSpace(line[end+1:]))
		if err != nil {
			return nil, fmt.Errorf("line %d, %s: %w", at, name, err)
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("line %d sets %s a second time", at, name)
		}
		out[name] = value
	}
	return out, nil
}

// continues: an odd number of backslashes ends the line, else the last one is escaped itself.
func continues(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

func separator(line string) int {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '=', ':':
			return i
		}
	}
	return -1
}

func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			if len(s) < i+5 {
				return "", fmt.Errorf(`a \u without four hexadecimal digits; write \\ for a backslash`)
			}
			r, err := strconv.ParseUint(s[i+1:i+5], 16, 16)
			if err != nil {
				return "", fmt.Errorf(`a \u without four hexadecimal digits; write \\ for a backslash`)
			}
			b.WriteRune(rune(r))
			i += 4
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), nil
}
