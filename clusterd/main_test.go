package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"lockstep/clusterd/config"
)

func TestBareClusterdIsServe(t *testing.T) {
	for _, args := range [][]string{{}, {"serve"}, {"--cluster-id", "dc1"}, {"serve", "--cluster-id", "dc1"}} {
		var p program
		parser, err := kong.New(&p, kong.Bind(&config.File{}), kong.DefaultEnvars("LOCKSTEP"))
		if err != nil {
			t.Fatal(err)
		}
		ctx, err := parser.Parse(args)
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		if ctx.Command() != "serve" || strings.Join(p.Serve.KafkaListen, " ") != "127.0.0.1:9092" || len(p.Serve.Dirs()) != 3 {
			t.Fatalf("%v is %q: %+v", args, ctx.Command(), p.Serve)
		}
	}
}

// Whatever an operator gets wrong ends with 1 and one line that names it: scripts know 0, 1 and 3 of clusterd, and no
// number of a library.
func TestWrongStartsEndWithOneAndALine(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	free := func(more ...string) []string {
		return append([]string{"--data-dir", t.TempDir(), "--kafka-listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"}, more...)
	}
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"an unknown flag":                 {[]string{"--nope"}, []string{"--nope", "--help"}},
		"an unknown word":                 {[]string{"extra"}, []string{"extra", "--help"}},
		"a word that is no number":        {[]string{"--brokers", "x"}, []string{"--brokers", `"x"`}},
		"a flag of demo":                  {[]string{"demo", "--runs", "x"}, []string{"--runs", `"x"`}},
		"no broker":                       {free("--brokers", "0"), []string{"--brokers", "1 to 100"}},
		"a missing file":                  {free("--config", "/does/not/exist"), []string{"--config", "/does/not/exist"}},
		"an unknown setting":              {free("--set", "foo=1"), []string{"foo=1", "--set"}},
		"a directory that cannot be made": {free("--data-dir", "/proc/x"), []string{"--data-dir /proc/x", "directory"}},
		"a directory under a file":        {free("--data-dir", filepath.Join(file, "x")), []string{"--data-dir " + file, "another path"}},
		"a taken Kafka port":              {free("--kafka-listen", "OTHER://"+taken.Addr().String(), "--set", "listener.security.protocol.map=OTHER:PLAINTEXT"), []string{"--kafka-listen", taken.Addr().String(), "choose"}},
		"a taken NATS port":               {free("--nats-listen", taken.Addr().String()), []string{"--nats-listen", taken.Addr().String(), "choose"}},
		"a taken HTTP port":               {free("--http-listen", taken.Addr().String()), []string{"--http-listen", taken.Addr().String(), "choose"}},
		"an address of another machine":   {free("--insecure-listen", "--kafka-listen", "OTHER://192.0.2.1:9092", "--set", "listener.security.protocol.map=OTHER:PLAINTEXT"), []string{"--kafka-listen", "192.0.2.1:9092", "choose"}},
	} {
		var out, errs bytes.Buffer
		if code := run(c.args, &out, &errs); code != 1 {
			t.Errorf("%s: exit code %d", name, code)
		}
		if out.Len() > 0 || strings.Contains(errs.String(), "goroutine") {
			t.Errorf("%s: %q, %q", name, out.String(), errs.String())
		}
		for _, part := range c.want {
			if !strings.Contains(errs.String(), part) {
				t.Errorf("%s: %q does not say %q", name, errs.String(), part)
			}
		}
	}
	var out, errs bytes.Buffer
	if code := run([]string{"serve", "--help"}, &out, &errs); code != 0 || !strings.Contains(out.String(), "--data-dir") {
		t.Errorf("--help: exit code %d, %q, %q", code, out.String(), errs.String())
	}
}
