package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// runFile is run.json: where a running clusterd can be reached. It lies in the first data directory.
type runFile struct {
	ClusterID string        `json:"clusterId"`
	PID       int           `json:"pid"`
	Kafka     []kafkaListen `json:"kafka"`
	// Listeners are all of them; Kafka is the first.
	Listeners []listenerAddresses `json:"listeners"`
	NATS      string              `json:"nats"`
	HTTP      string              `json:"http"`
}

type kafkaListen struct {
	Broker  int32  `json:"broker"`
	Address string `json:"address"`
}

// listenerAddresses are those of one listener, in the order of brokers.
type listenerAddresses struct {
	Name      string   `json:"name"`
	Protocol  string   `json:"protocol"`
	Addresses []string `json:"addresses"`
}

func (d *Daemon) runPath() string { return filepath.Join(d.config.DataDir[0], "run.json") }

// announce writes run.json and returns the ready line, both with the addresses as they are.
func (d *Daemon) announce() (string, error) {
	run := runFile{ClusterID: string(d.cluster.ID()), PID: os.Getpid(), NATS: d.bus.URL(), HTTP: d.http.address()}
	kafka := ""
	for i, l := range d.listeners {
		at := listenerAddresses{Name: l.Name, Protocol: string(l.Protocol)}
		for _, b := range d.cluster.Brokers() {
			at.Addresses = append(at.Addresses, d.kafka[b.ID()][i])
			if i == 0 {
				run.Kafka = append(run.Kafka, kafkaListen{Broker: int32(b.ID()), Address: d.kafka[b.ID()][i]})
			}
		}
		run.Listeners = append(run.Listeners, at)
		if i > 0 {
			kafka += " kafka." + l.Name
		}
		kafka += "=" + strings.Join(at.Addresses, ",")
	}
	b, err := json.MarshalIndent(run, "", "  ")
	if err != nil {
		return "", err
	}
	draft := d.runPath() + ".tmp"
	if err := os.WriteFile(draft, append(b, '\n'), 0o600); err != nil {
		return "", fmt.Errorf("write run.json: %w", err)
	}
	if err := os.Rename(draft, d.runPath()); err != nil {
		return "", fmt.Errorf("write run.json: %w", err)
	}
	return fmt.Sprintf("ready cluster=%s kafka%s nats=%s http=%s", run.ClusterID, kafka, run.NATS, run.HTTP), nil
}

// withdraw removes this process's run.json.
func (d *Daemon) withdraw() {
	raw, err := os.ReadFile(d.runPath())
	if err != nil {
		return
	}
	var run runFile
	if json.Unmarshal(raw, &run) != nil || run.PID != os.Getpid() {
		return // another process serves from here
	}
	if err := os.Remove(d.runPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.log.Warn("run.json stays behind", "err", err)
	}
}
