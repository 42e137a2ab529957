package suites

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"lockstep/testkit/jvm"
)

// javaSuite are the command line tools of Kafka, one after the other on the same topics. Kafka's own tests of them start
// a cluster of their own, so what is here are their uses that its documentation shows, and what they must print.
func javaSuite() Suite {
	return Suite{
		Name: "java-tools", Release: "org.apache.kafka:kafka-tools " + kafkaVersion, From: "Maven", Minutes: 20,
		Needs:   Needs{Brokers: 3, Authorizer: true, Settings: map[string]string{"group.initial.rebalance.delay.ms": "0"}},
		Install: func(ctx context.Context, dir string) error { _, err := kafkaHome(ctx); return err },
		Run: func(ctx context.Context, site Site, report func(Case)) error {
			kafka, err := kafkaHome(ctx)
			if err != nil {
				return err
			}
			for _, use := range javaUses {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				report(use.play(ctx, kafka, site))
			}
			return nil
		},
	}
}

// use is one call of a tool. In its texts BROKERS stands for the bootstrap servers, REPLICAS for the replication factor,
// NODES for the number of brokers, ALL for their ids, and FILE for the path of its input.
type use struct {
	name  string
	class string // below org.apache.kafka.tools, or of kafka
	args  string
	input string   // of FILE, or of the standard input where no argument names it
	wants []string // texts that it must print
	never []string // texts that it must not print
	// refused is what it must print when it fails, as it must; "" for one that must not.
	refused string
	seen    func(output string) error
}

// patience with one tool.
const toolPatience = 4 * time.Minute

func (u use) play(ctx context.Context, kafka jvm.Home, site Site) Case {
	began := time.Now()
	ids := make([]string, len(site.Bootstrap))
	for i := range ids {
		ids[i] = fmt.Sprint(i + 1)
	}
	file := filepath.Join(site.Work, strings.ReplaceAll(u.name, " ", "-"))
	fill := strings.NewReplacer("BROKERS", strings.Join(site.Bootstrap, ","), "REPLICAS", fmt.Sprint(site.Replication()),
		"NODES", fmt.Sprint(len(ids)), "ALL", strings.Join(ids, ","), "FILE", file)
	args := strings.Fields(fill.Replace(u.args))
	if err := os.WriteFile(file, []byte(fill.Replace(u.input)), 0o644); err != nil {
		return Case{Name: u.name, Outcome: Failed, Text: err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, toolPatience)
	defer cancel()
	line := kafka.Args(u.main(), args...)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	if in, err := os.Open(file); err == nil {
		defer in.Close()
		cmd.Stdin = in
	}
	var said strings.Builder
	err := lines(cmd, site, func(line string) { said.WriteString(line + "\n") })
	if ctx.Err() != nil {
		err = fmt.Errorf("ended after %s", toolPatience)
	}
	c := Case{Name: u.name, Outcome: Passed, Seconds: time.Since(began).Seconds()}
	if wrong := u.judge(said.String(), fill, err); wrong != "" {
		c.Outcome, c.Text = Failed, short(wrong)
	}
	return c
}

// judge says what is wrong with what the tool printed, "" if nothing is.
func (u use) judge(said string, fill *strings.Replacer, err error) string {
	if u.refused != "" {
		if err == nil || !strings.Contains(said, u.refused) {
			return fmt.Sprintf("did not fail with %q: %s", u.refused, said)
		}
		return ""
	}
	if err != nil {
		return fmt.Sprintf("%v: %s", err, said)
	}
	for _, want := range u.wants {
		if !strings.Contains(said, fill.Replace(want)) {
			return fmt.Sprintf("did not print %q: %s", fill.Replace(want), said)
		}
	}
	for _, not := range append(u.never, "Exception") {
		if strings.Contains(said, not) {
			return fmt.Sprintf("printed %q: %s", not, said)
		}
	}
	if u.seen != nil {
		if err := u.seen(said); err != nil {
			return fmt.Sprintf("%v: %s", err, said)
		}
	}
	return ""
}

// offsetsSum checks that the last fields of lines like topic:partition:offset add up.
func offsetsSum(topic string, want int) func(string) error {
	return func(said string) error {
		sum := 0
		for line := range strings.Lines(said) {
			var offset int
			fields := strings.Split(strings.TrimSpace(line), ":")
			if len(fields) == 3 && fields[0] == topic {
				if _, err := fmt.Sscan(fields[2], &offset); err != nil {
					return err
				}
				sum += offset
			}
		}
		if sum != want {
			return fmt.Errorf("offsets of %s add up to %d, not %d", topic, sum, want)
		}
		return nil
	}
}

func (u use) main() string {
	if strings.HasPrefix(u.class, "kafka.") {
		return u.class
	}
	return "org.apache.kafka.tools." + u.class
}
