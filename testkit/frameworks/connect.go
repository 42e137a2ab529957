package frameworks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/clusterd/process"
	"lockstep/testkit/jvm"
)

const (
	copied    = "copied"
	connector = "org.apache.kafka.connect.file.FileStream"
)

// copyThrough is a distributed Connect worker with a source that reads a file into a topic, exactly once, and a sink that
// writes the topic to another file, at least once.
type copyThrough struct {
	source, sink string // files
	in           *os.File
	log, config  string
	at           string // REST
	program      *jvm.Program
	retaken      int // tasks that had failed and were started again
	asked        time.Time
}

// whole finds a line wherever it stands: a worker that is killed leaves the beginning of one before the next.
var whole = regexp.MustCompile(`<line \d{8}>`)

func (c *copyThrough) start(r *run) {
	r.cluster.CreateTopic(r.job, copied, 3)
	dir := r.job.TempDir()
	c.source, c.sink = filepath.Join(dir, "source.txt"), filepath.Join(dir, "sink.txt")
	c.log, c.config = filepath.Join(dir, "connect.log"), filepath.Join(dir, "worker.properties")
	var err error
	if c.in, err = os.OpenFile(c.source, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		r.job.Fatal(err)
	}
	r.job.Cleanup(func() { c.in.Close() })
	if c.at, err = process.FreeAddress(); err != nil {
		r.job.Fatal(err)
	}
	if err := os.WriteFile(c.config, []byte(c.worker(r)), 0o600); err != nil {
		r.job.Fatal(err)
	}
	c.launch(r)
	r.job.Cleanup(func() { c.program.Kill() })
	c.make(r, "source", map[string]string{"connector.class": connector + "SourceConnector", "file": c.source, "topic": copied, "tasks.max": "1"})
	c.make(r, "sink", map[string]string{"connector.class": connector + "SinkConnector", "file": c.sink, "topics": copied, "tasks.max": "1",
		"consumer.override.auto.offset.reset": "earliest"})
}

func (c *copyThrough) worker(r *run) string {
	return strings.Join([]string{
		"bootstrap.servers=" + strings.Join(r.cluster.Bootstrap(), ","),
		"group.id=connect", "listeners=http://" + c.at,
		"key.converter=org.apache.kafka.connect.storage.StringConverter",
		"value.converter=org.apache.kafka.connect.storage.StringConverter",
		// Connect makes its own topics, and refuses to start unless they are compacted.
		"config.storage.topic=connect-configs", "offset.storage.topic=connect-offsets", "status.storage.topic=connect-status",
		"config.storage.replication.factor=3", "offset.storage.replication.factor=3", "status.storage.replication.factor=3",
		"offset.storage.partitions=3", "status.storage.partitions=2",
		"exactly.once.source.support=enabled", "connector.client.config.override.policy=All",
		"offset.flush.interval.ms=1000", "session.timeout.ms=6000", "heartbeat.interval.ms=1500", "consumer.session.timeout.ms=6000",
		"consumer.heartbeat.interval.ms=1500", "scheduled.rebalance.max.delay.ms=0", "plugin.discovery=service_load", "",
	}, "\n")
}

func (c *copyThrough) launch(r *run) {
	p, err := r.home.Start(c.log, "org.apache.kafka.connect.cli.ConnectDistributed", c.config)
	if err != nil {
		r.job.Fatal(err)
	}
	c.program = p
	r.await("the worker answers", func() (string, bool) {
		if err, ended := p.Ended(); ended {
			r.job.Fatalf("the worker ended: %v; its log is %s", err, c.log)
		}
		_, err := c.ask(http.MethodGet, "/connectors", nil)
		return fmt.Sprint(err, fileSize(c.log)), err == nil
	})
}

// ask is one REST request; an answer above 299 is an error.
func (c *copyThrough) ask(method, path string, body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+c.at+path, bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("ask the worker: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the worker: %w", err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, res.Status, answer)
	}
	return answer, err
}

func (c *copyThrough) make(r *run, name string, config map[string]string) {
	r.await("connector "+name+" is made", func() (string, bool) {
		_, err := c.ask(http.MethodPut, "/connectors/"+name+"/config", config)
		return fmt.Sprint(err), err == nil
	})
}

func line(n int) string { return fmt.Sprintf("<line %08d>", n) }

func (c *copyThrough) feed(_ context.Context, n int) error {
	_, err := fmt.Fprintln(c.in, line(n))
	return err
}

// out counts by size, since lines are of one length; doubles make it run ahead.
func (c *copyThrough) out() int { return int(fileSize(c.sink)) / (len(line(0)) + 1) }

func fileSize(name string) int64 {
	at, err := os.Stat(name)
	if err != nil {
		return 0 // not made yet
	}
	return at.Size()
}

func (c *copyThrough) kill(r *run) {
	c.program.Kill()
	c.launch(r)
}

// restart starts failed tasks again, as an operator would, and says why they had failed.
func (c *copyThrough) restart(r *run) {
	if time.Since(c.asked) < 2*time.Second {
		return
	}
	c.asked = time.Now()
	for _, name := range []string{"source", "sink"} {
		answer, err := c.ask(http.MethodGet, "/connectors/"+name+"/status", nil)
		if err != nil {
			continue // between two lives
		}
		var status struct {
			Tasks []struct {
				State string `json:"state"`
				Trace string `json:"trace"`
			} `json:"tasks"`
		}
		if json.Unmarshal(answer, &status) != nil {
			continue
		}
		for _, task := range status.Tasks {
			if task.State != "FAILED" {
				continue
			}
			if _, err := c.ask(http.MethodPost, "/connectors/"+name+"/restart?includeTasks=true&onlyFailed=true", nil); err != nil {
				continue
			}
			c.retaken++
			first, _, _ := strings.Cut(task.Trace, "\n\tat")
			r.job.Logf("a task of %s had failed and is started again: %s", name, first)
		}
	}
}

func (c *copyThrough) settle(r *run) result {
	var made result
	r.await("every line is in the sink", func() (string, bool) {
		c.restart(r)
		var err error
		made, err = judgeFile(c.sink, r.fed)
		return fmt.Sprintf("%d missing, %d bytes, %v", made.Missing, fileSize(c.sink), err), made.Missing == 0 && err == nil
	})
	made.Retaken = c.retaken
	made.Notes = append(made.Notes, fmt.Sprintf("the sink, at least once, has %d lines twice", made.Twice))
	seen := map[string]int{}
	topic := follow(r, copied, func(rec *kgo.Record) { seen[string(rec.Value)]++ })
	topic.toTheEnd(r)
	topic.mu.Lock()
	in := judgeLines(seen, r.fed)
	topic.mu.Unlock()
	made.Records = in.Records
	made.Missing += in.Missing
	made.Wrong += in.Wrong + in.Twice
	made.Notes = append(made.Notes, fmt.Sprintf("the topic, exactly once, has %d lines, %d missing, %d twice", in.Records, in.Missing, in.Twice))
	return made
}

func judgeFile(name string, fed int) (result, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return result{Missing: fed}, fmt.Errorf("read the sink: %w", err)
	}
	seen := map[string]int{}
	for _, l := range whole.FindAll(text, -1) {
		seen[string(l)]++
	}
	return judgeLines(seen, fed), nil
}

// judgeLines holds lines against the first so many that were fed.
func judgeLines(seen map[string]int, fed int) (made result) {
	left := len(seen)
	for n := range fed {
		times := seen[line(n)]
		made.Records += times
		switch {
		case times == 0:
			made.Missing++
		default:
			made.Twice += times - 1
			left--
		}
	}
	made.Wrong = left // lines that nobody fed
	return made
}
