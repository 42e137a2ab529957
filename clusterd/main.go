// Clusterd is one Kafka cluster in one process: several logical brokers, each with its own volume and
// listener, and mirrors to and from other clusters.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"lockstep/clusterd/config"
	"lockstep/clusterd/daemon"
	"lockstep/clusterd/demo"
)

type program struct {
	Serve serve        `cmd:"" default:"withargs" help:"Run a cluster (the default)."`
	Demo  demo.Command `cmd:"" help:"Two datacenters, a real producer, a kill, a failover, the proof."`
}

type serve struct{ config.Config }

// Run serves until SIGTERM or SIGINT.
func (s *serve) Run(file *config.File) error {
	file.Into(&s.Config)
	if err := s.Check(); err != nil {
		return err
	}
	level := slog.LevelInfo
	if s.Debug {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	return daemon.Run(ctx, s.Config, log, os.Stdout)
}

// Exit codes: 0 closed cleanly, 1 could not start or serve, wrong arguments included. The cluster itself ends the
// process with 3 when it gives up: panics over and over, or the control quorum lost.
const exitError = 1

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	ended := -1
	failed := func(err error) int {
		fmt.Fprintf(stderr, "clusterd: %v\n", err)
		return exitError
	}
	file, err := config.ReadFile(args)
	if err != nil {
		return failed(err)
	}
	var p program
	parser := kong.Must(&p, kong.Name("clusterd"), kong.Description("A Kafka cluster in one process, mirrored synchronously to others."),
		kong.DefaultEnvars("LOCKSTEP"), kong.Writers(stdout, stderr), kong.Exit(func(code int) { ended = code }),
		kong.BindTo(stdout, (*io.Writer)(nil)), kong.Resolvers(file), kong.Bind(file))
	ctx, err := parser.Parse(args)
	if ended >= 0 {
		return ended // --help
	}
	if err != nil {
		return failed(fmt.Errorf("%w; clusterd --help lists commands and flags", err))
	}
	if err := ctx.Run(); err != nil {
		return failed(err)
	}
	return 0
}
