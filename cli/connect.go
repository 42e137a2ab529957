package main

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"lockstep/protocol/admin"
)

// connect is a client of the cluster at host:port[,host:port], with the properties of --command-config if there are
// any. It connects lazily.
func connect(servers, config string) (*admin.Client, error) {
	seeds, err := addresses(servers)
	if err != nil {
		return nil, err
	}
	opts, err := clientOptions("--command-config", config)
	if err != nil {
		return nil, err
	}
	return admin.New(seeds, opts...)
}

// addresses takes host:port[,host:port] apart. A port is never guessed, as in Kafka's tools: another cluster of this machine
// would be told to fail over.
func addresses(servers string) ([]string, error) {
	var seeds []string
	for s := range strings.SplitSeq(servers, ",") {
		s = strings.TrimSpace(s)
		host, port, err := net.SplitHostPort(s)
		if n, wrong := strconv.ParseUint(port, 10, 16); err != nil || host == "" || wrong != nil || n == 0 {
			return nil, fmt.Errorf("--bootstrap-server %s: %q is not host:port; give the host and the port of a Kafka listener", servers, s)
		}
		seeds = append(seeds, s)
	}
	return seeds, nil
}
