package front

import (
	"crypto/tls"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/clusterd/security"
	"lockstep/testkit/authority"
)

// TestWhoComesIsCounted per listener, as Kafka's socket server does.
func TestWhoComesIsCounted(t *testing.T) {
	h := newHouse(t, 1)
	h.traffic = &Traffic{}
	h.asking(func(l *Listener) { l.Sessions = sessions(200 * time.Millisecond) })
	h.traffic.listeners.Clear()
	h.restart()
	k := h.talk(1)
	k.known("alice")
	k.known("alice")
	late := h.talk(1)
	late.known("bob")
	wrong := h.talk(1)
	wrong.handshake(security.Plain, 1)
	wrong.token("x", 1)
	other := h.talk(1)
	other.known("alice")
	other.handshake(security.Plain, 1)
	other.token("\x00bob\x00bob-secret", 1)
	<-time.After(250 * time.Millisecond)
	if late.ask(kmsg.NewPtrMetadataRequest(), 4) != nil {
		t.Error("a session that is over goes on")
	}
	want := Admissions{Listener: "SASL_PLAINTEXT", Known: 3, Failed: 1, KnownAgain: 1, FailedAgain: 1, Expired: 1}
	if got := h.traffic.Admissions(); len(got) != 1 || got[0] != want {
		t.Errorf("%+v", got)
	}

	a := authority.New(t, "ca")
	h.listener = Listener{}
	h.restart()
	h.traffic.listeners.Clear()
	h.overTLS(a, security.SSL, tls.NoClientCert, "")
	h.traffic.listeners.Delete("")
	good := &talk{t, h.dialTLS(&tls.Config{RootCAs: a.Pool()}), 0}
	good.ask(kmsg.NewPtrApiVersionsRequest(), 0)
	plain := h.talk(1)
	plain.ask(kmsg.NewPtrApiVersionsRequest(), 0)
	got := h.traffic.Admissions()
	if len(got) != 1 || got[0].Known != 1 || got[0].Failed != 1 || time.Until(got[0].CertificateEnds) < 30*time.Minute {
		t.Errorf("%+v", got)
	}
}
