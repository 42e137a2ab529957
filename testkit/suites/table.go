package suites

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const preamble = `# Public client suites

Written by ` + "`go run ./testkit suites --write`" + `, from the newest run of each suite (results.json). Each ran unchanged, against a
` + "`clusterd`" + ` and an Apache Kafka ` + kafkaVersion + ` (KRaft, one broker, for sarama five) that were started for it with the same settings.
*n/a* is what the suite skipped, and what needs something that neither cluster is at fault for.

`

// markdown is RESULTS.md.
func markdown(all []Suite, rs Results) string {
	var b strings.Builder
	b.WriteString(preamble)
	b.WriteString("| suite | release | clusterd: passed / failed / n/a | Kafka: passed / failed / n/a | s | commit | date | command |\n|---|---|---|---|---|---|---|---|\n")
	for _, s := range all {
		if s.NotRun != "" {
			fmt.Fprintf(&b, "| %s | %s | not run | not run | | | | |\n", s.Name, s.Release)
			continue
		}
		r, ok := rs.of(s.Name, clusterd)
		if !ok {
			fmt.Fprintf(&b, "| %s | %s | not run yet | %s | | | | |\n", s.Name, s.Release, numbers(rs, s.Name, apacheKafka))
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.0f | %s | %s | `%s` |\n", s.Name, r.Release, numbers(rs, s.Name, clusterd),
			numbers(rs, s.Name, apacheKafka), r.Seconds, r.Commit, r.Date, r.Command)
	}
	for _, s := range all {
		section(&b, s, rs)
	}
	return b.String()
}

func numbers(rs Results, suite, against string) string {
	r, ok := rs.of(suite, against)
	if !ok {
		return "not run yet"
	}
	p, f, n := r.count()
	text := fmt.Sprintf("%d / %d / %d", p, f, n)
	if r.Broken != "" {
		text += " (broken off)"
	}
	return text
}

// section lists what did not pass here, each with what became of it on Kafka and why.
func section(b *strings.Builder, s Suite, rs Results) {
	r, ok := rs.of(s.Name, clusterd)
	if s.NotRun != "" {
		fmt.Fprintf(b, "\n## %s\n\nNot run: %s\n", s.Name, s.NotRun)
		return
	}
	if !ok || len(r.Others) == 0 && r.Broken == "" {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n", s.Name)
	if r.Broken != "" {
		fmt.Fprintf(b, "Broken off: %s\n\n", cell(r.Broken))
	}
	b.WriteString("| test | here | on Kafka | why |\n|---|---|---|---|\n")
	for _, line := range grouped(r, rs) {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", strings.Join(line.tests, ", "), line.here, line.kafka, cell(line.why))
	}
}

type tableLine struct {
	tests            []string
	here, kafka, why string
}

// grouped puts tests with the same fate and reason on one line; failures come first.
func grouped(r Result, rs Results) (out []tableLine) {
	for _, c := range r.Others {
		reason := reasonOf(r.Suite, c.Name)
		here := string(c.Outcome)
		if c.Outcome == Skipped || reason.NotApplicable {
			here = "n/a"
		}
		why := cmp.Or(reason.Why, c.Text)
		l := tableLine{[]string{cell(c.Name)}, here, rs.onKafka(r.Suite, c.Name), why}
		at := slices.IndexFunc(out, func(o tableLine) bool { return o.here == l.here && o.kafka == l.kafka && o.why == l.why })
		if at >= 0 {
			out[at].tests = append(out[at].tests, l.tests...)
		} else {
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b tableLine) int { return cmp.Compare(a.here, b.here) })
	return out
}

func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;").Replace(text)
}
