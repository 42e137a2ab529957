package fetcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Call sends one request to some broker of a mirror's source, on a connection of its own, and waits for the
// answer. When ctx ends first, the connection ends with it and with everything not delivered yet.
func (f *Fetchers) Call(ctx context.Context, config map[string]string, req kmsg.Request) (kmsg.Response, error) {
	c, err := ParseConfig(config, f.options.Secrets)
	if err != nil {
		return nil, err
	}
	var last error
	sent, old, tried := false, 0, 0
	addrs := slices.Concat(c.Addresses(), f.known(c))
	for i, addr := range addrs {
		turn, cancel := share(ctx, len(addrs)-i)
		resp, reached, err := callAt(turn, c, addr, req)
		cancel()
		if err == nil || ctx.Err() != nil {
			return resp, err
		}
		sent = sent || reached
		tried++
		if errors.As(err, new(unsupported)) {
			old++
		}
		last = fmt.Errorf("%s: %w", addr, err)
	}
	if old == tried && old > 0 {
		return nil, last
	}
	if old > 0 {
		last = errors.New(last.Error()) // a broker that is down may know it
	}
	last = fmt.Errorf("no broker of the source answers: %w", last)
	if !sent {
		return nil, unsent{last}
	}
	return nil, last
}

// share is an equal part of the time that is left, for one of so many addresses: one that swallows everything
// must not keep us from asking the next.
func share(ctx context.Context, addresses int) (context.Context, context.CancelFunc) {
	until, bounded := ctx.Deadline()
	if !bounded || addresses < 2 || !shareTimeOfAddresses {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(until)/time.Duration(addresses))
}

// unsent says that the request left for nobody: there is nothing to withdraw and nothing to wait for.
type unsent struct{ error }

func (u unsent) Unwrap() error { return u.error }
func (unsent) Unsent() bool    { return true }

// unsupported says that the request is of a kind that the source does not know, on any of its brokers.
type unsupported struct{ error }

func (u unsupported) Unwrap() error   { return u.error }
func (unsupported) Unsupported() bool { return true }

// callAt asks one broker; reached is true as soon as the request may have left.
func callAt(ctx context.Context, c Config, addr string, req kmsg.Request) (resp kmsg.Response, reached bool, err error) {
	cn, err := dial(ctx, c, addr)
	if err != nil {
		return nil, false, err
	}
	defer cn.withdraw()
	if err := cn.belongs(ctx, c); err != nil {
		return nil, false, err
	}
	if newest := cn.newest(req.Key()); newest < req.GetVersion() {
		return nil, false, unsupported{fmt.Errorf("the source does not know API key %d version %d: it can be mirrored ASYNC only", req.Key(), req.GetVersion())}
	}
	resp, err = cn.roundTrip(ctx, req)
	return resp, true, err
}
