package config

import (
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"

	"lockstep/actors/core/access"
	"lockstep/clusterd/security"
)

// Listener is one of the ways into every broker.
type Listener struct {
	Name     string
	Protocol security.Protocol
	host     string
	port     int    // of broker 1, 0: any
	told     string // --advertise of it, host or host:port; "": host and the port it has
}

// protocolMap is where names of listeners get their protocols.
const protocolMap = "listener.security.protocol.map"

// listenerName is what a listener may be called.
var listenerName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Listeners are those of --kafka-listen, in that order. Each error names flag, value and remedy.
func (c *Config) Listeners() ([]Listener, error) {
	protocols, err := c.protocols()
	if err != nil {
		return nil, err
	}
	var list []Listener
	for _, text := range c.KafkaListen {
		l, err := parseListener(text, protocols)
		if err != nil {
			return nil, err
		}
		last := l.port + c.brokers() - 1
		if l.port != 0 && last > 65535 {
			return nil, fmt.Errorf("--kafka-listen %q: %d brokers need ports up to %d; use a lower port", text, c.brokers(), last)
		}
		for i, other := range list {
			if strings.EqualFold(other.Name, l.Name) {
				return nil, fmt.Errorf("--kafka-listen %q: %s is called %s, too; give one of them a name, as in NAME://host:port, and the protocol of that name in %s", text, c.KafkaListen[i], l.Name, protocolMap)
			}
			if other.overlaps(l, c.brokers()) {
				return nil, fmt.Errorf("--kafka-listen %q: %s takes ports %d to %d for %d brokers; choose others", text, c.KafkaListen[i], other.port, other.port+c.brokers()-1, c.brokers())
			}
		}
		list = append(list, l)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("--kafka-listen is empty: give host:port")
	}
	return list, c.advertise(list)
}

func parseListener(text string, protocols map[string]security.Protocol) (l Listener, err error) {
	name, address, named := strings.Cut(text, "://")
	if !named {
		name, address = string(security.Plaintext), text
	}
	l.Name = name
	l.host, l.port, err = splitPort(address)
	switch {
	case err != nil:
		return l, fmt.Errorf("--kafka-listen %q: %w; use host:port, or NAME://host:port", text, err)
	case !listenerName.MatchString(name):
		return l, fmt.Errorf("--kafka-listen %q: the name %q is not 1 to 64 of A-Z a-z 0-9 _ -", text, name)
	}
	var known bool
	if l.Protocol, known = protocols[strings.ToUpper(name)]; known {
		return l, nil
	}
	for _, p := range security.Protocols {
		if strings.EqualFold(name, string(p)) {
			l.Protocol = p
			return l, nil
		}
	}
	return l, fmt.Errorf("--kafka-listen %q: %s is no protocol: use one of %v, or say in %s what it speaks, as in %s:SASL_SSL", text, name, security.Protocols, protocolMap, name)
}

// protocols are those of listener.security.protocol.map, by names in upper case.
func (c *Config) protocols() (map[string]security.Protocol, error) {
	protocols := map[string]security.Protocol{}
	for item := range strings.SplitSeq(c.Set[protocolMap], ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		name, protocol, _ := strings.Cut(item, ":")
		known := false
		for _, p := range security.Protocols {
			if string(p) == strings.TrimSpace(protocol) {
				protocols[strings.ToUpper(strings.TrimSpace(name))], known = p, true
			}
		}
		if !known {
			return nil, fmt.Errorf("setting %s=%q: %q is not name:protocol with one of %v", protocolMap, c.Set[protocolMap], item, security.Protocols)
		}
	}
	return protocols, nil
}

// advertise gives each listener what clients are told: what has its name, else what stands in its place.
func (c *Config) advertise(list []Listener) error {
	if len(c.Advertise) > len(list) {
		return fmt.Errorf("--advertise is given %d times, and --kafka-listen %d times: give it once for each listener", len(c.Advertise), len(list))
	}
	for i, text := range c.Advertise {
		at := i
		name, address, named := strings.Cut(text, "://")
		if !named {
			address = text
		}
		for j := range list {
			if named && strings.EqualFold(list[j].Name, name) {
				at, named = j, false
			}
		}
		host, port, err := splitPort(address)
		switch bare := err != nil; {
		case named:
			return fmt.Errorf("--advertise %q: no listener is called %s; --kafka-listen names them", text, name)
		case list[at].told != "":
			return fmt.Errorf("--advertise %q: listener %s has %s already; keep one of them", text, list[at].Name, list[at].told)
		case bare && net.ParseIP(address) == nil && !hostName.MatchString(address), !bare && host == "":
			return fmt.Errorf("--advertise %q: use host or host:port", text)
		case !bare && (port == 0 || port+c.brokers()-1 > 65535):
			return fmt.Errorf("--advertise %q: %d brokers are told ports %d to %d; use 1 to 65535", text, c.brokers(), port, port+c.brokers()-1)
		}
		list[at].told = address
	}
	return nil
}

func (l Listener) overlaps(other Listener, brokers int) bool {
	return l.port != 0 && other.port != 0 && l.port < other.port+brokers && other.port < l.port+brokers &&
		(l.host == other.host || unspecified(l.host) || unspecified(other.host))
}

// Address is where broker i (0-based) listens.
func (l Listener) Address(i int) string {
	port := l.port
	if port != 0 {
		port += i
	}
	return net.JoinHostPort(l.host, strconv.Itoa(port))
}

// Advertised is what clients are told for broker i (0-based) that listens on port.
func (l Listener) Advertised(i, port int) (string, int) {
	if l.told == "" {
		return l.host, port
	}
	if host, first, err := splitPort(l.told); err == nil {
		return host, first + i
	}
	return l.told, port
}

// refuse says why a listener would serve everybody on a network by oversight.
func (c *Config) refuse(l Listener, text string) error {
	if loopback(l.host) || c.InsecureListen {
		return nil
	}
	asks, _ := c.of(l, "", "ssl.client.auth")
	switch {
	case !l.Protocol.TLS() && l.Protocol.SASL():
		return fmt.Errorf("--kafka-listen %q would serve plaintext beyond this machine, passwords of PLAIN and records: use a loopback address or SASL_SSL, or add --insecure-listen", text)
	case !l.Protocol.TLS():
		return fmt.Errorf("--kafka-listen %q would serve plaintext beyond this machine, without authentication: use a loopback address, or add --insecure-listen", text)
	case !l.Protocol.SASL() && asks != "required" && c.opensToAll():
		return fmt.Errorf("--kafka-listen %q would serve everybody beyond this machine: set ssl.client.auth=required, use SASL_SSL, or add --insecure-listen", text)
	default:
		return nil
	}
}

// opensToAll reports whether whoever is not asked for a name may do something for certain: there is no authorizer, or it lets
// ANONYMOUS do everything, or everybody what no ACL speaks of.
func (c *Config) opensToAll() bool {
	super, err := access.ParseSuperUsers(c.Set[access.SuperUsers])
	return c.Set[access.AuthorizerClass] == "" || c.Set[access.AllowIfNoACL] == "true" || err != nil || super[access.Anonymous]
}
