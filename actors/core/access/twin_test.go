package access

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// list is the dumb judge: it looks at every binding there is.
type list []Binding

func (l list) allowed(s Settings, who Principal, host string, op Operation, t ResourceType, name string) bool {
	allowed, spoken := false, false
	for _, b := range l {
		if !b.Pattern.Matches(t, name) {
			continue
		}
		spoken = true
		if b.Principal != who && b.Principal != Everybody || b.Host != host && b.Host != Wildcard || !b.covers(op) {
			continue
		}
		if b.Permission == Deny {
			return false
		}
		allowed = true
	}
	return allowed || !spoken && s.OpenUnlessNamed
}

// byType follows the definition of Kafka's authorizeByResourceType.
func (l list) byType(s Settings, who Principal, host string, op Operation, t ResourceType) bool {
	if l.allowed(s, who, host, op, t, "hardcode") {
		return true
	}
	var allows []Pattern
	denies := map[Pattern]bool{}
	for _, b := range l {
		if b.Pattern.Type != t || b.Principal != who && b.Principal != Everybody || b.Host != host && b.Host != Wildcard || b.Operation != op && b.Operation != All {
			continue
		}
		if b.Permission == Deny {
			denies[b.Pattern] = true
		} else {
			allows = append(allows, b.Pattern)
		}
	}
	if denies[Pattern{t, Wildcard, Literal}] {
		return false
	}
	return slices.ContainsFunc(allows, func(p Pattern) bool {
		if p.Kind == Literal && p.Name == Wildcard {
			return true
		}
		for d := range denies {
			if d == p && p.Kind == Literal || d.Kind == Prefixed && strings.HasPrefix(p.Name, d.Name) {
				return false
			}
		}
		return true
	})
}

func randomName(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(5) {
		b.WriteByte("ab-"[r.IntN(3)])
	}
	return b.String()
}

func randomBinding(r *rand.Rand) Binding {
	b := Binding{Pattern: Pattern{Type: Topic + ResourceType(r.IntN(2)), Name: randomName(r), Kind: Literal + PatternType(r.IntN(2))},
		Principal: UserNamed(fmt.Sprint(r.IntN(2))), Host: fmt.Sprint("10.0.0.", r.IntN(2)), Operation: All + Operation(r.IntN(4)), Permission: Deny + Permission(min(1, r.IntN(5)))}
	if r.IntN(6) == 0 {
		b.Pattern.Name = Wildcard
	}
	if r.IntN(3) == 0 {
		b.Host = Wildcard
	}
	if r.IntN(6) == 0 {
		b.Principal = Everybody
	}
	return b
}

// TestRulesJudgeAsTheListOfTheirBindings, after any changes, which leave the rules before them alone.
func TestRulesJudgeAsTheListOfTheirBindings(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		settings := Settings{On: true, OpenUnlessNamed: r.IntN(2) == 0}
		var l list
		rules := Rules{}
		for range 12 {
			var added, removed []Binding
			for range r.IntN(4) {
				added = append(added, randomBinding(r))
			}
			for range min(len(l), r.IntN(3)) {
				removed = append(removed, l[r.IntN(len(l))])
			}
			before, were := rules, slices.Clone(l)
			rules = rules.Changed(added, removed)
			l = slices.DeleteFunc(l, func(b Binding) bool { return slices.Contains(removed, b) })
			for _, b := range added {
				if !slices.Contains(l, b) {
					l = append(l, b)
				}
			}
			if !before.Equal(NewRules(were)) {
				t.Fatalf("seed %d: a change changed the rules it started from", seed)
			}
			if !rules.Equal(NewRules(l)) || !NewRules(l).Equal(rules) || rules.Len() != len(l) {
				t.Fatalf("seed %d: %d rules of\n%+v", seed, rules.Len(), l)
			}
			for range 60 {
				who, host, op, kind, name := UserNamed(fmt.Sprint(r.IntN(2))), fmt.Sprint("10.0.0.", r.IntN(2)), Read+Operation(r.IntN(3)), Topic+ResourceType(r.IntN(2)), randomName(r)
				if got, want := rules.Allowed(settings, who, host, op, kind, name), l.allowed(settings, who, host, op, kind, name); got != want {
					t.Fatalf("seed %d: %s from %s may do %d with %d %q: %v, want %v by\n%+v", seed, who, host, op, kind, name, got, want, l)
				}
				if got, want := rules.AllowedByType(settings, who, host, op, kind), l.byType(settings, who, host, op, kind); got != want {
					t.Fatalf("seed %d: %s from %s may do %d with some %d: %v, want %v by\n%+v", seed, who, host, op, kind, got, want, l)
				}
			}
		}
	}
}

// TestAJudgementIsQuickAmongManyRules: it is asked for every partition of every request.
func TestAJudgementIsQuickAmongManyRules(t *testing.T) {
	var l []Binding
	for i := range 20_000 {
		l = append(l, topicACL(fmt.Sprint("team-", i, "."), Literal+PatternType(i%2), UserNamed(fmt.Sprint(i)), Wildcard, Write, Allow))
	}
	rules, on := NewRules(l), Settings{On: true}
	if !rules.Allowed(on, UserNamed("19999"), "h", Write, Topic, "team-19999.orders") || rules.Allowed(on, UserNamed("19999"), "h", Write, Topic, "team-19998.orders") {
		t.Fatal("judged wrongly")
	}
	if n := testing.AllocsPerRun(100, func() { rules.Allowed(on, asker, "h", Write, Topic, "team-19999.orders") }); n != 0 {
		t.Errorf("a judgement allocates %v times", n)
	}
}

const asker = Principal("User:19999")

func BenchmarkAllowed(b *testing.B) {
	for _, n := range []int{10, 1_000, 20_000} {
		var l []Binding
		for i := range n {
			l = append(l, topicACL(fmt.Sprint("team-", i, "."), Literal+PatternType(i%2), UserNamed(fmt.Sprint(i)), Wildcard, Write, Allow))
		}
		rules, on := NewRules(l), Settings{On: true}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				rules.Allowed(on, asker, "h", Write, Topic, "team-9.orders")
			}
		})
		b.Run(fmt.Sprint("change-", n), func(b *testing.B) {
			for b.Loop() {
				rules.With(topicACL("new", Literal, Everybody, Wildcard, Read, Allow))
			}
		})
	}
}
