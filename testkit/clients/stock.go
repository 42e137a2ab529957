package clients

import (
	"bufio"
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/testkit/fetched"
	"lockstep/testkit/jvm"
)

//go:embed programs
var programs embed.FS

// Stock is one client as its users have it. Produce sends each line of a file as one record; Consume
// writes count record values as lines; it reads what is committed. Transact, where a client can, sends each line as one
// record in transactions of 500, and before each transaction one with the same lines, "aborted-" before them, that it
// aborts.
type Stock struct {
	Name     string
	Folder   string                                      // of its installation, where it shares another client's; "": by its name
	Install  func(ctx context.Context, dir string) error // dir is kept between runs
	Produce  func(ctx context.Context, dir, bootstrap, topic, file string) error
	Consume  func(ctx context.Context, dir, bootstrap, topic, file string, count int) error
	Transact func(ctx context.Context, dir, bootstrap, topic, file string) error
}

const linesPerTransaction = 500

// All clients of the matrix.
func All() []Stock {
	return append([]Stock{franz(), kcat(), java(), python(), confluent(), kafkajs()}, nextGen()...)
}

func franz(consume ...kgo.Opt) Stock {
	return Stock{
		Name:    "franz-go",
		Install: func(context.Context, string) error { return nil },
		Produce: func(ctx context.Context, _, bootstrap, topic, file string) error {
			// Its default is snappy, which kafkajs and a bare kafka-python cannot read; gzip is everybody's.
			cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(bootstrap, ",")...), kgo.DefaultProduceTopic(topic),
				kgo.ProducerBatchCompression(kgo.GzipCompression()))
			if err != nil {
				return err
			}
			defer cl.Close()
			in, err := os.Open(file)
			if err != nil {
				return err
			}
			defer in.Close()
			var first kgo.FirstErrPromise
			for lines := bufio.NewScanner(in); lines.Scan(); {
				cl.Produce(ctx, &kgo.Record{Value: []byte(lines.Text())}, first.Promise())
			}
			return first.Err()
		},
		Consume: func(ctx context.Context, _, bootstrap, topic, file string, count int) error {
			cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(strings.Split(bootstrap, ",")...), kgo.ConsumerGroup("franz-" + topic),
				kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted())}, consume...)...)
			if err != nil {
				return err
			}
			defer cl.Close()
			out, err := os.Create(file)
			if err != nil {
				return err
			}
			w := bufio.NewWriter(out)
			for count > 0 {
				f := cl.PollFetches(ctx)
				if err := f.Err0(); err != nil {
					return fmt.Errorf("%d records missing: %w", count, err)
				}
				f.EachRecord(func(r *kgo.Record) { fmt.Fprintf(w, "%s\n", r.Value); count-- })
			}
			if err := w.Flush(); err != nil {
				return err
			}
			return out.Close()
		},
		Transact: franzTransacts,
	}
}

func kcat() Stock {
	return Stock{
		Name: "librdkafka (kcat)",
		Install: func(ctx context.Context, _ string) error {
			if _, err := exec.LookPath("kcat"); err == nil {
				return nil
			}
			if err := fetched.Run(ctx, "", "", "apt-get", "update", "-qq"); err != nil {
				return err
			}
			return fetched.Run(ctx, "", "", "apt-get", "install", "-y", "-qq", "kcat")
		},
		Produce: func(ctx context.Context, _, bootstrap, topic, file string) error {
			return fetched.Run(ctx, "", "", "kcat", "-b", bootstrap, "-P", "-t", topic, "-X", "enable.idempotence=true", "-l", file)
		},
		Consume: func(ctx context.Context, _, bootstrap, topic, file string, _ int) error {
			return fetched.Run(ctx, file, "", "kcat", "-b", bootstrap, "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-f", "%s\n")
		},
	}
}

func java(consume ...string) Stock {
	tool := func(dir string, class string, args ...string) []string { return jvm.Home(dir).Args(class, args...) }
	return Stock{
		Name: "Java",
		Install: func(ctx context.Context, dir string) error {
			pom, err := programs.ReadFile("programs/pom.xml")
			if err != nil {
				return err
			}
			return jvm.Home(dir).Install(ctx, pom)
		},
		Produce: func(ctx context.Context, dir, bootstrap, topic, file string) error {
			args := tool(dir, "org.apache.kafka.tools.ConsoleProducer", "--bootstrap-server", bootstrap, "--topic", topic,
				"--producer-property", "acks=all", "--producer-property", "linger.ms=5")
			return fetched.Run(ctx, "", file, args...)
		},
		Consume: func(ctx context.Context, dir, bootstrap, topic, file string, count int) error {
			args := tool(dir, "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", bootstrap, "--topic", topic,
				"--from-beginning", "--isolation-level", "read_committed", "--max-messages", strconv.Itoa(count), "--timeout-ms", "60000")
			return fetched.Run(ctx, file, "", append(args, consume...)...)
		},
		Transact: func(ctx context.Context, dir, bootstrap, topic, file string) error {
			source, err := programs.ReadFile("programs/Transact.java")
			if err != nil {
				return err
			}
			if err := jvm.Home(dir).Compile(ctx, "Transact.java", source); err != nil {
				return err
			}
			return fetched.Run(ctx, "", "", tool(dir, "Transact", bootstrap, topic, file)...)
		},
	}
}

func python() Stock { return pythons("kafka-python", "kafka-python==3.0.12", "kafka", "client.py") }

// confluent is librdkafka with everything that kcat does not show.
func confluent(consume ...string) Stock {
	return pythons("confluent-kafka", "confluent-kafka==2.12.1", "confluent_kafka", "confluent.py", consume...)
}

func pythons(name, release, module, program string, consume ...string) Stock {
	at := func(dir string) string { return filepath.Join(dir, "venv", "bin", "python") }
	play := func(ctx context.Context, verb, dir, bootstrap, topic, file string, count int, more ...string) error {
		return fetched.Run(ctx, "", "", append([]string{at(dir), filepath.Join(dir, program), verb, bootstrap, topic, file, strconv.Itoa(count)}, more...)...)
	}
	return Stock{
		Name: name,
		Install: func(ctx context.Context, dir string) error {
			if err := unpack(dir, program); err != nil {
				return err
			}
			_, err := fetched.Venv(ctx, dir, module, release)
			return err
		},
		Produce: func(ctx context.Context, dir, bootstrap, topic, file string) error {
			return play(ctx, "produce", dir, bootstrap, topic, file, 0)
		},
		Consume: func(ctx context.Context, dir, bootstrap, topic, file string, count int) error {
			return play(ctx, "consume", dir, bootstrap, topic, file, count, consume...)
		},
		Transact: func(ctx context.Context, dir, bootstrap, topic, file string) error {
			return play(ctx, "transact", dir, bootstrap, topic, file, linesPerTransaction)
		},
	}
}

func kafkajs() Stock {
	return Stock{
		Name: "kafkajs (Node)",
		Install: func(ctx context.Context, dir string) error {
			if err := unpack(dir, "client.js"); err != nil {
				return err
			}
			if _, err := os.Stat(filepath.Join(dir, "node_modules", "kafkajs")); err == nil {
				return nil
			}
			return fetched.Run(ctx, "", "", "npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", dir, "kafkajs@2.2.4")
		},
		Produce: func(ctx context.Context, dir, bootstrap, topic, file string) error {
			return fetched.Run(ctx, "", "", "node", filepath.Join(dir, "client.js"), "produce", bootstrap, topic, file, "0")
		},
		Consume: func(ctx context.Context, dir, bootstrap, topic, file string, count int) error {
			return fetched.Run(ctx, "", "", "node", filepath.Join(dir, "client.js"), "consume", bootstrap, topic, file, strconv.Itoa(count))
		},
		Transact: func(ctx context.Context, dir, bootstrap, topic, file string) error {
			return fetched.Run(ctx, "", "", "node", filepath.Join(dir, "client.js"), "transact", bootstrap, topic, file, strconv.Itoa(linesPerTransaction))
		},
	}
}

func unpack(dir, name string) error {
	text, err := programs.ReadFile("programs/" + name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), text, 0o644)
}
