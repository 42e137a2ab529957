// Command testkit is everything long or real: one program, one subcommand per kind of proof.
package main

import (
	"github.com/alecthomas/kong"

	"lockstep/testkit/authorizer"
	"lockstep/testkit/checker"
	"lockstep/testkit/clients"
	"lockstep/testkit/connections"
	"lockstep/testkit/crash"
	"lockstep/testkit/faults"
	"lockstep/testkit/frameworks"
	"lockstep/testkit/fuzz"
	"lockstep/testkit/model"
	"lockstep/testkit/mutants"
	"lockstep/testkit/rules"
	"lockstep/testkit/sim"
	"lockstep/testkit/storm"
	"lockstep/testkit/suites"
	"lockstep/testkit/system"
	"lockstep/testkit/transactions"
)

type program struct {
	Authorizer  authorizer.Command   `cmd:"" help:"Random ACLs and questions about them; Kafka's own StandardAuthorizer must say the same."`
	Checker     checker.Command      `cmd:"" help:"Clients of every kind write down what they did and saw under kill -9 and broker stops; no history may break a promise of Kafka."`
	Clients     clients.Command      `cmd:"" help:"Stock clients in several languages write and read the same topic; digests must agree."`
	Connections connections.Command  `cmd:"" help:"What thousands of idle connections cost those that work: latency, pairwise, and memory."`
	Crash       crash.Command        `cmd:"" help:"kill -9 of one clusterd under load, again and again; every acknowledged record must be there."`
	Faults      faults.Command       `cmd:"" help:"Two or three clusters for minutes under random faults between them; nothing lost, every refusal right."`
	Frames      frameworks.Command   `cmd:"" name:"frameworks" help:"Kafka Streams and Kafka Connect over a clusterd that is killed and whose brokers are stopped; what comes out must be what went in."`
	Fuzz        fuzz.Command         `cmd:"" help:"Every fuzz target for some time: decoders neither panic nor allocate what the bytes do not pay for."`
	Model       model.Command        `cmd:"" help:"Every schedule of a small mirrored partition, and of its registration, within bounds, through the shipped machines."`
	Mutants     mutants.Command      `cmd:"" help:"Every finding and every wording that loses in a model: the rule that answers it, and what notices when it is off."`
	Rules       rules.Command        `cmd:"" help:"Switch every rule of the protocol off in turn; a test must notice each."`
	Sim         sim.Command          `cmd:"" help:"Whole clusters under one seed: faults of disks, networks, clocks and people; nothing acknowledged may be lost."`
	Storm       storm.Command        `cmd:"" help:"Kills, pauses and cuts on both sides of a mirror at random instants, then failover; lost and twice must be 0."`
	Suites      suites.Command       `cmd:"" help:"Public test suites of clients, unchanged, against clusterd or Apache Kafka."`
	Txn         transactions.Command `cmd:"" name:"transactions" help:"Transactions under kill -9 and broker stops: none that was aborted is read, each that was committed once."`
	System      system.Command       `cmd:"" help:"The System Tests of the draft's Test Plan."`
}

func main() {
	ctx := kong.Parse(&program{}, kong.Name("testkit"), kong.Description("Long and real tests of lockstep."), kong.UsageOnError())
	ctx.FatalIfErrorf(ctx.Run())
}
