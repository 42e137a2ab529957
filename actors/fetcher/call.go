package fetcher

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Call sends one request to some broker of a mirror's source, on a connection of its own, and waits for the
// answer. When ctx ends first, the connection ends with it and with everything not delivered yet.
func (f *Fetchers) Call(ctx context.Context, config map[string]string, req kmsg.Request) (kmsg.Response, error) {
	c, err := ParseConfig(config)
	if err != nil {
		return nil, err
	}
	var last error
	sent := false
	for _, addr := range slices.Concat(c.Addresses(), f.known(c)) {
		resp, reached, err := callAt(ctx, c, addr, req)
		if err == nil || ctx.Err() != nil {
			return resp, err
		}
		sent = sent || reached
		last = fmt.Errorf("%s: %w", addr, err)
	}
	last = fmt.Errorf("no broker of the source answers: %w", last)
	if !sent {
		return nil, unsent{last}
	}
	return nil, last
}

// unsent says that the request left for nobody: there is nothing to withdraw and nothing to wait for.
type unsent struct{ error }

func (u unsent) Unwrap() error { return u.error }
func (unsent) Unsent() bool    { return true }

// callAt asks one broker; reached is true as soon as the request may have left.
func callAt(ctx context.Context, c Config, addr string, req kmsg.Request) (resp kmsg.Response, reached bool, err error) {
	cn, err := dial(ctx, c, addr)
	if err != nil {
		return nil, false, err
	}
	defer cn.withdraw()
	if newest := cn.newest(req.Key()); newest < req.GetVersion() {
		return nil, false, tooOld(kmsg.NameForKey(req.Key()), newest, req.GetVersion())
	}
	resp, err = cn.roundTrip(ctx, req)
	return resp, true, err
}
