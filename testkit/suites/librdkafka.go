package suites

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockstep/testkit/fetched"
)

const (
	librdkafkaVersion = "2.0.2"
	// debianSources is an apt source of its own, so that the machine's are not touched.
	debianSources = `Types: deb-src
URIs: http://deb.debian.org/debian
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
`
)

// librdkafkaSuite are the tests of its runner that want a broker, each in a process of its own: one that aborts or hangs
// takes no other with it. The scenario says what the tests expect of topics that do not exist.
func librdkafkaSuite(scenario string) Suite {
	s := Suite{
		Name: "librdkafka", Release: "librdkafka " + librdkafkaVersion + " test-runner -L -Q", From: "Debian source", Folder: "librdkafka-" + librdkafkaVersion, Minutes: 60,
		Needs:   Needs{Brokers: 3, KafkaBrokers: 3, Authorizer: true, Settings: map[string]string{"auto.create.topics.enable": "true", "num.partitions": "4"}},
		Install: installLibrdkafka,
	}
	if scenario != "default" {
		s.Name += "-" + scenario
		s.Release += ", scenario " + scenario
		s.Needs.Settings["auto.create.topics.enable"] = "false"
	}
	s.Run = func(ctx context.Context, site Site, report func(Case)) error {
		tests := filepath.Join(site.Installed, "tests")
		names, err := rdTests(filepath.Join(tests, "test.c"), scenario)
		if err != nil {
			return err
		}
		env, err := rdEnvironment(ctx, site, scenario)
		if err != nil {
			return err
		}
		for number := range slices.Values(names) {
			if err := rdTest(ctx, site, tests, number, env, report); err != nil {
				return err
			}
		}
		return nil
	}
	return s
}

func installLibrdkafka(ctx context.Context, dir string) error {
	return fetched.Once(dir, func(half string) error {
		apt, err := os.MkdirTemp("", "lockstep-apt-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(apt)
		for _, d := range []string{"parts", "lists/partial"} {
			if err := os.MkdirAll(filepath.Join(apt, d), 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(apt, "parts", "source.sources"), []byte(debianSources), 0o644); err != nil {
			return err
		}
		build := fmt.Sprintf(`set -e
O="-qq -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=%[1]s/parts -o Dir::State::Lists=%[1]s/lists"
cd %[1]s
apt-get $O update
apt-get $O source --download-only librdkafka=%[2]s-1
tar xf librdkafka_%[2]s.orig.tar.gz -C %[3]s --strip-components 1
cd %[3]s
./configure
make -j2 libs
make -j2 -C tests test-runner`, apt, librdkafkaVersion, half)
		return fetched.Run(ctx, filepath.Join(apt, "build.log"), "", "sh", "-c", build)
	})
}

var (
	rdSummary = regexp.MustCompile(`^\|\s*(\d{4}_\w+)\s*\|\s*([A-Z]+)\s*\|\s*([\d.]+)s\s*\|\s*(.*)$`)
	rdColour  = regexp.MustCompile("\x1b\\[[0-9;]*m")
)

// rdTests are the numbers of the tests of a scenario that are neither local nor to be run by hand, from the runner's table.
func rdTests(file, scenario string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	_, table, found := strings.Cut(string(text), "struct test tests[] = {")
	if !found {
		return nil, fmt.Errorf("%s has no table of tests", file)
	}
	table, _, _ = strings.Cut(table, "{NULL}};")
	var numbers []string
	for at := strings.Index(table, "_TEST("); at >= 0; at = strings.Index(table, "_TEST(") {
		entry := table[at+len("_TEST("):]
		if next := strings.Index(entry, "_TEST("); next >= 0 {
			entry = entry[:next]
		}
		table = table[at+len("_TEST("):]
		number := strings.TrimSpace(entry)[:4]
		of := "default"
		if _, after, ok := strings.Cut(entry, `.scenario = "`); ok {
			of, _, _ = strings.Cut(after, `"`)
		}
		if strings.Contains(entry, "TEST_F_LOCAL") || strings.Contains(entry, "TEST_F_MANUAL") || !strings.Contains(of, scenario) || slices.Contains(numbers, number) {
			continue
		}
		numbers = append(numbers, number)
	}
	return numbers, nil
}

// rdEnvironment makes the runner's configuration, and what it expects of an installation of Kafka: tools by their names.
func rdEnvironment(ctx context.Context, site Site, scenario string) ([]string, error) {
	brokers := strings.Join(site.Bootstrap, ",")
	conf := filepath.Join(site.Work, "test.conf")
	if err := os.WriteFile(conf, []byte("bootstrap.servers="+brokers+"\n"), 0o644); err != nil {
		return nil, err
	}
	tools, err := kafkaHome(ctx)
	if err != nil {
		return nil, err
	}
	home := filepath.Join(site.Work, "kafka")
	if err := os.MkdirAll(filepath.Join(home, "bin"), 0o755); err != nil {
		return nil, err
	}
	if err := os.Symlink(filepath.Join(string(tools), "lib"), filepath.Join(home, "libs")); err != nil {
		return nil, err
	}
	for script, class := range map[string]string{"kafka-topics.sh": "org.apache.kafka.tools.TopicCommand", "kafka-acls.sh": "org.apache.kafka.tools.AclCommand", "kafka-run-class.sh": ""} {
		text := fmt.Sprintf("#!/bin/sh\nexec java -Xmx256m -cp \"%s/lib/*:$CLASSPATH\" %s \"$@\"\n", tools, class)
		if err := os.WriteFile(filepath.Join(home, "bin", script), []byte(text), 0o755); err != nil {
			return nil, err
		}
	}
	return append(os.Environ(), "RDKAFKA_TEST_CONF="+conf, "KAFKA_PATH="+home, "BROKERS="+brokers, "TEST_KAFKA_VERSION=3.3.1",
		"TEST_SCENARIO="+scenario, "TEST_LEVEL=1", "CI=true", "LD_LIBRARY_PATH="+filepath.Join(site.Installed, "src")+":"+filepath.Join(site.Installed, "src-cpp")), nil
}

const rdPatience = 4 * time.Minute

func rdTest(ctx context.Context, site Site, folder, number string, env []string, report func(Case)) error {
	one, cancel := context.WithTimeout(ctx, rdPatience)
	defer cancel()
	// Line by line: on a busy machine the runner aborts after its summary, because threads of the client still end.
	cmd := exec.CommandContext(one, "stdbuf", "-oL", filepath.Join(folder, "test-runner"), "-p1", "-Q", "-L")
	cmd.Dir, cmd.Env = folder, append(env, "TESTS="+number)
	var last []string
	seen := 0
	err := lines(cmd, site, func(line string) {
		if c, ok := rdCase(line); ok {
			seen++
			if !rdOther(c) {
				report(c)
			}
		} else if line != "" {
			last = append(last, rdColour.ReplaceAllString(line, ""))
			last = last[max(0, len(last)-3):]
		}
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case one.Err() != nil:
		report(Case{Name: number, Outcome: Failed, Text: fmt.Sprintf("did not end in %s", rdPatience), Seconds: rdPatience.Seconds()})
	case seen == 0 && err == nil:
		report(Case{Name: number, Outcome: Skipped, Text: short("left out by the runner: " + strings.Join(last, " "))})
	case seen == 0:
		if exit := new(exec.ExitError); !errors.As(err, &exit) {
			return err
		}
		report(Case{Name: number, Outcome: Failed, Text: short(err.Error() + ": " + strings.Join(last, " "))})
	}
	return nil
}

// rdOther: tests that share a number are started together, local ones and those of another scenario too.
func rdOther(c Case) bool {
	return c.Outcome == Skipped && (c.Text == "" || strings.Contains(c.Text, "negative test flags"))
}

// rdCase reads a line of the runner's summary.
func rdCase(line string) (Case, bool) {
	m := rdSummary.FindStringSubmatch(rdColour.ReplaceAllString(line, ""))
	if m == nil {
		return Case{}, false
	}
	seconds, err := strconv.ParseFloat(m[3], 64)
	if err != nil {
		return Case{}, false
	}
	c := Case{Name: m[1], Outcome: Failed, Text: short(m[4]), Seconds: seconds}
	switch m[2] {
	case "PASSED":
		c.Outcome, c.Text = Passed, ""
	case "SKIPPED":
		c.Outcome = Skipped
	}
	return c, true
}
