package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/admin"
	"lockstep/protocol/messages"
)

// syncFetch is the Fetch version that carries MirrorReplicaInfo.
const syncFetch = 20

// probe asks the source whether it can gate, before any desired state is set (KIP, Command-Line Tool).
// A source that cannot be reached is a warning: the registration itself will be refused later.
func (c *mirrorsCommand) probe(ctx context.Context, cl *admin.Client) error {
	mirrors, err := cl.Describe(ctx, c.Mirror)
	if err != nil {
		return err
	}
	if len(mirrors) == 0 || mirrors[0].SourceBootstrap == "" {
		return fmt.Errorf("mirror %s has no bootstrap.servers: create it first", c.Mirror)
	}
	bootstrap := mirrors[0].SourceBootstrap
	opts, err := clientOptions("--source-config", c.SourceConfig)
	if err != nil {
		return err
	}
	source, err := admin.New(strings.Split(bootstrap, ","), opts...)
	if err != nil {
		return err
	}
	defer source.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "lockstep", "1"
	res, err := req.RequestWith(ctx, source.Kafka)
	if err != nil {
		fmt.Fprintf(os.Stderr, "Warning: source %s cannot be reached (%v); topics will be promoted when it can, or show why not\n", bootstrap, err)
		return nil
	}
	return compatible(bootstrap, res)
}

func compatible(bootstrap string, res *kmsg.ApiVersionsResponse) error {
	fetch := int16(-1)
	for _, k := range res.ApiKeys {
		if k.ApiKey == messages.KeyFetch {
			fetch = k.MaxVersion
		}
	}
	feature := int16(0)
	for _, f := range res.FinalizedFeatures {
		if f.Name == "mirror.sync.version" {
			feature = f.MaxVersionLevel
		}
	}
	switch {
	case fetch < syncFetch:
		return fmt.Errorf("source %s speaks Fetch up to version %d and cannot gate acknowledgements (needs %d): mirror it without --sync", bootstrap, fetch, syncFetch)
	case feature < 1:
		return fmt.Errorf("source %s has feature mirror.sync.version disabled: enable it there (kafka-features.sh upgrade --feature mirror.sync.version=1), or mirror without --sync", bootstrap)
	}
	return nil
}
