package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

// TestEveryBrokerHasEveryListener, also after it was stopped and started, and none of their secrets is written anywhere.
func TestEveryBrokerHasEveryListener(t *testing.T) {
	c := testConfig(t)
	c.Brokers = 2
	c.KafkaListen = []string{"127.0.0.1:0", "INSIDE://127.0.0.1:0"}
	c.Set["listener.security.protocol.map"] = "INSIDE:SASL_PLAINTEXT"
	c.Set["sasl.enabled.mechanisms"] = "PLAIN"
	c.Set["listener.name.inside.plain.sasl.jaas.config"] = `org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="hush-hush";`
	p := start(t, c)
	inside := strings.Split(p.ready["kafka.INSIDE"], ",")
	if len(inside) != 2 {
		t.Fatal("the ready line names", p.ready)
	}
	run, err := os.ReadFile(filepath.Join(c.DataDir[0], "run.json"))
	if err != nil || strings.Contains(string(run), "hush") || !strings.Contains(string(run), inside[1]) || !strings.Contains(string(run), "SASL_PLAINTEXT") {
		t.Errorf("%v %s", err, run)
	}
	known := kgo.SASL(plain.Auth{User: "alice", Pass: "hush-hush"}.AsMechanism())
	for _, again := range []bool{false, true} {
		if again {
			for _, action := range []string{"stop", "start"} {
				if code, body := p.http("POST", "/v1/brokers/2/"+action); code != 200 {
					t.Fatal(action, code, body)
				}
			}
		}
		for i, address := range inside {
			k, err := kgo.NewClient(kgo.SeedBrokers(address), known)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			if err := k.Ping(ctx); err != nil {
				t.Errorf("broker %d: %v", i+1, err)
			}
			resources, err := kadm.NewClient(k).DescribeBrokerConfigs(ctx, int32(i+1))
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprintf("%+v", resources)
			for _, s := range resources[0].Configs {
				if s.Value != nil {
					text += *s.Value
				}
				if s.Key == "sasl.jaas.config" && (!s.Sensitive || s.Value != nil) {
					t.Errorf("%+v", s)
				}
			}
			if strings.Contains(text, "hush") {
				t.Error("a secret is told")
			}
			k.Close()
		}
	}
}
