package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"lockstep/actors/core"
)

const (
	// reconnectWait is short because everything sent meanwhile is lost and repeated afterwards.
	reconnectWait = 200 * time.Millisecond
	dialTimeout   = 2 * time.Second
	// pendingMessages and pendingBytes bound what a slow handler may queue in this process; what is
	// dropped beyond them is counted, and repeated by its sender.
	pendingMessages = 4096
	pendingBytes    = 16 << 20
)

// link is one connection to a NATS server, kept up for ever. It promises nothing: whatever it carries
// is a monotone fact that is sent again, or a request that is retried (faults.md §2.4).
type link struct {
	nc    *nats.Conn
	live  atomic.Bool // what the client's handlers said last; the client itself answers nobody while it connects
	count *counters
	log   *slog.Logger

	absent atomic.Bool // it was said that nobody is there
	ended  atomic.Bool // by us
}

// missed says once per outage that nobody is there: each attempt would be a line every second.
func (l *link) missed(name string, err error) {
	if l.ended.Load() || l.absent.Swap(true) {
		return
	}
	text := "nobody answers" // the client gives no reason for a connection that ends
	if err != nil {
		text = err.Error()
	}
	l.log.Warn("nats is not reached: what it would carry goes over the Kafka port until it is", "link", name, "reason", text)
}

// dial starts a link; it returns at once even when the server is down. up runs after every connect and
// reconnect, on a goroutine of the client. Only malformed URLs are errors.
func dial(url, name string, count *counters, log *slog.Logger, up func(), extra ...nats.Option) (*link, error) {
	l := &link{count: count, log: log}
	connected := func(*nats.Conn) {
		l.live.Store(true)
		count.connects.Add(1)
		if l.absent.Swap(false) {
			log.Info("nats is reached again", "link", name)
		}
		up()
	}
	opts := append([]nats.Option{
		nats.Name(name),
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.Timeout(dialTimeout),
		nats.ReconnectWait(reconnectWait), nats.ReconnectJitter(reconnectWait/4, reconnectWait/4),
		// No buffer while disconnected: old floors would only delay new ones.
		nats.ReconnectBufSize(-1),
		nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(maxPingsOut),
		// The address we were given may be a proxy or a NAT; the server's own idea of its address
		// leads past it (measured.md §4, leaf URL gossip).
		nats.IgnoreDiscoveredServers(),
		nats.ConnectHandler(connected), nats.ReconnectHandler(connected),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			l.live.Store(false)
			count.disconnects.Add(1)
			l.missed(name, err)
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { l.missed(name, err) }),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrSlowConsumer) {
				count.slowConsumer.Add(1)
				return
			}
			count.linkErrors.Add(1)
			log.Warn("nats link", "link", name, "error", err)
		}),
	}, extra...)
	nc, err := nats.Connect(url, opts...)
	if err != nil {
		return nil, fmt.Errorf("nats url %q: %w", url, err)
	}
	l.nc = nc
	return l, nil
}

// listen calls handle for each message of subject, in order, on one goroutine of the client. A panic
// there would end the process, so whatever reads a payload must be total.
func (l *link) listen(subject string, handle func(*nats.Msg)) error {
	sub, err := l.nc.Subscribe(subject, func(m *nats.Msg) {
		l.count.received.Add(1)
		handle(m)
	})
	if err != nil {
		return fmt.Errorf("subscribe %s: %w", subject, err)
	}
	if err := sub.SetPendingLimits(pendingMessages, pendingBytes); err != nil {
		return fmt.Errorf("subscribe %s: %w", subject, err)
	}
	return nil
}

// publish sends one message if the link is up. A loss is counted, never reported: the sender repeats.
func (l *link) publish(subject string, payload []byte) {
	if len(payload) > MaxPayload {
		l.count.oversized.Add(1)
		l.log.Error("message exceeds the bus payload limit and is not sent", "subject", subject, "bytes", len(payload), "limit", MaxPayload)
		return
	}
	if !l.up() || l.nc.Publish(subject, payload) != nil {
		l.count.publishLost.Add(1)
		return
	}
	l.count.published.Add(1)
}

// request asks once and waits for one answer.
func (l *link) request(ctx context.Context, subject string, payload []byte) ([]byte, error) {
	if len(payload) > MaxPayload {
		l.count.oversized.Add(1)
		return nil, fmt.Errorf("request of %d bytes exceeds the bus payload limit of %d", len(payload), MaxPayload)
	}
	if !l.up() {
		return nil, nats.ErrDisconnected
	}
	m, err := l.nc.RequestWithContext(ctx, subject, payload)
	if err != nil {
		return nil, err
	}
	return m.Data, nil
}

// up never waits: whoever reports a floor asks it under the lock that every floor needs, and the client holds a lock of its
// own for as long as a server that says nothing may take.
func (l *link) up() bool { return l.live.Load() }

// close may wait for a connect that is under way.
func (l *link) close() {
	l.ended.Store(true)
	l.nc.Close()
}

const subjectRoot = "lockstep.v1."

// Cluster ids are [A-Za-z0-9_-]{1,64}, so they are safe subject tokens; anything else must not become a
// wildcard.
func token(id core.ClusterID) (string, error) {
	if id == "" || len(id) > 64 {
		return "", fmt.Errorf("cluster id %q is not 1 to 64 characters", id)
	}
	for _, c := range string(id) {
		if !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-", c) {
			return "", fmt.Errorf("cluster id %q has the character %q, which is not allowed", id, c)
		}
	}
	return string(id), nil
}

func floorsSubject(source string, broker core.ReplicaID) string {
	return fmt.Sprintf("%s%s.floors.%d", subjectRoot, source, broker)
}

func anyFloorsSubject(source string) string { return subjectRoot + source + ".floors.*" }

func controlSubject(source string) string { return subjectRoot + source + ".control" }

func evidenceSubject(source, destination string) string {
	return subjectRoot + source + ".evidence." + destination
}
