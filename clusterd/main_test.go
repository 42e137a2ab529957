package main

import (
	"testing"

	"github.com/alecthomas/kong"

	"lockstep/clusterd/config"
)

func TestBareClusterdIsServe(t *testing.T) {
	for _, args := range [][]string{{}, {"serve"}, {"--cluster-id", "dc1"}, {"serve", "--cluster-id", "dc1"}} {
		var p program
		parser, err := kong.New(&p, kong.Bind(&config.File{}), kong.DefaultEnvars("LOCKSTEP"))
		if err != nil {
			t.Fatal(err)
		}
		ctx, err := parser.Parse(args)
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		if ctx.Command() != "serve" || p.Serve.KafkaListen != "127.0.0.1:9092" || len(p.Serve.Dirs()) != 3 {
			t.Fatalf("%v is %q: %+v", args, ctx.Command(), p.Serve)
		}
	}
}
