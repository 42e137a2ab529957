package main

import (
	"strings"

	"lockstep/protocol/admin"
)

// connect is a client of the cluster at host:port[,host:port], with the properties of --command-config if there are
// any. It connects lazily.
func connect(servers, config string) (*admin.Client, error) {
	opts, err := clientOptions("--command-config", config)
	if err != nil {
		return nil, err
	}
	return admin.New(strings.Split(servers, ","), opts...)
}
