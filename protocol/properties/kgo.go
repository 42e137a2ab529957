package properties

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Kgo turns the properties of a client of the operator's own, as of --command-config, into options of kgo. A setting that is
// neither followed nor of no consequence is refused by name.
func Kgo(kv map[string]string) ([]kgo.Opt, error) {
	s, err := ReadSecurity(kv, nil)
	if err != nil {
		return nil, err
	}
	setup := 3 * time.Second
	if value, given := kv["socket.connection.setup.timeout.ms"]; given {
		if setup, err = millis("socket.connection.setup.timeout.ms", value); err != nil {
			return nil, err
		}
	}
	opts := s.Kgo(setup)
	for _, name := range slices.Sorted(maps.Keys(kv)) {
		opt, err := kgoOption(name, kv[name])
		if err != nil {
			return nil, err
		}
		if opt != nil {
			opts = append(opts, opt)
		}
	}
	return opts, nil
}

func kgoOption(name, value string) (kgo.Opt, error) {
	switch name {
	case "client.id":
		return kgo.ClientID(value), nil
	case "request.timeout.ms":
		d, err := millis(name, value)
		return kgo.RequestTimeoutOverhead(max(d, 100*time.Millisecond)), err // least and most are kgo's
	case "default.api.timeout.ms":
		d, err := millis(name, value)
		return kgo.RetryTimeout(d), err
	}
	if Follows(name) || about(name) || OfNoConsequence(name) {
		return nil, nil
	}
	return nil, fmt.Errorf("%s is no setting that this client follows: remove it", strings.ToValidUTF8(fmt.Sprintf("%.80s", name), "?"))
}

func millis(name, value string) (time.Duration, error) {
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n < 1 || n > math.MaxInt32 {
		return 0, fmt.Errorf("%s=%q must be a number from 1 to %d", name, value, math.MaxInt32)
	}
	return time.Duration(n) * time.Millisecond, nil
}

// OfNoConsequence tells whether a setting of Kafka's clients is about their pace, buffers and measurements: what they do is
// the same without it.
func OfNoConsequence(name string) bool {
	for _, prefix := range []string{"metrics.", "metric.", "metadata.", "reconnect.", "retry.", "socket.connection.", "connections.", "auto.include.jmx."} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{"bootstrap.servers", "client.dns.lookup", "client.id", "default.api.timeout.ms", "enable.metrics.push",
		"receive.buffer.bytes", "request.timeout.ms", "retries", "send.buffer.bytes"}, name)
}

// Kgo are the options of kgo for it; setup is how long a connection may take with its TLS handshake. Certificates and
// passwords are read when kgo connects.
func (s Security) Kgo(setup time.Duration) (opts []kgo.Opt) {
	if m := s.Mechanism(); m != nil {
		opts = append(opts, kgo.SASL(m))
	}
	return append(opts, kgo.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, setup)
		defer cancel()
		nc, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return s.Secure(ctx, nc, addr)
	}))
}
