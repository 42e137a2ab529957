package suites

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockstep/clusterd/process"
	"lockstep/testkit/binaries"
)

// Needs says what cluster a suite expects to find.
type Needs struct {
	Brokers int // of clusterd, ids from 1
	// KafkaBrokers are those of Kafka, a process each; 0: one, which is all that most suites look at.
	KafkaBrokers int
	Settings     map[string]string
	KafkaOnly    map[string]string // settings that clusterd does not have
	Port         int               // of broker 1, the others take the next ones; 0: any
	Advertise    string            // host:port that clients are told for broker 1, the others take the next ports; "": where it listens
	// Login adds a listener SASL_PLAINTEXT on LoginPort, 0: any, with the users of logins.go; told at localhost, as are the others.
	Login     bool
	LoginPort int
	// Authorizer asks ACLs, and allows what none speaks of.
	Authorizer bool
}

// Site is where a suite runs: a cluster that was started for it alone.
type Site struct {
	Bootstrap []string // as clients are told to begin
	Login     []string // the same of the listener that wants a login, if there is one
	Kafka     bool     // it is Apache Kafka
	Installed string   // the suite's directory
	Work      string   // an empty directory
	Log       string   // file of all output of the suite
}

// Replication is what a topic of the suite may have.
func (s Site) Replication() int { return min(3, len(s.Bootstrap)) }

// sorted are settings as KEY=VALUE.
func sorted(settings ...map[string]string) []string {
	var list []string
	for _, some := range settings {
		for k, v := range some {
			list = append(list, k+"="+v)
		}
	}
	slices.Sort(list)
	return list
}

// startClusterd starts one for the suite. Addresses are those that it listens on, not those it tells.
func startClusterd(ctx context.Context, n Needs, login int, dir string) (bootstrap []string, stop func() error, err error) {
	bin, err := binaries.Build()
	if err != nil {
		return nil, nil, err
	}
	spec := process.Spec{Binary: bin.Clusterd, Cluster: "suites", Dir: dir, Brokers: n.Brokers}
	for _, s := range sorted(n.Settings, n.access()) {
		spec.Args = append(spec.Args, "--set", s)
	}
	if n.Advertise != "" {
		spec.Args = append(spec.Args, "--advertise", n.Advertise)
	}
	if n.Login {
		file := filepath.Join(filepath.Dir(dir), "login.properties")
		if err := os.WriteFile(file, []byte(strings.Join(sorted(loginSettings), "\n")+"\n"), 0o600); err != nil {
			return nil, nil, err
		}
		spec.Args = append(spec.Args, "--config", file, "--kafka-listen", fmt.Sprintf("SASL_PLAINTEXT://127.0.0.1:%d", login),
			"--advertise", fmt.Sprintf("SASL_PLAINTEXT://localhost:%d", login))
	}
	if n.Port != 0 {
		base, err := process.FreePorts(2)
		if err != nil {
			return nil, nil, err
		}
		spec.KafkaPort, spec.NATSPort, spec.HTTPPort = n.Port, base, base+1
	}
	start, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	p, err := process.Start(start, spec)
	if err != nil {
		return nil, nil, err
	}
	return p.Bootstrap(), func() error {
		select {
		case <-p.Done():
			return fmt.Errorf("clusterd ended under the suite:\n%s", p.Log())
		default:
			return p.Stop(30 * time.Second)
		}
	}, nil
}

// startSite starts what against names and returns where it is.
func startSite(ctx context.Context, s Suite, against, installed, log string) (site Site, stop func() error, err error) {
	work, err := os.MkdirTemp("", "lockstep-suites-")
	if err != nil {
		return Site{}, nil, fmt.Errorf("make work directory: %w", err)
	}
	site = Site{Kafka: against == apacheKafka, Installed: installed, Work: filepath.Join(work, "suite"), Log: log}
	start, brokers := startClusterd, s.Needs.Brokers
	if site.Kafka {
		start, brokers = startKafka, max(1, s.Needs.KafkaBrokers)
	}
	end := func() error { return nil }
	login := s.Needs.LoginPort
	if err = os.Mkdir(site.Work, 0o755); err == nil && s.Needs.Login && login == 0 {
		login, err = process.FreePorts(brokers)
	}
	if err == nil {
		site.Bootstrap, end, err = start(ctx, s.Needs, login, filepath.Join(work, "cluster"))
	}
	if err == nil && s.Needs.Login {
		for i := range brokers {
			site.Login = append(site.Login, fmt.Sprintf("localhost:%d", login+i))
		}
		if err = addScramUser(ctx, site.Bootstrap); err != nil {
			err = errors.Join(err, end())
		}
	}
	if err != nil {
		os.RemoveAll(work)
		return Site{}, nil, err
	}
	return site, func() error {
		defer os.RemoveAll(work)
		return end()
	}, nil
}
