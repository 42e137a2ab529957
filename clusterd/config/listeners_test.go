package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockstep/clusterd/security"
)

func TestAdvertisedAddressFollowsTheBroker(t *testing.T) {
	for _, c := range []struct {
		advertise string
		host      string
		port      int
	}{
		{"", "127.0.0.1", 40000},
		{"kafka.example.org", "kafka.example.org", 40000},
		{"kafka.example.org:9092", "kafka.example.org", 9094},
	} {
		config := Config{KafkaListen: []string{"127.0.0.1:0"}}
		if c.advertise != "" {
			config.Advertise = []string{c.advertise}
		}
		list, err := config.Listeners()
		if err != nil {
			t.Fatal(err)
		}
		if host, port := list[0].Advertised(2, 40000); host != c.host || port != c.port {
			t.Errorf("%q: %s:%d", c.advertise, host, port)
		}
	}
}

// users are settings that make a listener with PLAIN.
var users = []string{"--set", "sasl.enabled.mechanisms=PLAIN", "--set", `sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="a secret";`}

func TestListenersHaveNamesAndProtocols(t *testing.T) {
	args := append([]string{"--brokers", "2", "--kafka-listen", "PLAIN://127.0.0.1:9092", "--kafka-listen", "127.0.0.1:9094,sasl_plaintext://127.0.0.1:0",
		"--advertise", "here:1000", "--advertise", "Sasl_Plaintext://there", "--set", "listener.security.protocol.map=plain:PLAINTEXT, OTHER:SSL"}, users...)
	c, err := load(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.Listeners()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range list {
		host, port := l.Advertised(1, 5)
		got = append(got, fmt.Sprintf("%s %s %s %s:%d", l.Name, l.Protocol, l.Address(1), host, port))
	}
	want := "PLAIN PLAINTEXT 127.0.0.1:9093 here:1001, PLAINTEXT PLAINTEXT 127.0.0.1:9095 127.0.0.1:5, sasl_plaintext SASL_PLAINTEXT 127.0.0.1:0 there:5"
	if strings.Join(got, ", ") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, ", "), want)
	}
}

func TestWhatIsWrongWithListenersIsNamed(t *testing.T) {
	const sasl = "SASL_PLAINTEXT://127.0.0.1:9192"
	jaas := func(text string) []string {
		return []string{"--kafka-listen", sasl, "--set", "sasl.enabled.mechanisms=PLAIN", "--set", "sasl.jaas.config=" + text}
	}
	open := func(set string) []string {
		return []string{"--kafka-listen", "SSL://10.0.0.1:9192", "--set", "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer", "--set", set}
	}
	const module = "org.apache.kafka.common.security.plain.PlainLoginModule required "
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"--kafka-listen", "127.0.0.1:1000,127.0.0.1:2000"}, []string{"127.0.0.1:2000", "127.0.0.1:1000 is called PLAINTEXT, too", "NAME://"}},
		{[]string{"--kafka-listen", "HTTP://127.0.0.1:1000"}, []string{"HTTP is no protocol", "SASL_SSL", "listener.security.protocol.map"}},
		{[]string{"--kafka-listen", "a b://127.0.0.1:1000"}, []string{`"a b"`, "A-Z"}},
		{[]string{"--kafka-listen", "127.0.0.1:1000,SASL_PLAINTEXT://127.0.0.1:1002"}, []string{"127.0.0.1:1002", "ports 1000 to 1002 for 3 brokers"}},
		{[]string{"--kafka-listen", "127.0.0.1:1000", "--advertise", "a", "--advertise", "b"}, []string{"--advertise is given 2 times"}},
		{[]string{"--advertise", "OTHER://a"}, []string{"--advertise", "no listener is called OTHER"}},
		{[]string{"--set", "listener.security.protocol.map=A=B"}, []string{"listener.security.protocol.map", "name:protocol"}},
		{[]string{"--set", "listener.security.protocol.map=A:TLS"}, []string{`"A:TLS"`, "SASL_SSL"}},
		{[]string{"--set", "listener.name.other.ssl.client.auth=none"}, []string{"no listener is called other"}},
		{[]string{"--set", "listener.name.plaintext.num.partitions=3"}, []string{"not a setting of single listeners"}},
		{[]string{"--set", "scram-sha-256.ssl.client.auth=none"}, []string{"not a setting of single mechanisms"}},
		{[]string{"--kafka-listen", sasl}, []string{"SASL_PLAINTEXT", "set sasl.enabled.mechanisms", "SCRAM-SHA-512"}},
		{[]string{"--kafka-listen", sasl, "--set", "sasl.enabled.mechanisms=GSSAPI"}, []string{"GSSAPI", "none of PLAIN, SCRAM-SHA-256"}},
		{[]string{"--kafka-listen", sasl, "--set", "sasl.enabled.mechanisms=PLAIN"}, []string{"no users", "listener.name.sasl_plaintext.plain.sasl.jaas.config", "user_NAME"}},
		{[]string{"--kafka-listen", "SASL_PLAINTEXT://10.0.0.1:9192", "--set", "sasl.enabled.mechanisms=SCRAM-SHA-256"}, []string{"passwords", "SASL_SSL", "--insecure-listen"}},
		{open("super.users=User:bob; User:ANONYMOUS"), []string{"SSL://10.0.0.1:9192", "everybody", "ssl.client.auth=required"}},
		{open("allow.everyone.if.no.acl.found=true"), []string{"SSL://10.0.0.1:9192", "everybody", "ssl.client.auth=required"}},
		{jaas("hush"), []string{"semicolon"}},
		{jaas("some.Module required user_a=\"hush\";"), []string{"login module", "PlainLoginModule"}},
		{jaas(module + "user_a=\"\";"), []string{"user_a", "with a password"}},
		{jaas(module + "usr_a=\"hush\";"), []string{"usr_a", "user_NAME"}},
		{jaas(module + "user_a=\"hush;"), []string{"quote"}},
		{jaas("${file:/does/not/exist:hush}"), []string{"/does/not/exist"}},
		{[]string{"--set", "sasl.jaas.confg=hush"}, []string{"sasl.jaas.confg,", "did you mean sasl.jaas.config"}},
		{[]string{"--set", "connection.failed.authentication.delay.ms=600000"}, []string{"connections.max.idle.ms=600000", "lower"}},
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
		if strings.Contains(strings.ReplaceAll(err.Error(), "exist:hush", ""), "hush") {
			t.Errorf("%v: %q tells a secret", c.args, err)
		}
	}
}

func TestAPolicyHasWhatIsSetForItsListener(t *testing.T) {
	dir := t.TempDir()
	secrets := filepath.Join(dir, "secrets")
	if err := os.WriteFile(secrets, []byte("jaas=org.apache.kafka.common.security.plain.PlainLoginModule required user_bob=\"b\" username=x password=y;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "c.properties")
	text := `kafka-listen=SASL_PLAINTEXT://127.0.0.1:0
kafka-listen=B://127.0.0.1:0
listener.security.protocol.map=B:SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.b.sasl.enabled.mechanisms=SCRAM-SHA-512,PLAIN
listener.name.b.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
    user_alice="a" \
    user_carol='c;"';
sasl.jaas.config=${file:` + secrets + `:jaas}
connections.max.reauth.ms=1000
listener.name.b.scram-sha-512.connections.max.reauth.ms=2000
listener.name.b.connections.max.reauth.ms=3000
connection.failed.authentication.delay.ms=7
listener.name.b.sasl.server.max.receive.size=2048
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := load(t, "--config", path)
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.Listeners()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"SASL_PLAINTEXT SASL_PLAINTEXT [PLAIN] map[bob:b] map[PLAIN:1s] 7ms 65536",
		"B SASL_PLAINTEXT [SCRAM-SHA-512 PLAIN] map[alice:a carol:c;\"] map[PLAIN:3s SCRAM-SHA-512:2s] 7ms 2048",
	} {
		p, err := c.Policy(list[i], nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(p.Name, " ", p.Protocol, " ", p.Mechanisms, " ", p.Plain, " ", p.Sessions, " ", p.Penalty, " ", p.Receive); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	if shown := fmt.Sprint(c.Shown()); strings.Contains(shown, "alice") || strings.Contains(shown, secrets) || c.Shown()["sasl.jaas.config"] != hidden {
		t.Error("secrets are shown:", shown)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := load(t, "--config", path); err == nil || !strings.Contains(err.Error(), "chmod 600 "+path) || !strings.Contains(err.Error(), "line 6:") {
		t.Error("a file that others may read:", err)
	}
}

// A default penalty and receive size are the table's.
func TestPoliciesDefaultToTheTable(t *testing.T) {
	c, err := load(t, append([]string{"--kafka-listen", "SASL_PLAINTEXT://127.0.0.1:0"}, users...)...)
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.Listeners()
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Policy(list[0], nil)
	if err != nil || p.Penalty != security.DefaultPenalty || p.Receive != security.DefaultReceive || p.Sessions[security.Plain] != time.Duration(0) || p.Plain["alice"] != "a secret" {
		t.Errorf("%+v %v", p, err)
	}
}
