// Clusterd is one Kafka cluster in one process: several logical brokers, each with its own volume and
// listener, and mirrors to and from other clusters.
package main

import (
	"context"
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

// Run serves until SIGTERM or SIGINT. Exit codes: 0 closed cleanly, 1 could not start or serve, 3 gave up
// (panics over and over, or the control quorum lost).
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

func main() {
	var p program
	file, err := config.ReadFile(os.Args[1:])
	options := []kong.Option{kong.Name("clusterd"), kong.Description("A Kafka cluster in one process, mirrored synchronously to others."),
		kong.ShortUsageOnError(), kong.DefaultEnvars("LOCKSTEP"), kong.BindTo(os.Stdout, (*io.Writer)(nil))}
	if err == nil {
		options = append(options, kong.Resolvers(file), kong.Bind(file))
	}
	parser := kong.Must(&p, options...)
	parser.FatalIfErrorf(err)
	ctx, err := parser.Parse(os.Args[1:])
	parser.FatalIfErrorf(err)
	if err := ctx.Run(); err != nil {
		parser.Errorf("%s", err)
		os.Exit(1)
	}
}
