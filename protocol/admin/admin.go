// Package admin asks a cluster to do what operators of mirrors want, over its Kafka port: the Admin interface of the KIPs for
// Go programs. createClusterMirror is CreateMirror; addTopicsToMirror AddTopics, or StartTopics with patterns;
// registerMirrorSyncTopics RegisterSyncTopics; unregisterMirrorSyncTopics UnregisterSyncTopics; alterMirrorTopicType
// AlterTypes; recoverMirrorTopics RecoverTopics; stopMirrorTopics StopTopics; listClusterMirrors List and
// describeClusterMirrors Describe. Release, SwitchTopics, FailTopics, Sources and AcceptLoss are ours. Results are per
// topic; the error beside them is of the request as a whole. Refusals are of type *Error.
package admin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// Client talks to one cluster. Methods may be called from any goroutine.
type Client struct {
	Kafka *kgo.Client
	seeds []string // as the operator gave them
}

// Versions are the ones we send: Kafka's stable ones and every API of our own at its newest. kgo refuses
// keys it does not find here.
func Versions() *kversion.Versions {
	v := kversion.Stable()
	for _, a := range messages.APIs() {
		if a.Own {
			v.SetMaxKeyVersion(a.Key, a.Max)
		}
	}
	return v
}

// New connects lazily; an unreachable cluster shows at the first call.
func New(seeds []string, opts ...kgo.Opt) (*Client, error) {
	base := []kgo.Opt{kgo.SeedBrokers(seeds...), kgo.MaxVersions(Versions()), kgo.DialTimeout(3 * time.Second),
		kgo.RetryTimeout(10 * time.Second), kgo.ClientID("lockstep-admin")}
	cl, err := kgo.NewClient(append(base, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("make client for %v: %w", seeds, err)
	}
	return &Client{Kafka: cl, seeds: seeds}, nil
}

// Close drops the connections.
func (c *Client) Close() { c.Kafka.Close() }

// Error is a refusal by the cluster.
type Error struct {
	Code perr.Code
	Text string
}

func (e *Error) Error() string {
	if e.Text == "" {
		return e.Code.Name() + ": " + e.Code.Message()
	}
	return e.Code.Name() + ": " + e.Text
}

// refusal is nil for code 0.
func refusal(code int16, text *string) error {
	if code == 0 {
		return nil
	}
	e := &Error{Code: perr.Code(code)}
	if text != nil {
		e.Text = *text
	}
	return e
}

// unanswered says which cluster it was, and what to look at when no connection came about.
func (c *Client) unanswered(err error) error {
	if errors.Is(err, kerr.SaslAuthenticationFailed) || errors.Is(err, kerr.UnsupportedSaslMechanism) || errors.Is(err, kerr.IllegalSaslState) {
		return fmt.Errorf("the cluster at %s does not let us in: %w; see sasl.mechanism and sasl.jaas.config", strings.Join(c.seeds, ","), err)
	}
	var network *net.OpError
	if errors.As(err, &network) && !strings.HasSuffix(network.Op, "error") { // TLS has its alerts as such
		return fmt.Errorf("no broker answers at %s: %w; is the cluster running, and is this its Kafka listener?", strings.Join(c.seeds, ","), err)
	}
	var ended *kgo.ErrFirstReadEOF
	if errors.As(err, &ended) {
		return fmt.Errorf("a broker of %s closed the connection: it may be stopping, see its log, or its listener wants a security.protocol other than ours; else this is not its Kafka listener", strings.Join(c.seeds, ","))
	}
	// The client's error for a first answer that is no frame has no type; it is what any other listener of ours causes.
	if strings.Contains(err.Error(), "invalid large response size") {
		return fmt.Errorf("what answers at %s does not speak Kafka in the clear: %w; give its Kafka listener, and the security.protocol that it has", strings.Join(c.seeds, ","), err)
	}
	return fmt.Errorf("ask the cluster at %s: %w", strings.Join(c.seeds, ","), err)
}

// ask sends req and returns the answer as its own type.
func ask[R kmsg.Response](ctx context.Context, c *Client, req kmsg.Request) (R, error) {
	var none R
	res, err := c.Kafka.Request(ctx, req)
	if err != nil {
		return none, c.unanswered(err)
	}
	typed, ok := res.(R)
	if !ok {
		return none, fmt.Errorf("answer to API key %d is a %T", req.Key(), res)
	}
	return typed, nil
}

// TopicResult is what became of one topic. Warning may stand beside success.
type TopicResult struct {
	Topic   string
	Err     error
	Warning string
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
