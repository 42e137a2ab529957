package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"lockstep/protocol/admin"
)

// recoverTopics takes topics that cannot be mirrored on back to mirroring.
func (c *mirrorsCommand) recoverTopics(ctx context.Context, w io.Writer, cl *admin.Client) error {
	names, err := c.matching(ctx, cl)
	if err != nil {
		return err
	}
	results, err := cl.RecoverTopics(ctx, c.Mirror, names, c.AcceptSource)
	if err != nil {
		return err
	}
	progress := c.progress(w)
	done, err := report(progress, results)
	if len(done) > 0 {
		fmt.Fprintf(progress, "Recovering %d topic(s) of mirror %s: %s\n", len(done), c.Mirror, done)
	}
	return c.ended(ctx, w, cl, "recover", results, err)
}

// partitionsCommand is what an operator decides about partitions of this cluster itself.
type partitionsCommand struct {
	AcceptLoss acceptLoss `cmd:"" name:"accept-loss" help:"Let the best LOSSY replica lead a partition that has no intact one. Acknowledged records may be missing from then on."`
}

type acceptLoss struct {
	BootstrapServer string  `name:"bootstrap-server" required:"" help:"Kafka listeners of the cluster, host:port[,host:port]."`
	CommandConfig   string  `name:"command-config" type:"existingfile" help:"Client properties for this tool."`
	Topic           string  `required:"" help:"The topic."`
	Partition       []int32 `help:"Its partitions, comma separated; without it all that nobody leads."`
}

func (c *acceptLoss) Run(w io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	cl, err := connect(c.BootstrapServer, c.CommandConfig)
	if err != nil {
		return err
	}
	defer cl.Close()
	results, err := cl.AcceptLoss(ctx, c.Topic, c.Partition...)
	if err != nil {
		return err
	}
	if len(results) == 0 {
		fmt.Fprintf(w, "Every partition of %s has a leader: nothing is lost\n", c.Topic)
		return nil
	}
	done, err := report(w, results)
	if len(done) > 0 {
		fmt.Fprintf(w, "Accepted the loss of %s: records acknowledged before may be missing, and mirrors keep what they have until their operator decides\n", done)
	}
	return err
}
