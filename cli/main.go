// Command clusterctl is the operator's hand: mirrors, brokers and journals of a clusterd. Under the
// names kafka-cluster-mirrors and kafka-cluster-mirrors.sh it is the KIP's tool, with the KIP's flags.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
)

// Exit codes: 0 done, 1 error, 2 checked and not as wanted.
const (
	exitError    = 1
	exitUnwanted = 2
)

// errUnwanted marks the outcome of a check that was carried out and did not find what was wanted.
var errUnwanted = errors.New("not as wanted")

type program struct {
	Mirrors    mirrorsCommand    `cmd:"" help:"Create, start, stop, alter, describe and release mirrors (the KIP's flags)."`
	Targets    targetsCommand    `cmd:"" help:"Ask every destination of a lost source which of them to fail over to."`
	Brokers    brokersCommand    `cmd:"" help:"List, stop and start the logical brokers of a clusterd."`
	Partitions partitionsCommand `cmd:"" help:"Decide about partitions that nobody may lead."`
	Journal    journalCommand    `cmd:"" help:"Dump, verify and rebuild journals."`
}

// mirrorsProgram is the same tool under the KIP's name.
type mirrorsProgram struct{ mirrorsCommand }

func main() { os.Exit(run(os.Args, os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	name := filepath.Base(args[0])
	var grammar any = &program{}
	if strings.TrimSuffix(name, ".sh") == "kafka-cluster-mirrors" {
		grammar = &mirrorsProgram{}
	}
	ended := -1
	parser, err := kong.New(grammar, kong.Name(name), kong.UsageOnError(), kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { ended = code }), kong.BindTo(stdout, (*io.Writer)(nil)))
	if err != nil {
		panic(err) // the grammar is ours
	}
	ctx, err := parser.Parse(args[1:])
	if ended >= 0 {
		return ended // --help
	}
	if err == nil {
		err = ctx.Run()
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUnwanted):
		fmt.Fprintln(stderr, err)
		return exitUnwanted
	default:
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return exitError
	}
}
