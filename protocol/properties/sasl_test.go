package properties

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/perr"
)

// saslBroker is the broker's side of SCRAM-SHA-256 and of PLAIN, of one user.
type saslBroker struct {
	mechanisms []string
	password   string
	impostor   bool // lets anybody in and cannot prove that it knows them
	lifetime   time.Duration
	handshake  perr.Code

	first, authMessage string
	asked              []int16
}

func (b *saslBroker) ask(_ context.Context, req kmsg.Request) (kmsg.Response, error) {
	b.asked = append(b.asked, req.Key())
	switch r := req.(type) {
	case *kmsg.SASLHandshakeRequest:
		resp := r.ResponseKind().(*kmsg.SASLHandshakeResponse)
		if resp.ErrorCode, resp.SupportedMechanisms = int16(b.handshake), b.mechanisms; resp.ErrorCode == 0 && !strings.Contains(strings.Join(b.mechanisms, " "), r.Mechanism) {
			resp.ErrorCode = int16(perr.UnsupportedSaslMechanism)
		}
		b.first = ""
		return resp, nil
	case *kmsg.SASLAuthenticateRequest:
		resp := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		text, ok := b.step(string(r.SASLAuthBytes))
		if resp.SASLAuthBytes = []byte(text); !ok {
			why := "Authentication failed: Invalid username or password"
			resp.ErrorCode, resp.ErrorMessage = int16(perr.SaslAuthenticationFailed), &why
		} else if r.Version > 0 {
			resp.SessionLifetimeMillis = b.lifetime.Milliseconds()
		}
		return resp, nil
	default:
		panic("the client asks something else")
	}
}

func sum(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

func (b *saslBroker) step(in string) (out string, ok bool) {
	if strings.HasPrefix(in, "\x00") {
		return "", in == "\x00m\x00"+b.password || b.impostor
	}
	if b.first == "" {
		b.first = strings.TrimPrefix(in, "n,,")
		out = "r=" + strings.SplitN(b.first, ",r=", 2)[1] + "SERVER,s=" + base64.StdEncoding.EncodeToString([]byte("salt")) + ",i=4096"
		b.authMessage = b.first + "," + out + ","
		return out, true
	}
	bare, proof, _ := strings.Cut(in, ",p=")
	b.authMessage += bare
	salted, err := pbkdf2.Key(sha256.New, b.password, []byte("salt"), 4096, 32)
	if err != nil {
		panic(err)
	}
	key := sum(salted, "Client Key")
	stored := sha256.Sum256(key)
	for i, s := range sum(stored[:], b.authMessage) {
		key[i] ^= s
	}
	if !b.impostor && proof != base64.StdEncoding.EncodeToString(key) {
		return "", false
	}
	return "v=" + base64.StdEncoding.EncodeToString(sum(sum(salted, "Server Key"), b.authMessage)), true
}

func TestABrokerIsToldWhoWeAre(t *testing.T) {
	t.Setenv("THE_PASSWORD", secret)
	both := []string{Plain, ScramSHA256}
	for _, c := range []struct {
		name, mechanism, password string
		broker                    saslBroker
		newest                    int16
		again                     bool
		want                      string
	}{
		{"scram", ScramSHA256, secret, saslBroker{mechanisms: both, password: secret}, 2, false, ""},
		{"plain", Plain, secret, saslBroker{mechanisms: both, password: secret}, 2, false, ""},
		{"a session that ends", ScramSHA256, "${env:THE_PASSWORD}", saslBroker{mechanisms: both, password: secret, lifetime: time.Hour}, 2, true, ""},
		{"an old broker tells no end", ScramSHA256, secret, saslBroker{mechanisms: both, password: secret, lifetime: time.Hour}, 0, false, ""},
		{"a session of for ever", Plain, secret, saslBroker{mechanisms: both, password: secret, lifetime: 1<<63 - 1}, 9, true, ""},
		{"wrong password", ScramSHA256, "wrong", saslBroker{mechanisms: both, password: secret}, 2, false, `user "m" in by SCRAM-SHA-256: SASL_AUTHENTICATION_FAILED`},
		{"wrong password in plain", Plain, "wrong", saslBroker{mechanisms: both, password: secret}, 2, false, "see sasl.password"},
		{"a broker that does not know us", ScramSHA256, "ours" + secret, saslBroker{mechanisms: both, password: secret, impostor: true}, 2, false, "does not prove that it knows"},
		{"another mechanism", ScramSHA512, secret, saslBroker{mechanisms: both, password: secret}, 2, false, `["PLAIN" "SCRAM-SHA-256"]`},
		{"a plaintext listener", ScramSHA256, secret, saslBroker{handshake: perr.IllegalSaslState}, 2, false, "security.protocol=SASL_PLAINTEXT and the port"},
		{"no such variable", ScramSHA256, "${env:NOT_SET}", saslBroker{mechanisms: both, password: secret}, 2, false, "sasl.password: ${env:NOT_SET}"},
	} {
		s, err := ReadSecurity(map[string]string{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": c.mechanism, "sasl.username": "m", "sasl.password": c.password}, nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.Authenticate(t.Context(), "broker:9093", c.newest, c.broker.ask)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if in := time.Until(again); again.IsZero() == c.again || c.again && (in < 45*time.Minute || in > longestSession) {
			t.Errorf("%s: again in %v", c.name, in)
		}
	}
	var none saslBroker
	if again, err := new(Security).Authenticate(t.Context(), "broker:9092", 2, none.ask); err != nil || !again.IsZero() || len(none.asked) > 0 {
		t.Errorf("without SASL: %v, %v, asked %v", again, err, none.asked)
	}
}
