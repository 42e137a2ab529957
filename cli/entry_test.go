package main

import (
	"bytes"
	"strings"
	"testing"
)

// ran is one call of the tool, as a script sees it.
type ran struct {
	code     int
	out, err string
}

func call(args ...string) ran {
	var out, errs bytes.Buffer
	code := run(args, &out, &errs)
	return ran{code, out.String(), errs.String()}
}

// Wrong flags end with 1 and a line that names the thing and the remedy; 80 and the like are a library's numbers.
func TestWrongFlagsEndWithOne(t *testing.T) {
	kip := []string{"kafka-cluster-mirrors.sh", "--bootstrap-server", "127.0.0.1:1"}
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"an unknown flag":         {[]string{"clusterctl", "--nope"}, []string{"--nope"}},
		"no command":              {[]string{"clusterctl"}, []string{"mirrors", "brokers", "journal"}},
		"an unknown command":      {[]string{"clusterctl", "destroy"}, []string{"destroy"}},
		"no server":               {[]string{"clusterctl", "mirrors", "--list"}, []string{"--bootstrap-server"}},
		"no action":               {kip, []string{"what to do is missing", "--create", "--describe"}},
		"two actions":             {append(kip, "--list", "--describe"), []string{"--describe and --list", "exactly one"}},
		"a mirror without name":   {append(kip, "--create"), []string{"--create needs --mirror", "--create needs --mirror-config"}},
		"a start without topics":  {append(kip, "--start", "--mirror", "m"), []string{"--start needs --topics"}},
		"an alter without type":   {append(kip, "--alter", "--mirror", "m", "--topics", "t"), []string{"--alter needs --sync or --async"}},
		"both types":              {append(kip, "--alter", "--mirror", "m", "--topics", "t", "--sync", "--async"), []string{"--sync", "--async"}},
		"a bad pattern":           {append(kip, "--stop", "--mirror", "m", "--topics", "a("), []string{"--topics", `"a("`, "regular expression"}},
		"a file that is not":      {append(kip, "--list", "--command-config", "/does/not/exist"), []string{"--command-config", "/does/not/exist"}},
		"an offset alone":         {[]string{"clusterctl", "journal", "dump", "--data-dir", t.TempDir(), "--offset", "3"}, []string{"--offset needs --topic and --partition"}},
		"a directory that is not": {[]string{"clusterctl", "journal", "verify", "--data-dir", "/does/not/exist"}, []string{"--data-dir", "/does/not/exist", "directory of a volume"}},
		"a broker that is no id":  {[]string{"clusterctl", "brokers", "stop", "one"}, []string{"one"}},
		"nobody at --http":        {[]string{"clusterctl", "brokers", "list", "--http", "127.0.0.1:1"}, []string{"127.0.0.1:1", "--http-listen"}},
	} {
		got := call(c.args...)
		if got.code != exitError || got.out != "" {
			t.Errorf("%s: exit code %d, output %q", name, got.code, got.out)
		}
		for _, part := range c.want {
			if !strings.Contains(got.err, part) {
				t.Errorf("%s: %q does not say %q", name, got.err, part)
			}
		}
		if text := strings.TrimSpace(got.err); strings.HasSuffix(text, ":") {
			t.Errorf("%s: nothing behind the colon of %q", name, text)
		}
	}
}

// Under the KIP's names the tool is the KIP's: its flags without a command in front, and its own name in texts.
func TestTheToolAnswersToItsFileName(t *testing.T) {
	for _, name := range []string{"kafka-cluster-mirrors", "kafka-cluster-mirrors.sh", "/opt/kafka/bin/kafka-cluster-mirrors.sh"} {
		got := call(name, "--help")
		if got.code != 0 || !strings.Contains(got.out, "--release-sync") || strings.Contains(got.out, "journal") {
			t.Errorf("%s --help: %+v", name, got)
		}
		if got := call(name, "--bootstrap-server", "x"); got.code != exitError || !strings.HasPrefix(got.err, "kafka-cluster-mirrors") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	got := call("clusterctl", "--help")
	if got.code != 0 || !strings.Contains(got.out, "journal") || !strings.Contains(got.out, "brokers") {
		t.Errorf("clusterctl --help: %+v", got)
	}
}
