package front

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
	"github.com/twmb/franz-go/pkg/sasl"
	plainsasl "github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"lockstep/clusterd/security"
	"lockstep/protocol"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// asking makes the brokers of a house ask who their clients are. alice has the password alice-secret, by every mechanism.
func (h *house) asking(change func(*Listener)) {
	h.t.Helper()
	h.keep("alice", "bob")
	h.stop()
	h.listener = Listener{Policy: security.Policy{Name: "SASL_PLAINTEXT", Protocol: security.SASLPlaintext, Mechanisms: security.Mechanisms,
		Plain: map[string]string{"alice": "alice-secret", "bob": "bob-secret"}, Penalty: 20 * time.Millisecond, Receive: security.DefaultReceive}}
	if change != nil {
		change(&h.listener)
	}
	h.start()
}

// keep gives users the credentials that NAME-secret makes.
func (h *house) keep(users ...string) {
	h.t.Helper()
	for _, m := range []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512} { // one of a user at a time, as in Kafka
		var upserts []kadm.UpsertSCRAM
		for _, user := range users {
			upserts = append(upserts, kadm.UpsertSCRAM{User: user, Mechanism: m, Iterations: 4096, Password: user + "-secret"})
		}
		all, err := kadm.NewClient(h.client()).AlterUserSCRAMs(patient(h.t), nil, upserts)
		if err == nil {
			err = all.Error()
		}
		if err != nil {
			h.t.Fatal(err)
		}
	}
}

func mechanisms(user, password string) map[string]sasl.Mechanism {
	return map[string]sasl.Mechanism{
		security.Plain:       plainsasl.Auth{User: user, Pass: password}.AsMechanism(),
		security.ScramSHA256: scram.Auth{User: user, Pass: password}.AsSha256Mechanism(),
		security.ScramSHA512: scram.Auth{User: user, Pass: password}.AsSha512Mechanism(),
	}
}

// rawTokens makes a client speak SaslHandshake v0, behind which tokens have no requests around them.
func rawTokens() kgo.Opt {
	v := kversion.V4_0_0()
	v.SetMaxKeyVersion(messages.KeySaslHandshake, 0)
	return kgo.MaxVersions(v)
}

func TestClientsShowWhoTheyAre(t *testing.T) {
	h := newHouse(t, 2)
	h.asking(nil)
	for name, m := range mechanisms("alice", "alice-secret") {
		for form, opt := range map[string]kgo.Opt{"requests": kgo.MaxVersions(nil), "raw": rawTokens()} {
			topic := strings.ToLower(name) + form
			c := h.client(kgo.SASL(m), opt, kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic(topic), kgo.ConsumeTopics(topic))
			if err := c.ProduceSync(patient(t), values("v", 3)...).FirstErr(); err != nil {
				t.Fatalf("%s, %s: %v", name, form, err)
			}
			wantEqual(t, "read by "+name, poll(t, c, 3), []string{"v-0", "v-1", "v-2"})
		}
	}
	for _, wrong := range [...]struct{ user, password string }{{"alice", "secret"}, {"carol", "alice-secret"}, {"bob", "alice-secret"}} {
		for name, m := range mechanisms(wrong.user, wrong.password) {
			err := h.client(kgo.SASL(m)).Ping(patient(t))
			if !errors.Is(err, kerr.SaslAuthenticationFailed) {
				t.Errorf("%s of %s: %v", name, wrong.user, err)
			}
		}
	}
	short, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if err := h.client().Ping(short); err == nil {
		t.Error("who says nothing is served")
	}
	short, cancel = context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if err := h.client(kgo.SASL(mechanisms("alice", "secret")[security.ScramSHA256]), rawTokens()).Ping(short); err == nil {
		t.Error("a wrong password is taken in raw tokens")
	}
}

// talk is one client at the level of requests.
type talk struct {
	t *testing.T
	net.Conn
	n int32
}

func (h *house) talk(broker int) *talk { return &talk{h.t, dial(h.t, h.addrs[broker-1]), 0} }

// ask returns the answer to r, nil when the connection ends instead.
func (k *talk) ask(r kmsg.Request, version int16) kmsg.Response {
	k.t.Helper()
	k.n++
	r.SetVersion(version)
	if _, err := k.Write(protocol.AppendRequest(nil, k.n, nil, r)); err != nil {
		return nil
	}
	return k.answer(r)
}

func (k *talk) answer(r kmsg.Request) kmsg.Response {
	k.t.Helper()
	frame, err := protocol.ReadFrame(k, 1<<20)
	if err != nil {
		if isTimeout(err) {
			k.t.Error("neither an answer nor an end")
		}
		return nil
	}
	resp := r.ResponseKind()
	resp.SetVersion(r.GetVersion())
	if err := protocol.DecodeResponse(frame, resp); err != nil {
		k.t.Fatal(err)
	}
	return resp
}

func (k *talk) handshake(mechanism string, version int16) *kmsg.SASLHandshakeResponse {
	k.t.Helper()
	r := kmsg.NewPtrSASLHandshakeRequest()
	r.Mechanism = mechanism
	resp, _ := k.ask(r, version).(*kmsg.SASLHandshakeResponse)
	return resp
}

func (k *talk) token(token string, version int16) *kmsg.SASLAuthenticateResponse {
	k.t.Helper()
	r := kmsg.NewPtrSASLAuthenticateRequest()
	r.SASLAuthBytes = []byte(token)
	resp, _ := k.ask(r, version).(*kmsg.SASLAuthenticateResponse)
	return resp
}

// known authenticates as a user of PLAIN.
func (k *talk) known(user string) *kmsg.SASLAuthenticateResponse {
	k.t.Helper()
	if resp := k.handshake(security.Plain, 1); resp == nil || resp.ErrorCode != 0 {
		k.t.Fatalf("handshake: %+v", resp)
	}
	resp := k.token("\x00"+user+"\x00"+user+"-secret", 1)
	if resp == nil || resp.ErrorCode != 0 {
		k.t.Fatalf("%s: %+v", user, resp)
	}
	return resp
}

// over wants the connection to end without another byte.
func (k *talk) over(what string) {
	k.t.Helper()
	if n, err := k.Read(make([]byte, 1)); n > 0 || err == nil || isTimeout(err) {
		k.t.Errorf("%s: the connection goes on (%d, %v)", what, n, err)
	}
}

// TestNothingIsServedToWhoIsNotKnown but the way to become known, in its order (A01, A13, compat §1.3 rule 2).
func TestNothingIsServedToWhoIsNotKnown(t *testing.T) {
	h := newHouse(t, 1)
	h.asking(nil)
	for _, row := range messages.APIs() {
		if row.Key == messages.KeyApiVersions || row.Key == messages.KeySaslHandshake || row.Key == messages.KeySaslAuthenticate {
			continue
		}
		r, err := messages.NewRequest(row.Key, row.Max)
		if err != nil {
			t.Fatal(err)
		}
		if h.talk(1).ask(r, row.Max) != nil {
			t.Errorf("%s is served before a handshake", row.Name)
		}
		k := h.talk(1)
		k.handshake(security.Plain, 1)
		if k.ask(r, row.Max) != nil {
			t.Errorf("%s is served after a handshake", row.Name)
		}
	}

	k := h.talk(1)
	for range 2 { // the second one is an error in Kafka, and harmless
		if versions, ok := k.ask(kmsg.NewPtrApiVersionsRequest(), 2).(*kmsg.ApiVersionsResponse); !ok || versions.ErrorCode != 0 {
			t.Fatal("ApiVersions is not answered")
		}
	}
	k.known("alice")
	if versions, ok := k.ask(kmsg.NewPtrApiVersionsRequest(), 2).(*kmsg.ApiVersionsResponse); !ok || versions.ErrorCode != 0 {
		t.Error("ApiVersions is not answered later")
	}
	if k.ask(kmsg.NewPtrMetadataRequest(), 4) == nil {
		t.Error("who is known is not served")
	}
	if again := k.handshake(security.Plain, 1); again == nil || again.ErrorCode != int16(perr.IllegalSaslState) {
		t.Errorf("a handshake without need: %+v", again)
	}
	if again := k.token("x", 1); again == nil || again.ErrorCode != int16(perr.IllegalSaslState) {
		t.Errorf("a token without a handshake: %+v", again)
	}
	if k.ask(kmsg.NewPtrMetadataRequest(), 4) == nil {
		t.Error("who is known is not served after that")
	}

	k = h.talk(1)
	if resp := k.handshake("GSSAPI", 1); resp == nil || resp.ErrorCode != int16(perr.UnsupportedSaslMechanism) || len(resp.SupportedMechanisms) != 3 {
		t.Errorf("an unknown mechanism: %+v", resp)
	}
	k.over("an unknown mechanism")

	k = h.talk(1)
	if resp := k.token("\x00alice\x00alice-secret", 1); resp == nil || resp.ErrorCode != int16(perr.IllegalSaslState) {
		t.Errorf("a token without a handshake: %+v", resp)
	}
	k.over("a token without a handshake")

	k = h.talk(1)
	k.handshake(security.ScramSHA256, 1)
	if resp := k.handshake(security.Plain, 1); resp == nil || resp.ErrorCode != int16(perr.IllegalSaslState) {
		t.Errorf("a second handshake: %+v", resp)
	}
	k.over("a second handshake")

	k = h.talk(1)
	k.handshake(security.Plain, 1)
	began := time.Now()
	if resp := k.token("\x00alice\x00guess", 2); resp == nil || resp.ErrorCode != int16(perr.SaslAuthenticationFailed) || resp.SASLAuthBytes == nil || len(resp.SASLAuthBytes) > 0 {
		t.Errorf("a wrong password: %+v", resp)
	}
	if took := time.Since(began); took < h.listener.Penalty {
		t.Errorf("a wrong password is told at once, after %s", took)
	}
	k.over("a wrong password")

	k = h.talk(1)
	k.handshake(security.Plain, 0)
	k.Write(protocol.AppendFrame(nil, []byte("\x00alice\x00guess")))
	k.over("a wrong password in a raw token")
}

// TestAPlaintextListenerKnowsNobody, and tells those who want to be known so.
func TestAPlaintextListenerKnowsNobody(t *testing.T) {
	h := newHouse(t, 1)
	k := h.talk(1)
	if resp := k.handshake(security.Plain, 1); resp == nil || resp.ErrorCode != int16(perr.IllegalSaslState) {
		t.Errorf("a handshake: %+v", resp)
	}
	if resp := k.token("\x00alice\x00alice-secret", 1); resp == nil || resp.ErrorCode != int16(perr.IllegalSaslState) {
		t.Errorf("a token: %+v", resp)
	}
	if k.ask(kmsg.NewPtrMetadataRequest(), 4) == nil {
		t.Error("it ends the connection")
	}
}

// TestStrangersTakeLittle: what a client claims before it is known costs nothing, and it has only so much time (A09, A11).
func TestStrangersTakeLittle(t *testing.T) {
	h := newHouse(t, 1)
	h.limits.Login = 200 * time.Millisecond
	h.traffic = &Traffic{}
	h.asking(nil)
	for name, size := range map[string]uint32{"2 GiB": 1<<31 - 1, "less than nothing": 1 << 31, "more than a stranger may": security.DefaultReceive + 1} {
		k := h.talk(1)
		k.Write(binary.BigEndian.AppendUint32(nil, size))
		k.over(name)
	}
	for name, drip := range map[string]func(k *talk){
		"says nothing":   func(*talk) {},
		"begins a frame": func(k *talk) { k.Write([]byte{0, 0}) },
		"begins a handshake": func(k *talk) {
			k.Write(binary.BigEndian.AppendUint32(nil, 100))
			k.Write([]byte{0, 17})
		},
		"asks for versions": func(k *talk) { k.ask(kmsg.NewPtrApiVersionsRequest(), 0) },
		"shakes hands":      func(k *talk) { k.handshake(security.ScramSHA512, 1) },
	} {
		k := h.talk(1)
		began := time.Now()
		drip(k)
		if _, err := io.ReadAll(k); isTimeout(err) || time.Since(began) < h.limits.Login/2 {
			t.Errorf("who %s stays %s, %v", name, time.Since(began), err)
		}
	}
	if h.memory.Held() != 0 {
		t.Error("strangers hold", h.memory.Held())
	}
	for _, a := range h.traffic.Admissions() {
		if a.Listener == h.listener.Name && (a.Known != 0 || a.Failed != 8) {
			t.Errorf("eight strangers are counted as %+v", a)
		}
	}
}
