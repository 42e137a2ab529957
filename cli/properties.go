package main

import (
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/protocol/properties"
)

// propertiesOf reads the file of a flag.
func propertiesOf(flag, file string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", flag, err)
	}
	config, err := properties.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, file, err)
	}
	return config, nil
}

// clientOptions turns the file of --command-config, or another one of client properties, into options of the client.
func clientOptions(flag, file string) ([]kgo.Opt, error) {
	if file == "" {
		return nil, nil
	}
	config, err := propertiesOf(flag, file)
	if err != nil {
		return nil, err
	}
	opts, err := properties.Kgo(config)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, file, err)
	}
	return opts, nil
}
