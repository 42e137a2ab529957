package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// natsSchemes are what a NATS client dials.
var natsSchemes = []string{"nats", "tls", "ws", "wss"}

// validateNATS looks at the addresses of NATS. A client given one that it cannot dial tries for ever, and the cluster
// would only be slower, without a word.
func (c *Config) validateNATS() error {
	for _, l := range []struct{ flag, value string }{{"--nats-url", c.NATSURL}, {"--nats-advertise", c.NATSAdvertise}} {
		if l.value == "" {
			continue
		}
		for server := range strings.SplitSeq(l.value, ",") {
			if err := checkNATS(strings.TrimSpace(server)); err != nil {
				return fmt.Errorf("%s %q: %w; use nats://host:port, several separated by commas", l.flag, l.value, err)
			}
		}
	}
	if strings.Contains(c.NATSURL, "@") && c.NATSAdvertise == "" {
		return fmt.Errorf("--nats-url has a user or password, which every Kafka client could read as %s: add --nats-advertise with what mirrors of this cluster are to use", "lockstep.nats.url")
	}
	return nil
}

func checkNATS(server string) error {
	if !strings.Contains(server, "://") {
		server = "nats://" + server
	}
	u, err := url.Parse(server)
	switch {
	case err != nil:
		return fmt.Errorf("it is not a URL")
	case !slices.Contains(natsSchemes, u.Scheme):
		return fmt.Errorf("scheme %q is none of %s", u.Scheme, strings.Join(natsSchemes, ", "))
	case u.Hostname() == "" || strings.Count(u.Host, ":") > 1 && u.Host[0] != '[':
		return fmt.Errorf("it names no host")
	case u.Port() != "" && !validPort(u.Port()):
		return fmt.Errorf("port %q is not 1 to 65535", u.Port())
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("%q is not part of an address", strings.TrimPrefix(server, u.Scheme+"://"+u.Host))
	}
	return nil
}

func validPort(text string) bool {
	_, port, err := splitPort("host:" + text)
	return err == nil && port > 0
}
