package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// properties reads Java properties as far as Kafka's files use them: key=value lines and # comments.
func properties(text string) (map[string]string, error) {
	out := map[string]string{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" {
			return nil, fmt.Errorf("line %d %q is not key=value", i+1, line)
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("line %d sets %s a second time", i+1, name)
		}
		out[name] = strings.TrimSpace(value)
	}
	return out, nil
}

// clientOptions turns --command-config into options of the client. Settings that would change how we
// reach the cluster and that we cannot follow are refused, not ignored.
func clientOptions(file string) ([]kgo.Opt, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read --command-config: %w", err)
	}
	config, err := properties(string(text))
	if err != nil {
		return nil, fmt.Errorf("--command-config %s: %w", file, err)
	}
	var opts []kgo.Opt
	for name, value := range config {
		switch name {
		case "client.id":
			opts = append(opts, kgo.ClientID(value))
		case "security.protocol":
			if value != "PLAINTEXT" {
				return nil, fmt.Errorf("--command-config %s: security.protocol=%s is not supported yet, only PLAINTEXT", file, value)
			}
		default:
			if strings.HasPrefix(name, "ssl.") || strings.HasPrefix(name, "sasl.") {
				return nil, fmt.Errorf("--command-config %s: %s is not supported yet; remove it", file, name)
			}
		}
	}
	return opts, nil
}
