package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// load does what main does, without the process's own arguments.
func load(t *testing.T, args ...string) (Config, error) {
	t.Helper()
	file, err := ReadFile(args)
	if err != nil {
		return Config{}, err
	}
	var c Config
	parser, err := kong.New(&c, kong.Resolvers(file), kong.DefaultEnvars("LOCKSTEP"), kong.Exit(func(int) { t.Fatal("exit") }))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		return c, err
	}
	file.Into(&c)
	return c, c.Check()
}

func TestBareStartIsThreeBrokersUnderData(t *testing.T) {
	c, err := load(t)
	if err != nil {
		t.Fatal(err)
	}
	if dirs := c.Dirs(); len(dirs) != 3 || dirs[2] != "data/broker-3" || c.Durability != "fsync" {
		t.Fatalf("%v %s", dirs, c.Durability)
	}
	if l, err := c.Listeners(); err != nil || len(l) != 1 || l[0].Address(2) != "127.0.0.1:9094" || l[0].Protocol != "PLAINTEXT" {
		t.Fatal(l, err)
	}
}

func TestNATSIsEmbeddedUnlessAnotherIsNamed(t *testing.T) {
	if c, err := load(t); err != nil || c.NATSListen != "127.0.0.1:4222" || c.NATSURL != "" {
		t.Errorf("%q %q %v", c.NATSListen, c.NATSURL, err)
	}
	if c, err := load(t, "--nats-url", "nats://elsewhere:4222"); err != nil || c.NATSListen != "" || c.NATSURL != "nats://elsewhere:4222" {
		t.Errorf("%q %q %v", c.NATSListen, c.NATSURL, err)
	}
}

func TestFlagBeatsEnvironmentBeatsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.properties")
	text := "# a comment\ncluster-id=file\nhttp-listen=127.0.0.1:1\nnats-listen=127.0.0.1:3\ndata-dir=a\ndata-dir=b\nnum.partitions=7\nmin.insync.replicas=1\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LOCKSTEP_CLUSTER_ID", "env")
	t.Setenv("LOCKSTEP_HTTP_LISTEN", "127.0.0.1:2")
	c, err := load(t, "--config", path, "--cluster-id=flag", "--set", "num.partitions=9")
	if err != nil {
		t.Fatal(err)
	}
	if c.ClusterID != "flag" || c.HTTPListen != "127.0.0.1:2" || c.NATSListen != "127.0.0.1:3" {
		t.Fatalf("%+v", c)
	}
	if len(c.Dirs()) != 2 || c.Int("num.partitions", 1) != 9 || c.Int("min.insync.replicas", 0) != 1 {
		t.Fatalf("%v %v", c.Dirs(), c.Set)
	}
}

func TestErrorsNameFlagValueAndRemedy(t *testing.T) {
	written := func(text string) string {
		path := filepath.Join(t.TempDir(), "broken.properties")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	broken := written("cluster-idd=x\n")
	volume := t.TempDir()
	if err := os.MkdirAll(filepath.Join(volume, "log", "meta"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"--cluster-id", "a b"}, []string{"--cluster-id", "a b", "1 to 64"}},
		{[]string{"--kafka-listen", "0.0.0.0:9092"}, []string{"--kafka-listen", "0.0.0.0:9092", "--insecure-listen"}},
		{[]string{"--http-listen", "10.0.0.1:80"}, []string{"--http-listen", "--insecure-listen"}},
		{[]string{"--insecure-listen", "--kafka-listen", ":9092"}, []string{"--advertise"}},
		{[]string{"--kafka-listen", "127.0.0.1:65534"}, []string{"65536"}},
		{[]string{"--kafka-listen", "127.0.0.1"}, []string{"host:port"}},
		{[]string{"--data-dir", "x", "--data-dir", "./x"}, []string{"--data-dir", "brokers 1 and 2"}},
		{[]string{"--data-dir", "x", "--data-dir", "y", "--brokers", "3"}, []string{"--brokers 3"}},
		{[]string{"--data-dir", ""}, []string{"--data-dir", "broker 1"}},
		{[]string{"--data-dir", volume}, []string{"--data-dir " + volume, "of every broker"}},
		{[]string{"--data-dir", "a\x00b"}, []string{"--data-dir", "broker 1"}},
		{[]string{"--brokers", "0"}, []string{"--brokers", `"0"`, "1 to 100"}},
		{[]string{"--brokers=-1"}, []string{"--brokers", `"-1"`, "1 to 100"}},
		{[]string{"--brokers", "101"}, []string{"--brokers", `"101"`, "1 to 100"}},
		{slices.Repeat([]string{"--data-dir", "x"}, 2), []string{"--data-dir x", "brokers 1 and 2"}},
		{manyDirs(101), []string{"101 brokers", "--data-dir", "1 to 100"}},
		{[]string{"--brokers", "x"}, []string{"--brokers", `"x"`, "1 to 100"}},
		{[]string{"--set", "num.partition=1"}, []string{"num.partition=1", "--set", "Kafka's", "num.partitions?"}},
		{[]string{"--set", "nothing.like.this=1"}, []string{"nothing.like.this=1", "Kafka's", "kafka-configs"}},
		{[]string{"--set", "unclean.leader.election.enable=true"}, []string{"unclean.leader.election.enable", "--entity-default"}},
		{[]string{"--set", "num.partitions=0"}, []string{"--set", "num.partitions"}},
		{[]string{"--set", "num.partitions"}, []string{"--set", "num.partitions", "<key>=<value>"}},
		{[]string{"--nats-url", "http://broker:4222"}, []string{"--nats-url", "http://broker:4222", `"http"`, "nats://host:port"}},
		{[]string{"--nats-url", ":::"}, []string{"--nats-url", ":::", "nats://host:port"}},
		{[]string{"--nats-url", "nats://"}, []string{"--nats-url", "no host"}},
		{[]string{"--nats-url", "nats://a:4222,ftp://b"}, []string{"--nats-url", `"ftp"`}},
		{[]string{"--nats-url", "nats://a:99999"}, []string{"--nats-url", "99999", "65535"}},
		{[]string{"--nats-url", "nats://a:0"}, []string{"--nats-url", `"0"`}},
		{[]string{"--nats-url", "nats://a:4222/path"}, []string{"--nats-url", "/path"}},
		{[]string{"--nats-url", "nats://me:secret@a:4222"}, []string{"--nats-url", "lockstep.nats.url", "--nats-advertise"}},
		{[]string{"--nats-advertise", "https://a"}, []string{"--nats-advertise", "https://a", "nats://host:port"}},
		{[]string{"--advertise", "kafka:65534"}, []string{"--advertise", "kafka:65534", "65536"}},
		{[]string{"--advertise", "kafka:0"}, []string{"--advertise", "kafka:0"}},
		{[]string{"--advertise", ":9092"}, []string{"--advertise", ":9092", "host:port"}},
		{[]string{"--segment-bytes", "5"}, []string{"--segment-bytes 5"}},
		{[]string{"--durability", "maybe"}, []string{"durability", "fsync"}},
		{[]string{"--nats-url", "nats://x", "--nats-listen", "127.0.0.1:1"}, []string{"nats-listen", "nats-url"}},
		{[]string{"--config", "/does/not/exist"}, []string{"--config /does/not/exist", "no such file", "leave it out"}},
		{[]string{"--config", t.TempDir()}, []string{"--config", "is a directory", "properties file"}},
		{[]string{"--config", broken}, []string{"--config", "line 1", "cluster-idd", "--help"}},
		{[]string{"--config", written("no key here")}, []string{"--config", "line 1", "key=value"}},
		{[]string{"--config", written("\n\n" + strings.Repeat("x", 1<<20))}, []string{"--config", "after line 2", "too long"}},
		{[]string{"--config", written("brokers=1\nbrokers=2\n")}, []string{"--config", "brokers twice"}},
	} {
		_, err := load(t, c.args...)
		if err == nil {
			t.Errorf("%v: no error", c.args)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v: %q does not say %q", c.args, err, part)
			}
		}
	}
}

func manyDirs(n int) (args []string) {
	for i := range n {
		args = append(args, "--data-dir", fmt.Sprint("x", i))
	}
	return args
}

// What the environment says is checked like a flag, and the error says where it came from.
func TestErrorsOfTheEnvironmentNameItsVariable(t *testing.T) {
	for name, c := range map[string]struct {
		value string
		want  []string
	}{
		"LOCKSTEP_SEGMENT_BYTES": {"x", []string{"--segment-bytes", `LOCKSTEP_SEGMENT_BYTES="x"`}},
		"LOCKSTEP_BROKERS":       {"0", []string{"--brokers", `"0"`, "1 to 100"}},
		"LOCKSTEP_DURABILITY":    {"maybe", []string{"--durability", "maybe", "fsync"}},
		"LOCKSTEP_SET":           {"num.partition=2", []string{"LOCKSTEP_SET", "num.partition=2", "num.partitions?"}},
		"LOCKSTEP_CONFIG":        {"/does/not/exist", []string{"--config", "/does/not/exist"}},
		"LOCKSTEP_NATS_URL":      {"http://x", []string{"--nats-url", "http://x", "nats://host:port"}},
		"LOCKSTEP_KAFKA_LISTEN":  {"x", []string{"--kafka-listen", `"x"`, "host:port"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, c.value)
			_, err := load(t)
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		})
	}
}

func TestAddressesOfNATSThatAreGood(t *testing.T) {
	for _, url := range []string{"nats://a:4222", "a:4222", "tls://a", "ws://[::1]:80", "nats://a:1, nats://b:2"} {
		if _, err := load(t, "--nats-url", url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	if _, err := load(t, "--nats-url", "nats://me:secret@a:4222", "--nats-advertise", "nats://a:4222"); err != nil {
		t.Error(err)
	}
}

func TestDrawnClusterIDsAreLegalAndDiffer(t *testing.T) {
	a, b := DrawClusterID(), DrawClusterID()
	if len(a) != 22 || !clusterID.MatchString(a) || a == b {
		t.Fatal(a, b)
	}
}
