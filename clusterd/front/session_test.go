package front

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/clusterd/security"
	"lockstep/protocol"
	"lockstep/protocol/perr"
)

// TestASessionEnds unless its client shows again who it is. What is asked before and meanwhile is answered in its order
// (compat-S01, S02).
func TestASessionEnds(t *testing.T) {
	const session = time.Second
	h := newHouse(t, 1)
	id := h.fill("t", 0, 0)
	h.asking(func(l *Listener) { l.Sessions = sessions(session) })
	k, forgetful := h.talk(1), h.talk(1)
	forgetful.known("alice")
	if resp := k.known("alice"); resp.SessionLifetimeMillis != session.Milliseconds() {
		t.Errorf("the client is told a session of %d ms", resp.SessionLifetimeMillis)
	}
	began := time.Now()

	poll := fetchRequest(1<<20, ask{topic: id})
	poll.MaxWaitMs = 50
	handshake, token := kmsg.NewPtrSASLHandshakeRequest(), kmsg.NewPtrSASLAuthenticateRequest()
	handshake.Mechanism, token.SASLAuthBytes = security.Plain, []byte("\x00alice\x00alice-secret")
	requests := []struct {
		r       kmsg.Request
		version int16
	}{{poll, 13}, {handshake, 1}, {kmsg.NewPtrMetadataRequest(), 9}, {token, 1}, {poll, 13}, {kmsg.NewPtrMetadataRequest(), 9}}
	<-time.After(session / 2)
	var all []byte
	for i, q := range requests {
		q.r.SetVersion(q.version)
		all = protocol.AppendRequest(all, int32(100+i), nil, q.r)
	}
	k.Write(all)
	for i := range requests {
		if got, _ := readResponse(t, k); got != int32(100+i) {
			t.Fatalf("answer %d came in the place of %d", got, 100+i)
		}
	}
	if again := k.handshake(security.Plain, 1); again == nil || again.ErrorCode != int16(perr.IllegalSaslState) {
		t.Errorf("a handshake behind another: %+v", again)
	}
	<-time.After(time.Until(began.Add(session + session/10)))
	if k.ask(kmsg.NewPtrMetadataRequest(), 4) == nil {
		t.Error("a session that was renewed ends")
	}
	if forgetful.ask(kmsg.NewPtrMetadataRequest(), 4) != nil {
		t.Error("a session that was not renewed goes on")
	}
	<-time.After(time.Until(began.Add(2 * session)))
	if resp := k.handshake(security.Plain, 1); resp == nil || resp.ErrorCode != 0 { // it need not come in time
		t.Fatalf("the way back: %+v", resp)
	}
	if resp := k.token("\x00alice\x00alice-secret", 1); resp == nil || resp.ErrorCode != 0 || resp.SessionLifetimeMillis == 0 {
		t.Errorf("the way back: %+v", resp)
	}
}

// TestAConnectionStaysItsUsers: nobody else can go on with it, nor by another mechanism (A13).
func TestAConnectionStaysItsUsers(t *testing.T) {
	h := newHouse(t, 1)
	h.asking(func(l *Listener) { l.Sessions = sessions(time.Minute) })
	k := h.talk(1)
	k.known("alice")
	k.handshake(security.Plain, 1)
	if resp := k.token("\x00bob\x00bob-secret", 1); resp == nil || resp.ErrorCode != int16(perr.SaslAuthenticationFailed) {
		t.Errorf("bob goes on with alice's connection: %+v", resp)
	}
	k.over("bob on alice's connection")

	k = h.talk(1)
	k.known("alice")
	if resp := k.handshake(security.ScramSHA256, 1); resp == nil || resp.ErrorCode != int16(perr.UnsupportedSaslMechanism) {
		t.Errorf("another mechanism: %+v", resp)
	}
	k.over("another mechanism")

	k = h.talk(1)
	k.known("alice")
	k.handshake(security.Plain, 0)
	k.Write(protocol.AppendFrame(nil, []byte("\x00alice\x00alice-secret")))
	if empty, err := protocol.ReadFrame(k, 1); err != nil || len(empty) > 0 {
		t.Errorf("raw tokens: %q, %v", empty, err)
	}
	if k.ask(kmsg.NewPtrMetadataRequest(), 4) == nil {
		t.Error("who showed it again by raw tokens is not served")
	}
}

// TestStockClientsRenewTheirSessions while they work, and lose nothing.
func TestStockClientsRenewTheirSessions(t *testing.T) {
	h := newHouse(t, 1)
	h.asking(func(l *Listener) { l.Sessions = sessions(1500 * time.Millisecond) })
	c := h.client(kgo.SASL(mechanisms("alice", "alice-secret")[security.ScramSHA256]), kgo.AllowAutoTopicCreation(),
		kgo.DefaultProduceTopic("t"), kgo.ConsumeTopics("t"))
	n := 0
	for until := time.Now().Add(4 * time.Second); time.Now().Before(until); n++ {
		if err := c.ProduceSync(patient(t), kgo.StringRecord("v")).FirstErr(); err != nil {
			t.Fatal(err)
		}
		<-time.After(5 * time.Millisecond)
	}
	if got := poll(t, c, n); len(got) != n {
		t.Errorf("%d of %d records", len(got), n)
	}
}

func sessions(of time.Duration) map[string]time.Duration {
	return map[string]time.Duration{security.Plain: of, security.ScramSHA256: of, security.ScramSHA512: of}
}
