package bus

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// MaxPayload is the same everywhere: with different limits on two sides a large message makes the
	// connection drop and takes the next message with it (measured.md §4).
	MaxPayload = 1 << 20
	// MaxChunk is what one message of ours may hold, far enough below MaxPayload for any header.
	MaxChunk = 512<<10 - 4<<10
	// pingInterval bounds how long a black-holed link looks alive: two missed pings end it.
	pingInterval = time.Second
	maxPingsOut  = 2
	// maxPending is what the server queues for one client before it is cut as a slow consumer. What it
	// loses is repeated, so a small bound costs nothing but latency.
	maxPending = 16 << 20
	// writeDeadline is how long a client that does not read may stall its publishers.
	writeDeadline = time.Second
)

// startServer runs a NATS server inside this process. listen is host:port; port 0 picks a free one.
func startServer(name, listen string, insecure bool, log *slog.Logger) (*server.Server, error) {
	host, port, err := splitListen(listen, insecure)
	if err != nil {
		return nil, err
	}
	srv, err := server.NewServer(&server.Options{
		ServerName: name, Host: host, Port: port,
		MaxPayload: MaxPayload, MaxPending: maxPending, WriteDeadline: writeDeadline,
		PingInterval: pingInterval, MaxPingsOut: maxPingsOut,
		MaxControlLine: 4096, NoSigs: true, DisableShortFirstPing: true,
	})
	if err != nil {
		return nil, fmt.Errorf("nats server: %w", err)
	}
	srv.SetLoggerV2(serverLog{log}, false, false, false)
	srv.Start()
	if !srv.ReadyForConnections(10 * time.Second) {
		srv.Shutdown()
		return nil, fmt.Errorf("nats server does not listen on %s: is the port taken? choose another --nats-listen", listen)
	}
	return srv, nil
}

// splitListen refuses to open an unauthenticated port to the network unless told so.
func splitListen(listen string, insecure bool) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(listen)
	if err != nil {
		return "", 0, fmt.Errorf("--nats-listen %q is not host:port: %w", listen, err)
	}
	port, err = strconv.Atoi(p)
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("--nats-listen %q: port %q is not a number in 0..65535", listen, p)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	ip := net.ParseIP(host)
	if host != "localhost" && (ip == nil || !ip.IsLoopback()) && !insecure {
		return "", 0, fmt.Errorf("--nats-listen %q would open NATS to the network without authentication: use a loopback address, or --insecure-listen", listen)
	}
	return host, port, nil
}

// serverURL is the address clients on this host use.
func serverURL(srv *server.Server) (string, error) {
	addr, ok := srv.Addr().(*net.TCPAddr)
	if !ok {
		return "", errors.New("nats server has no TCP address")
	}
	return "nats://" + addr.String(), nil
}

// serverLog carries the server's own log lines to slog.
type serverLog struct{ log *slog.Logger }

func (l serverLog) Noticef(f string, a ...any) {
	l.log.Debug("nats server", "text", fmt.Sprintf(f, a...))
}
func (l serverLog) Warnf(f string, a ...any) { l.log.Warn("nats server", "text", fmt.Sprintf(f, a...)) }
func (l serverLog) Errorf(f string, a ...any) {
	l.log.Warn("nats server", "text", fmt.Sprintf(f, a...))
}
func (l serverLog) Fatalf(f string, a ...any) {
	l.log.Error("nats server", "text", fmt.Sprintf(f, a...))
}
func (l serverLog) Debugf(f string, a ...any) {
	l.log.Debug("nats server", "text", fmt.Sprintf(f, a...))
}
func (l serverLog) Tracef(f string, a ...any) {
	l.log.Debug("nats server", "text", fmt.Sprintf(f, a...))
}
