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
	for _, addr := range slices.Concat(c.Addresses(), f.known(c)) {
		resp, err := callAt(ctx, c, addr, req)
		if err == nil || ctx.Err() != nil {
			return resp, err
		}
		last = fmt.Errorf("%s: %w", addr, err)
	}
	return nil, fmt.Errorf("no broker of the source answers: %w", last)
}

func callAt(ctx context.Context, c Config, addr string, req kmsg.Request) (kmsg.Response, error) {
	cn, err := dial(ctx, c, addr)
	if err != nil {
		return nil, err
	}
	defer cn.withdraw()
	if newest := cn.newest(req.Key()); newest < req.GetVersion() {
		return nil, tooOld(kmsg.NameForKey(req.Key()), newest, req.GetVersion())
	}
	return cn.roundTrip(ctx, req)
}
