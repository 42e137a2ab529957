package pattern

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"lockstep/testkit/decoding"
)

func TestPatternsMatchWholeNames(t *testing.T) {
	re, err := Compile("orders|pay.*s")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"orders": true, "payments": true, "orders2": false, "my.orders": false, "orders\n": false} {
		if re.MatchString(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
	for _, bad := range []string{"(", "a)(b", "a{1001}", "(?=a)"} {
		if _, err := Compile(bad); err == nil {
			t.Errorf("%q compiles", bad)
		}
	}
}

// 3600 bytes were compiled for half a second and matched with one name for six, on the goroutine of a shard of groups.
func TestAPatternCostsWhatItsBytesSay(t *testing.T) {
	for _, text := range []string{strings.Repeat("(?:.?){1000}", 300), "(?:a{40}){25}(?:b{40}){25}(?:c{40}){25}", "(?:(?:x{10}y){10}z){10}{10}", strings.Repeat("a|", MaxSteps)} {
		began := time.Now()
		if _, err := Compile(text); err == nil {
			t.Errorf("%.40q is taken", text)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("%.40q: refused after %v", text, took)
		}
	}
	for _, text := range []string{"orders.*", "x{1000}", strings.Repeat("payments-eu|", 100) + "z"} {
		if _, err := Compile(text); err != nil {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

// Clients write patterns: whatever they say, it is refused or costs what is bounded, and matches names as a whole.
func FuzzCompile(f *testing.F) {
	for _, text := range []string{"orders.*", "a|b", "(?i)x{10}", "(?:.?){1000}", "[[:alpha:]]+\\d", "\\Qa.b\\E", "a)(b", "(a*)*"} {
		f.Add(text, "orders")
	}
	bound := decoding.Bound{PerByte: 4 << 10, Spare: 4 << 20}
	f.Fuzz(func(t *testing.T, text, name string) {
		var re *regexp.Regexp
		var err error
		bound.Check(t, min(len(text), MaxSteps), func() { re, err = Compile(text) })
		if err != nil {
			return
		}
		bound.Check(t, len(name), func() {
			if at := re.FindStringIndex(name); at != nil && (at[0] != 0 || at[1] != len(name)) {
				t.Fatalf("%q matches %v of %q", text, at, name)
			}
		})
	})
}
