package metrics

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// described reads name, help and labels out of every description that the collectors give.
func described(t *testing.T) map[string][3]string {
	t.Helper()
	descs := make(chan *prometheus.Desc, 1000)
	for _, c := range []prometheus.Collector{source{}, destination{}, cluster{}, requests{}} {
		c.Describe(descs)
	}
	close(descs)
	field := regexp.MustCompile(`fqName: "([^"]*)", help: "((?:[^"\\]|\\.)*)", unit: "", constLabels: {}, variableLabels: {([^}]*)}`)
	all := map[string][3]string{}
	for d := range descs {
		m := field.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("cannot read %s", d)
		}
		all[m[1]] = [3]string{m[1], m[2], m[3]}
	}
	return all
}

func TestEveryMetricHasANameInTheTableAndHelp(t *testing.T) {
	all := described(t)
	for _, n := range Names {
		d, known := all[n.Prometheus]
		switch {
		case !known:
			t.Errorf("%s is promised and no collector describes it", n.Prometheus)
		case d[1] == "":
			t.Errorf("%s has no help", n.Prometheus)
		case d[2] != n.Labels:
			t.Errorf("%s has the labels %q, the table says %q", n.Prometheus, d[2], n.Labels)
		}
		delete(all, n.Prometheus)
	}
	for name := range all {
		t.Errorf("%s is exposed and not in Names", name)
	}
}

func TestTheDocumentListsEveryName(t *testing.T) {
	text, err := os.ReadFile("METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	all := described(t)
	var want []string
	for _, n := range Names {
		want = append(want, fmt.Sprintf("| %s | `%s` | %s | %s | %s |", code(n.JMX), n.Prometheus, n.Labels, n.Needs, all[n.Prometheus][1]))
	}
	var have []string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "`kafka_") && strings.HasPrefix(line, "|") {
			have = append(have, strings.TrimSpace(line))
		}
	}
	if !slices.Equal(have, want) {
		t.Errorf("METRICS.md should list:\n%s", strings.Join(want, "\n"))
	}
}

func code(name string) string {
	if name == "" {
		return ""
	}
	return "`" + name + "`"
}

func TestAlertsAskOnlyForMetricsThatExist(t *testing.T) {
	text, err := os.ReadFile("alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{} // name → labels
	for _, n := range Names {
		known[n.Prometheus] = n.Labels
		if strings.HasSuffix(n.Prometheus, "_ms") {
			known[n.Prometheus+"_bucket"] = n.Labels + ",le"
		}
	}
	metric := regexp.MustCompile(`\bkafka_\w+`)
	alerts, exprs, used := 0, 0, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "- alert:"):
			alerts++
		case strings.HasPrefix(line, "expr:"):
			exprs++
			for _, name := range metric.FindAllString(line, -1) {
				used[name] = true
				if _, ok := known[name]; !ok {
					t.Errorf("an alert asks for %s, which nothing exposes", name)
				}
			}
		}
	}
	if alerts < 15 || alerts != exprs || len(used) < 15 {
		t.Errorf("%d alerts with %d expressions over %d metrics", alerts, exprs, len(used))
	}
	for _, label := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(string(text), -1) {
		ok := label[1] == "instance"
		for name := range used {
			ok = ok || slices.Contains(strings.Split(known[name], ","), label[1])
		}
		if !ok {
			t.Errorf("an annotation shows the label %s, which no metric of an alert has", label[1])
		}
	}
}
