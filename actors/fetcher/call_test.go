package fetcher

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"lockstep/protocol/messages"
)

func isUnsent(err error) bool {
	var u interface{ Unsent() bool }
	return errors.As(err, &u) && u.Unsent()
}

// A stop must know whether its one Unregister may still arrive (C8): refused connections carried nothing, a
// connection that broke behind the request may have.
func TestACallThatReachedNobodySaysSo(t *testing.T) {
	r := newRig(t, 1, nil)
	f := r.fetchers
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := closed.Addr().String()
	closed.Close()
	req := messages.NewPtrUnregisterMirrorSyncTopicRequest()
	if _, err := f.Call(ctx, map[string]string{"bootstrap.servers": addr}, req); !isUnsent(err) {
		t.Errorf("a refused connection: %v", err)
	}
	if _, err := f.Call(ctx, r.config, req); err == nil || isUnsent(err) {
		t.Errorf("a connection that broke behind the request: %v", err)
	}
}
