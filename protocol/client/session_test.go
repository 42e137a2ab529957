package client

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol"
	"lockstep/protocol/perr"
	"lockstep/protocol/properties"
)

// loginBroker wants a password by PLAIN, for a session of a lifetime, and fails the test when it is asked anything while one begins.
func loginBroker(t *testing.T, password string, lifetime time.Duration) (b *broker, logins func() int) {
	var mu sync.Mutex
	n, between, until := 0, false, time.Time{}
	shown := map[int16]span{3: {0, 13}, 17: {0, 1}, 18: {0, 4}, 36: {0, 2}}
	b = serve(t, &broker{newest: 4, shown: shown, handle: func(_ protocol.Header, req kmsg.Request, reply func(kmsg.Response), raw net.Conn) {
		mu.Lock()
		defer mu.Unlock()
		switch r := req.(type) {
		case *kmsg.SASLHandshakeRequest:
			between = true
			reply(r.ResponseKind())
		case *kmsg.SASLAuthenticateRequest:
			resp := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
			if between = false; string(r.SASLAuthBytes) != "\x00m\x00"+password {
				resp.ErrorCode = int16(perr.SaslAuthenticationFailed)
			}
			n, until = n+1, time.Now().Add(lifetime)
			resp.SessionLifetimeMillis = lifetime.Milliseconds()
			reply(resp)
		default:
			if between || time.Now().After(until) {
				t.Errorf("asked between=%v, %v after the end of the session", between, time.Since(until))
			}
			reply(req.ResponseKind())
		}
	}})
	return b, func() int { mu.Lock(); defer mu.Unlock(); return n }
}

func withPassword(t *testing.T, password string) Options {
	t.Helper()
	s, err := properties.ReadSecurity(map[string]string{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "m", "sasl.password": password}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Options{Security: s}
}

// Whoever asks when the session is about to end renews it for all, and nobody asks anything meanwhile.
func TestASessionIsRenewedForAllWhoAsk(t *testing.T) {
	b, logins := loginBroker(t, "right", 2*time.Second)
	c := dial(t, b, withPassword(t, "right"))
	go func() {
		for {
			select {
			case <-b.requests:
			case <-t.Context().Done():
				return
			}
		}
	}()
	began := time.Now()
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for logins() < 2 && time.Since(began) < 10*time.Second {
				req := kmsg.NewPtrMetadataRequest()
				req.Version = 12
				if _, err := c.Do(t.Context(), req); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	asking.Wait()
	if n := logins(); n != 2 {
		t.Errorf("%d sessions", n)
	}
}

func TestAWrongPasswordIsNamed(t *testing.T) {
	b, _ := loginBroker(t, "right", 0)
	if _, err := Dial(t.Context(), b.addr, withPassword(t, "wrong")); err == nil || !strings.Contains(err.Error(), "see sasl.password") || strings.Contains(err.Error(), "wrong") {
		t.Errorf("%v", err)
	}
}
