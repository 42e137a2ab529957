package fetcher

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/perr"
	"lockstep/protocol/properties"
)

// doorman lets in who knows the password, by PLAIN, for as long as a session lasts.
type doorman struct {
	mu       sync.Mutex
	password string
	lifetime time.Duration
	until    map[net.Conn]time.Time
	renewed  int // sessions that began on a connection that had one
	late     int // requests of sessions that had ended
}

// answer is that of the doorman himself, or asks: the request is for the peer. Neither: the connection ends.
func (d *doorman) answer(c net.Conn, req kmsg.Request) (resp kmsg.Response, asks bool) {
	if d == nil {
		return nil, true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch r := req.(type) {
	case *kmsg.ApiVersionsRequest:
		return nil, true
	case *kmsg.SASLHandshakeRequest:
		return r.ResponseKind(), false
	case *kmsg.SASLAuthenticateRequest:
		resp := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		if string(r.SASLAuthBytes) != "\x00dr\x00"+d.password {
			resp.ErrorCode = int16(perr.SaslAuthenticationFailed)
			return resp, false
		}
		if !d.until[c].IsZero() {
			d.renewed++
		}
		resp.SessionLifetimeMillis = d.lifetime.Milliseconds()
		if d.until[c] = time.Now().Add(time.Hour); d.lifetime > 0 {
			d.until[c] = time.Now().Add(d.lifetime)
		}
		return resp, false
	default:
		until, known := d.until[c]
		if known && !time.Now().Before(until) {
			d.late++
		}
		return nil, time.Now().Before(until)
	}
}

// reply is an answer by whoever stands before the peer, or its own; nil ends the connection.
func (p *peer) reply(c net.Conn, req kmsg.Request) kmsg.Response {
	resp, asks := p.doorman.answer(c, req)
	if asks {
		return p.answer(c, req)
	}
	return resp
}

func (d *doorman) count() (renewed, late int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.renewed, d.late
}

const secret = "hunter2"

// guarded is a rig whose source wants a password, and where the mirror's own stands.
func guarded(t *testing.T, lifetime time.Duration) (r *rig, door *doorman, file string) {
	r = newRig(t, 1, nil)
	r.fast()
	door = &doorman{password: secret, lifetime: lifetime, until: map[net.Conn]time.Time{}}
	r.peer.doorman = door
	file = filepath.Join(t.TempDir(), "secrets.properties")
	places, err := properties.ParsePlaces([]string{file})
	if err != nil {
		t.Fatal(err)
	}
	r.fetchers.options.Secrets = places
	r.config["security.protocol"], r.config["sasl.mechanism"] = "SASL_PLAINTEXT", "PLAIN"
	r.config["sasl.jaas.config"] = `org.apache.kafka.common.security.plain.PlainLoginModule required username="dr" password="${file:` + file + `:password}";`
	return r, door, file
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A wrong password is reported by the name of its setting, and one that is put right is used without a restart.
func TestAMirrorShowsWhoItIs(t *testing.T) {
	r, _, file := guarded(t, 0)
	r.home.add(r.id(0), 1)
	write(t, file, "password=wrong")
	r.peer.produce(0, 2, true)
	r.mirror(1, mirror.FetchAsync)
	r.home.await(t, "the refusal is reported", func() bool {
		return toldOf(r.home, func(c mirror.ReportFailure) bool {
			if strings.Contains(c.Text, secret) || strings.Contains(c.Text, "wrong") {
				t.Errorf("the report shows a secret: %s", c.Text)
			}
			return c.Code == perr.SaslAuthenticationFailed && strings.Contains(c.Text, `user "dr"`) && strings.Contains(c.Text, "see sasl.jaas.config")
		})
	})
	write(t, file, "password="+secret)
	r.upTo(0, 2)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	c, err := ParseConfig(r.config, r.fetchers.options.Secrets)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := Discover(ctx, c, func(string) bool { return true }); err != nil || s.Cluster != "source" {
		t.Errorf("discovered %+v, %v", s, err)
	}
	if text := fmt.Sprintf("%+v", c); strings.Contains(text, secret) {
		t.Errorf("a configuration prints as %s", text)
	}
}

// KIP-368: the session is renewed on its connection before it ends, so that nothing is lost on the way.
func TestASessionIsRenewedBeforeItEnds(t *testing.T) {
	r, door, file := guarded(t, time.Second)
	write(t, file, "password="+secret)
	r.home.add(r.id(0), 1)
	r.mirror(1, mirror.FetchAsync)
	began := time.Now()
	for n := core.Offset(1); time.Since(began) < 10*time.Second; n++ {
		r.peer.produce(0, 1, true)
		r.upTo(0, n)
		if renewed, _ := door.count(); renewed > 1 {
			break
		}
	}
	if renewed, late := door.count(); renewed < 2 || late > 0 {
		t.Errorf("%d sessions were renewed, %d requests came after the end of theirs", renewed, late)
	}
}

func TestASourceThatWantsAnotherProtocolIsNamed(t *testing.T) {
	r, _, file := guarded(t, 0)
	write(t, file, "password="+secret)
	ask := func(config map[string]string) string {
		t.Helper()
		c, err := ParseConfig(config, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err = Discover(ctx, c, func(string) bool { return true })
		return fmt.Sprint(err)
	}
	if said := ask(map[string]string{"bootstrap.servers": r.peer.addr()}); !strings.Contains(said, "another security.protocol than PLAINTEXT") {
		t.Errorf("a client without a login is told: %s", said)
	}
	alert, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer alert.Close()
	go func() {
		for {
			nc, err := alert.Accept()
			if err != nil {
				return
			}
			_, _ = nc.Read(make([]byte, 64))
			_, _ = nc.Write([]byte{21, 3, 1, 0, 2, 2, 22}) // what TLS says to whom it does not understand
			nc.Close()
		}
	}()
	if said := ask(map[string]string{"bootstrap.servers": alert.Addr().String()}); !strings.Contains(said, "it speaks TLS there") {
		t.Errorf("a client without TLS is told: %s", said)
	}
}

// What a mirror is told and cannot do is refused by name when it is told, and what would be journaled is no secret.
func TestSettingsOfAMirrorAreRefusedByName(t *testing.T) {
	login := "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"dr\" password=\"" + secret + "\";"
	for _, c := range []struct{ name, value, want string }{
		{"sasl.jaas.config", login, "sasl.jaas.config holds a secret"},
		{"mirror.sasl.password", secret, "mirror.sasl.password holds a secret"},
		{"ssl.keystore.key", secret, "ssl.keystore.key holds a secret"},
		{"sasl.jaas.config", strings.Replace(login, secret, "${env:P}", 1), "sasl.jaas.config does nothing under security.protocol=PLAINTEXT"},
		{"mirror.security.protocol", "TLS", "security.protocol=TLS"},
		{"sasl.kerberos.service.name", "kafka", "sasl.kerberos.service.name"},
		{"topics.include", ".*", "topics.include"},
		{"securty.protocol", "SSL", "securty.protocol"},
		{"client.id", "x", ""},
		{"ssl.endpoint.identification.algorithm", "", ""},
		{"mirror.fetch.max.bytes", "1000", ""},
		{"lockstep.claim.lease.ms", "1000", ""},
		{"retry.backoff.ms", "1000", ""},
	} {
		err := CheckConfig(map[string]string{"bootstrap.servers": "a:1", c.name: c.value}, nil)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
