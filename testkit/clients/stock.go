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
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

//go:embed programs
var programs embed.FS

// Stock is one client as its users have it. Produce sends each line of a file as one record; Consume
// writes count record values as lines.
type Stock struct {
	Name    string
	Install func(ctx context.Context, dir string) error // dir is kept between runs
	Produce func(ctx context.Context, dir, bootstrap, topic, file string) error
	Consume func(ctx context.Context, dir, bootstrap, topic, file string, count int) error
}

// All clients of the matrix.
func All() []Stock { return []Stock{franz(), kcat(), java(), python(), kafkajs()} }

func franz() Stock {
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
			cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(bootstrap, ",")...), kgo.ConsumerGroup("franz-"+topic),
				kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
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
	}
}

func kcat() Stock {
	return Stock{
		Name: "librdkafka (kcat)",
		Install: func(ctx context.Context, _ string) error {
			if _, err := exec.LookPath("kcat"); err == nil {
				return nil
			}
			if err := run(ctx, "", "", "apt-get", "update", "-qq"); err != nil {
				return err
			}
			return run(ctx, "", "", "apt-get", "install", "-y", "-qq", "kcat")
		},
		Produce: func(ctx context.Context, _, bootstrap, topic, file string) error {
			return run(ctx, "", "", "kcat", "-b", bootstrap, "-P", "-t", topic, "-X", "enable.idempotence=true", "-l", file)
		},
		Consume: func(ctx context.Context, _, bootstrap, topic, file string, _ int) error {
			return run(ctx, file, "", "kcat", "-b", bootstrap, "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-f", "%s\n")
		},
	}
}

func java() Stock {
	tool := func(dir string, class string, args ...string) []string {
		return append([]string{"java", "-Xmx512m", "-cp", filepath.Join(dir, "lib", "*"), class}, args...)
	}
	return Stock{
		Name: "Java",
		Install: func(ctx context.Context, dir string) error {
			if _, err := os.Stat(filepath.Join(dir, "lib")); err == nil {
				return nil
			}
			if err := unpack(dir, "pom.xml"); err != nil {
				return err
			}
			return run(ctx, "", "", "mvn", "-q", "-B", "-f", filepath.Join(dir, "pom.xml"), "dependency:copy-dependencies",
				"-DincludeScope=runtime", "-DoutputDirectory="+filepath.Join(dir, "lib"))
		},
		Produce: func(ctx context.Context, dir, bootstrap, topic, file string) error {
			args := tool(dir, "org.apache.kafka.tools.ConsoleProducer", "--bootstrap-server", bootstrap, "--topic", topic,
				"--producer-property", "acks=all", "--producer-property", "linger.ms=5")
			return run(ctx, "", file, args...)
		},
		Consume: func(ctx context.Context, dir, bootstrap, topic, file string, count int) error {
			args := tool(dir, "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", bootstrap, "--topic", topic,
				"--from-beginning", "--max-messages", strconv.Itoa(count), "--timeout-ms", "60000")
			return run(ctx, file, "", args...)
		},
	}
}

func python() Stock {
	at := func(dir string) string { return filepath.Join(dir, "venv", "bin", "python") }
	return Stock{
		Name: "kafka-python",
		Install: func(ctx context.Context, dir string) error {
			if err := unpack(dir, "client.py"); err != nil {
				return err
			}
			if run(ctx, "", "", at(dir), "-c", "import kafka") == nil {
				return nil
			}
			if err := run(ctx, "", "", "python3", "-m", "venv", filepath.Join(dir, "venv")); err != nil {
				return err
			}
			return run(ctx, "", "", at(dir), "-m", "pip", "install", "-q", "kafka-python==3.0.12")
		},
		Produce: func(ctx context.Context, dir, bootstrap, topic, file string) error {
			return run(ctx, "", "", at(dir), filepath.Join(dir, "client.py"), "produce", bootstrap, topic, file, "0")
		},
		Consume: func(ctx context.Context, dir, bootstrap, topic, file string, count int) error {
			return run(ctx, "", "", at(dir), filepath.Join(dir, "client.py"), "consume", bootstrap, topic, file, strconv.Itoa(count))
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
			return run(ctx, "", "", "npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", dir, "kafkajs@2.2.4")
		},
		Produce: func(ctx context.Context, dir, bootstrap, topic, file string) error {
			return run(ctx, "", "", "node", filepath.Join(dir, "client.js"), "produce", bootstrap, topic, file, "0")
		},
		Consume: func(ctx context.Context, dir, bootstrap, topic, file string, count int) error {
			return run(ctx, "", "", "node", filepath.Join(dir, "client.js"), "consume", bootstrap, topic, file, strconv.Itoa(count))
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

// run executes a program with its standard streams at files, and puts what it complained about into
// the error.
func run(ctx context.Context, stdout, stdin string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	if stdin != "" {
		in, err := os.Open(stdin)
		if err != nil {
			return err
		}
		defer in.Close()
		cmd.Stdin = in
	}
	if stdout != "" {
		out, err := os.Create(stdout)
		if err != nil {
			return err
		}
		defer out.Close()
		cmd.Stdout = out
	}
	if err := cmd.Run(); err != nil {
		text := complaint.String()
		return fmt.Errorf("%s: %w\n%s", args[0], err, text[max(0, len(text)-2000):])
	}
	return nil
}
