package pair

import (
	"bytes"
	"context"
	"crypto/x509/pkix"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/clusterd/process"
	"lockstep/protocol/admin"
	"lockstep/testkit/authority"
)

const (
	mirrorPassword = "hunter2-of-the-mirror"
	newPassword    = "hunter3-of-the-mirror"
)

// guarded is a source that lets in who logs in by SCRAM and may do what ACLs say. Operators are on the plaintext listener.
func guarded(t *testing.T) (source *datacenter, bootstrap string) {
	t.Helper()
	port, err := process.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	source = start(t, process.Spec{Cluster: "dc1", Args: []string{
		"--kafka-listen", fmt.Sprintf("SASL_PLAINTEXT://127.0.0.1:%d", port), "--set", "sasl.enabled.mechanisms=SCRAM-SHA-512",
		"--set", "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer", "--set", "super.users=User:ANONYMOUS",
	}})
	return source, fmt.Sprintf("127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d", port, port+1, port+2)
}

func (d *datacenter) setPassword(t *testing.T, user, password string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	done, err := kadm.NewClient(d.admin.Kafka).AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{{User: user, Mechanism: kadm.ScramSha512, Iterations: 4096, Password: password}})
	if err == nil {
		err = done[user].Err
	}
	if err != nil {
		t.Fatalf("password of %s: %v", user, err)
	}
}

// grant allows User:dr operations on topics, or on the cluster where none is named.
func (d *datacenter) grant(t *testing.T, topics []string, operations ...kadm.ACLOperation) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	b := kadm.NewACLs().Allow("User:dr").Operations(operations...).ResourcePatternType(kadm.ACLPatternLiteral)
	if len(topics) > 0 {
		b.Topics(topics...)
	} else {
		b.Clusters()
	}
	made, err := kadm.NewClient(d.admin.Kafka).CreateACLs(ctx, b)
	for _, one := range made {
		if err == nil {
			err = one.Err
		}
	}
	if err != nil {
		t.Fatalf("grant %v of %v: %v", operations, topics, err)
	}
}

// A mirror logs in with a password that is named, needs the rights that the README lists and is told which one it lacks,
// follows a password that changes, and writes no secret anywhere.
func TestAMirrorLogsInWithTheRightsItNeeds(t *testing.T) {
	t.Parallel()
	secrets := t.TempDir()
	remember := func(password string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(secrets, "source.properties"), []byte("password="+password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	source, bootstrap := guarded(t)
	destination := start(t, process.Spec{Cluster: "dc2", Args: []string{"--mirror-secrets", secrets}})
	source.createTopic(t, "orders", 1)
	source.setPassword(t, "dr", mirrorPassword)

	config := filepath.Join(t.TempDir(), "dr.properties")
	define := func(login string) (string, int) {
		t.Helper()
		text := "bootstrap.servers=" + bootstrap + "\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\nmetadata.refresh.interval.ms=500\n" +
			"sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n  username=\"dr\" password=\"" + login + "\";\n"
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return destination.cli(t, "--create", "--mirror", "dr", "--mirror-config", config)
	}
	refused := func(what, out string, code int, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if code != 1 || !strings.Contains(out, want) || strings.Contains(out, mirrorPassword) {
				t.Errorf("%s: exit %d, want %q:\n%s", what, code, want, out)
			}
		}
	}
	out, code := define(mirrorPassword)
	refused("a password that would be journaled", out, code, "sasl.jaas.config holds a secret", "${file:PATH:KEY}")
	out, code = define("${env:HOME}")
	refused("a place that the operator did not list", out, code, "--mirror-secrets env:HOME")
	named := "${file:" + filepath.Join(secrets, "source.properties") + ":password}"
	remember("wrong")
	out, code = define(named)
	refused("a wrong password", out, code, "SASL_AUTHENTICATION_FAILED", "sasl.jaas.config")
	remember(mirrorPassword)
	if out, code = define(named); code != 0 {
		t.Fatalf("create: exit %d\n%s", code, out)
	}

	out, code = destination.cli(t, "--start", "--mirror", "dr", "--topics", "orders")
	if code != 0 || !strings.Contains(out, "No topic of the source matches yet") {
		t.Errorf("a topic that may not be seen: exit %d\n%s", code, out)
	}
	source.grant(t, []string{"orders"}, kadm.OpRead)
	out, code = destination.cli(t, "--start", "--mirror", "dr", "--topics", "orders")
	refused("settings that may not be seen", out, code, "DESCRIBE_CONFIGS")
	source.grant(t, []string{"orders"}, kadm.OpDescribeConfigs)
	destination.mustCLI(t, "--start", "--mirror", "dr", "--topics", "orders")
	source.mustProduce(t, "orders", 0, "not gated")
	destination.awaitTopic(t, "dr", "orders", "what was read by a consumer's rights", func(now described) bool {
		return now.EffectiveMirrorType == admin.Async && len(now.Partitions) == 1 && now.Partitions[0].Lag == 0 && now.Partitions[0].DestinationOffset == 1
	})
	destination.alter(t, "dr", "orders", admin.Sync)
	eventually(t, "the right to gate is named", func() (string, bool) {
		out, _ := destination.cli(t, "--describe", "--mirror", "dr", "--json")
		return out, strings.Contains(out, "CLUSTER_ACTION")
	})
	source.grant(t, nil, kadm.OpClusterAction, kadm.OpDescribeConfigs)
	destination.awaitSync(t, "dr", "orders")
	source.mustProduce(t, "orders", 0, "gated")

	source.setPassword(t, "dr", newPassword)
	mustStop(t, source)
	source.restart(t)
	eventually(t, "the setting of the old password is named", func() (string, bool) {
		out, _ := destination.cli(t, "--describe", "--mirror", "dr", "--failed", "--json")
		return out, strings.Contains(out, "SASL_AUTHENTICATION_FAILED") && strings.Contains(out, "see sasl.jaas.config")
	})
	remember(newPassword)
	destination.awaitSync(t, "dr", "orders")
	source.mustProduce(t, "orders", 0, "gated again")

	if value := destination.mirrorSetting(t, "dr", "sasl.jaas.config"); value != "" {
		t.Errorf("sasl.jaas.config is shown as %s", value)
	}
	if value := destination.mirrorSetting(t, "dr", "security.protocol"); value != "SASL_PLAINTEXT" {
		t.Errorf("security.protocol is shown as %q", value)
	}
	mustStop(t, destination)
	mustStop(t, source)
	dump, _ := clusterctl(t, "journal", "dump", "--data-dir", filepath.Join(destination.Dir, "broker-1"), "--stream", "control/mirror/")
	if holdsNoSecret(t, "a dump", []byte(dump)); !strings.Contains(dump, filepath.Join(secrets, "source.properties")) {
		t.Errorf("what names the secret is not in the dump:\n%s", dump)
	}
	for _, d := range []*datacenter{destination, source} {
		err := filepath.WalkDir(d.Dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			holdsNoSecret(t, path, text)
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// Both sides show certificates: the source's has to be of an authority that the mirror trusts, and the mirror's of one that the
// source trusts.
func TestAMirrorReadsOverTLS(t *testing.T) {
	t.Parallel()
	a := authority.New(t, "ours")
	broker, reader := a.Issue(pkix.Name{CommonName: "broker"}, nil), a.Issue(pkix.Name{CommonName: "dr"}, nil)
	trust := a.File("ca.pem", a.PEM)
	port, err := process.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	source := start(t, process.Spec{Cluster: "dc1", Args: []string{
		"--kafka-listen", fmt.Sprintf("SSL://127.0.0.1:%d", port), "--set", "ssl.client.auth=required",
		"--set", "ssl.keystore.type=PEM", "--set", "ssl.keystore.location=" + a.File("broker.pem", broker.Chain, broker.Key),
		"--set", "ssl.truststore.type=PEM", "--set", "ssl.truststore.location=" + trust,
	}})
	key := a.File("dr.pem", reader.Chain, reader.Key)
	destination := start(t, process.Spec{Cluster: "dc2", Args: []string{"--mirror-secrets", filepath.Dir(key)}})
	source.createTopic(t, "orders", 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	config := map[string]string{"bootstrap.servers": fmt.Sprintf("127.0.0.1:%d", port), "security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": trust}
	if _, err := destination.admin.CreateMirror(ctx, "dr", config); err == nil || !strings.Contains(err.Error(), "ssl.keystore.location") {
		t.Errorf("a mirror that shows nothing: %v", err)
	}
	config["ssl.keystore.type"], config["ssl.keystore.location"] = "PEM", key
	if _, err := destination.admin.CreateMirror(ctx, "dr", config); err != nil {
		t.Fatal(err)
	}
	destination.startSync(t, "dr", "orders")
	destination.awaitSync(t, "dr", "orders")
	source.mustProduce(t, "orders", 0, "gated")
}

// mirrorSetting is what the cluster shows of a setting, "" for null.
func (d *datacenter) mirrorSetting(t *testing.T, mirror, name string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req := kmsg.NewPtrDescribeConfigsRequest()
	rr := kmsg.NewDescribeConfigsRequestResource()
	rr.ResourceType, rr.ResourceName, rr.ConfigNames = 64, mirror, []string{name}
	req.Resources = append(req.Resources, rr)
	resp, err := req.RequestWith(ctx, d.admin.Kafka)
	if err != nil || len(resp.Resources) != 1 || len(resp.Resources[0].Configs) != 1 {
		t.Fatalf("setting %s of mirror %s: %+v, %v", name, mirror, resp, err)
	}
	if value := resp.Resources[0].Configs[0].Value; value != nil {
		return *value
	}
	return ""
}

func holdsNoSecret(t *testing.T, what string, text []byte) {
	t.Helper()
	for _, password := range []string{mirrorPassword, newPassword} {
		if bytes.Contains(text, []byte(password)) {
			t.Errorf("%s holds a password", what)
		}
	}
}
