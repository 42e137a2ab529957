package suites

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/clusterd/process"
	"lockstep/testkit/fetched"
	"lockstep/testkit/jvm"
)

const (
	apacheKafka  = "kafka"
	kafkaVersion = "4.2.0" // as in kafka.xml
)

//go:embed kafka.xml
var kafkaPOM []byte

// kafkaHome has Kafka and its tools.
func kafkaHome(ctx context.Context) (jvm.Home, error) {
	home, err := jvm.At("Kafka-" + kafkaVersion)
	if err != nil {
		return "", err
	}
	return home, home.Install(ctx, kafkaPOM)
}

// startKafka starts Apache Kafka: broker 1 is the controller as well, and what a topic of its own would be replicated to
// is as many brokers as there are.
func startKafka(ctx context.Context, n Needs, login int, dir string) (bootstrap []string, stop func() error, err error) {
	kafka, err := kafkaHome(ctx)
	if err != nil {
		return nil, nil, err
	}
	base, port, err := kafkaPorts(n)
	if err != nil {
		return nil, nil, err
	}
	var nodes []*jvm.Program
	end := func() error {
		for _, node := range nodes {
			node.Kill()
		}
		return nil
	}
	for id := 1; id <= max(1, n.KafkaBrokers); id++ {
		node, err := startKafkaBroker(ctx, kafka, n, id, port, base, login, filepath.Join(dir, fmt.Sprint("broker-", id)))
		if err != nil {
			_ = end()
			return nil, nil, fmt.Errorf("start Kafka: %w", err)
		}
		nodes = append(nodes, node)
		bootstrap = append(bootstrap, fmt.Sprintf("127.0.0.1:%d", port+id-1))
	}
	if err := answered(ctx, bootstrap); err != nil {
		_ = end()
		return nil, nil, fmt.Errorf("start Kafka: %w", err)
	}
	return bootstrap, func() error {
		for _, node := range nodes {
			if err, ended := node.Ended(); ended {
				return errors.Join(fmt.Errorf("Kafka ended under the suite: %w", err), end())
			}
		}
		return end()
	}, nil
}

func startKafkaBroker(ctx context.Context, kafka jvm.Home, n Needs, id, port, controller, login int, dir string) (*jvm.Program, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "server.properties")
	if err := os.WriteFile(file, []byte(kafkaProperties(n, id, port, controller, login, dir)), 0o644); err != nil {
		return nil, err
	}
	format := kafka.Args("kafka.tools.StorageTool", "format", "--cluster-id", "bG9ja3N0ZXAtc3VpdGVzIQ", "--config", file)
	if err := fetched.Run(ctx, filepath.Join(dir, "format.log"), "", format...); err != nil {
		return nil, err
	}
	return kafka.Start(filepath.Join(dir, "kafka.log"), "kafka.Kafka", file)
}

func kafkaPorts(n Needs) (controller, first int, err error) {
	brokers := max(1, n.KafkaBrokers)
	base, err := process.FreePorts(2*brokers + 1) // the controller, what brokers tell each other, and clients
	if err != nil || n.Port == 0 {
		return base, base + 1 + brokers, err
	}
	return base, n.Port, nil
}

func kafkaProperties(n Needs, id, first, controller, login int, home string) string {
	replicas := min(3, max(1, n.KafkaBrokers))
	within := fmt.Sprintf("INTERNAL://127.0.0.1:%d", controller+id)
	roles, listeners := "broker", fmt.Sprintf("PLAINTEXT://127.0.0.1:%d,%s", first+id-1, within)
	if id == 1 {
		roles, listeners = "broker,controller", fmt.Sprintf("%s,CONTROLLER://127.0.0.1:%d", listeners, controller)
	}
	advertised := fmt.Sprintf("127.0.0.1:%d", first+id-1)
	if n.Advertise != "" {
		host, port, _ := strings.Cut(n.Advertise, ":")
		var p int
		fmt.Sscan(port, &p)
		advertised = fmt.Sprintf("%s:%d", host, p+id-1)
	}
	told, protocols, more := "PLAINTEXT://"+advertised+","+within, "PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT", map[string]string(nil)
	if n.Login {
		more = loginSettings
		listeners += fmt.Sprintf(",SASL_PLAINTEXT://127.0.0.1:%d", login+id-1)
		told += fmt.Sprintf(",SASL_PLAINTEXT://localhost:%d", login+id-1)
		protocols += ",SASL_PLAINTEXT:SASL_PLAINTEXT"
	}
	set := append([]string{
		fmt.Sprint("node.id=", id), "process.roles=" + roles, "listeners=" + listeners,
		"advertised.listeners=" + told, "inter.broker.listener.name=INTERNAL", "listener.security.protocol.map=" + protocols,
		"controller.listener.names=CONTROLLER", fmt.Sprintf("controller.quorum.voters=1@127.0.0.1:%d", controller),
		"log.dirs=" + filepath.Join(home, "log"),
		fmt.Sprint("offsets.topic.replication.factor=", replicas), fmt.Sprint("transaction.state.log.replication.factor=", replicas),
		fmt.Sprint("transaction.state.log.min.isr=", min(2, replicas)), "offsets.topic.num.partitions=3", "transaction.state.log.num.partitions=3",
	}, sorted(n.Settings, n.KafkaOnly, n.access(), more)...)
	return strings.Join(set, "\n") + "\n"
}

// answered waits until each of the addresses answers a client.
func answered(ctx context.Context, bootstrap []string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(bootstrap...))
	if err != nil {
		return err
	}
	defer cl.Close()
	for again := time.NewTicker(500 * time.Millisecond); ; {
		err := cl.Ping(ctx)
		if err == nil {
			if len(cl.DiscoveredBrokers()) >= len(bootstrap) {
				return nil
			}
			cl.ForceMetadataRefresh()
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d brokers answered: %w", len(cl.DiscoveredBrokers()), len(bootstrap), ctx.Err())
		}
	}
}
