package admin

import (
	"context"
	"net"
	"strings"
	"testing"

	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

func TestEveryAPIOfOurOwnCanBeSent(t *testing.T) {
	v := Versions()
	for _, a := range messages.APIs() {
		if !a.Own {
			continue
		}
		if got, ok := v.LookupMaxKeyVersion(a.Key); !ok || got != a.Max {
			t.Errorf("%s (key %d): kgo would send version %d, %v; we serve up to %d", a.Name, a.Key, got, ok, a.Max)
		}
	}
}

func TestARefusalReadsAsNameAndReason(t *testing.T) {
	reason := "mirror dr does not exist"
	if got := refusal(int16(perr.UnknownClusterMirror), &reason).Error(); got != "UNKNOWN_CLUSTER_MIRROR: "+reason {
		t.Errorf("got %q", got)
	}
	if refusal(0, &reason) != nil {
		t.Error("code 0 is no refusal")
	}
}

// The first thing that goes wrong at night is the address.
func TestAClusterThatIsNotThereIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cl, err := New([]string{addr})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if _, err := cl.List(context.Background()); err == nil || !strings.HasPrefix(err.Error(), "no broker answers at "+addr) || !strings.Contains(err.Error(), "is the cluster running") {
		t.Errorf("got %v", err)
	}
}

// The ports of a cluster are easily mixed up: NATS greets whoever connects.
func TestAListenerThatIsNotKafkasIsSaidToBeNone(t *testing.T) {
	for name, row := range map[string]struct{ greeting, want string }{
		"NATS":    {"INFO {}\r\n", "what answers at ADDRESS does not speak Kafka"},
		"stopped": {"", "a broker of ADDRESS closed the connection: it may be stopping"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					_, _ = c.Write([]byte(row.greeting))
					if row.greeting == "" {
						_, _ = c.Read(make([]byte, 4))
						_ = c.(*net.TCPConn).CloseWrite()
					}
				}
			}()
			cl, err := New([]string{l.Addr().String()})
			if err != nil {
				t.Fatal(err)
			}
			defer cl.Close()
			want := strings.ReplaceAll(row.want, "ADDRESS", l.Addr().String())
			if _, err := cl.List(context.Background()); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
