package security

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"hash"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// credential makes what is stored of a password, as clients do before they send it.
func credential(t *testing.T, mechanism, password string, salt []byte, iterations int) Credential {
	t.Helper()
	h := func() hash.Hash { return sha256.New() }
	if mechanism == ScramSHA512 {
		h = sha512.New
	}
	salted, err := pbkdf2.Key(h, password, salt, iterations, h().Size())
	if err != nil {
		t.Fatal(err)
	}
	mac := func(text string) []byte {
		m := hmac.New(h, salted)
		m.Write([]byte(text))
		return m.Sum(nil)
	}
	stored := h()
	stored.Write(mac("Client Key"))
	return Credential{Salt: salt, StoredKey: stored.Sum(nil), ServerKey: mac("Server Key"), Iterations: iterations}
}

func scramUsers(t *testing.T, password string, names ...string) Users {
	return Users{Scram: func(mechanism, user string) (Credential, bool) {
		for _, name := range names {
			if user == name {
				return credential(t, mechanism, password, []byte("salt of "+user), 5000), true
			}
		}
		return Credential{}, false
	}}
}

// talk runs an exchange with a stock client and returns what the server made of it.
func talk(t *testing.T, m sasl.Mechanism, users Users) (Exchange, error) {
	t.Helper()
	session, token, err := m.Authenticate(context.Background(), "here")
	if err != nil {
		t.Fatal(err)
	}
	e := NewExchange(m.Name(), users)
	for {
		answer, done, err := e.Next(token)
		if err != nil {
			return e, err
		}
		clientDone, next, err := session.Challenge(answer)
		if err != nil {
			t.Fatal("the client refuses the server:", err)
		}
		if done != clientDone {
			t.Fatalf("done for the server: %v, for the client: %v", done, clientDone)
		}
		if done {
			return e, nil
		}
		token = next
	}
}

func TestStockClientsShowWhoTheyAre(t *testing.T) {
	odd := `a,b=c ü"User:`
	users := scramUsers(t, "secret", "alice", odd)
	users.Plain = map[string]string{"alice": "secret", odd: "secret", "empty": ""}
	for _, user := range []string{"alice", odd} {
		for _, m := range []sasl.Mechanism{
			plain.Auth{User: user, Pass: "secret"}.AsMechanism(),
			plain.Auth{Zid: user, User: user, Pass: "secret"}.AsMechanism(),
			scram.Auth{User: user, Pass: "secret"}.AsSha256Mechanism(),
			scram.Auth{User: user, Pass: "secret"}.AsSha512Mechanism(),
			scram.Auth{Zid: user, User: user, Pass: "secret"}.AsSha256Mechanism(),
		} {
			if e, err := talk(t, m, users); err != nil || e.User() != user {
				t.Errorf("%s of %q: %q, %v", m.Name(), user, e.User(), err)
			}
		}
	}
	for name, m := range map[string]sasl.Mechanism{
		"another password":                 plain.Auth{User: "alice", Pass: "secre"}.AsMechanism(),
		"nobody":                           plain.Auth{User: "bob", Pass: "secret"}.AsMechanism(),
		"on behalf of another":             plain.Auth{Zid: "bob", User: "alice", Pass: "secret"}.AsMechanism(),
		"another password by SCRAM":        scram.Auth{User: "alice", Pass: "secret2"}.AsSha256Mechanism(),
		"nobody by SCRAM":                  scram.Auth{User: "bob", Pass: "secret"}.AsSha512Mechanism(),
		"on behalf of another by SCRAM":    scram.Auth{Zid: "bob", User: "alice", Pass: "secret"}.AsSha256Mechanism(),
		"a delegation token":               scram.Auth{User: "alice", Pass: "secret", IsToken: true}.AsSha256Mechanism(),
		"a user of PLAIN without password": plain.Auth{User: "empty", Pass: "x"}.AsMechanism(),
	} {
		if _, err := talk(t, m, users); err == nil {
			t.Errorf("%s is let in", name)
		}
	}
}

// TestScramOfTheStandard is the example of RFC 7677, with the server's nonce put in.
func TestScramOfTheStandard(t *testing.T) {
	salt, _ := base64.StdEncoding.DecodeString("W22ZaJ0SNY7soEsUEjb6gQ==")
	s := &scramServer{mechanism: ScramSHA256, users: func(string, string) (Credential, bool) {
		return credential(t, ScramSHA256, "pencil", salt, 4096), true
	}}
	s.nonce = func() string { return "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0" }
	if _, _, err := s.Next([]byte("n,,n=user,r=rOprNGfwEbeRWgbNEkqO")); err != nil {
		t.Fatal(err)
	}
	answer, done, err := s.Next([]byte("c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="))
	if err != nil || !done || string(answer) != "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=" {
		t.Fatalf("%q %v %v", answer, done, err)
	}
}

// TestScramIsNotRepeated: what was said in one exchange is worth nothing in another, nor twice in one (A13).
func TestScramIsNotRepeated(t *testing.T) {
	users := scramUsers(t, "secret", "alice")
	session, first, err := scram.Auth{User: "alice", Pass: "secret"}.AsSha256Mechanism().Authenticate(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	heard := NewExchange(ScramSHA256, users)
	challenge, _, err := heard.Next(first)
	if err != nil {
		t.Fatal(err)
	}
	_, final, err := session.Challenge(challenge)
	if err != nil {
		t.Fatal(err)
	}
	replay := NewExchange(ScramSHA256, users)
	if _, _, err := replay.Next(first); err != nil {
		t.Fatal(err)
	}
	if _, done, err := replay.Next(final); err == nil || done {
		t.Error("a last message of another exchange is taken")
	}
	if _, done, err := heard.Next(final); err != nil || !done {
		t.Error("the genuine one is not:", err)
	}
	if _, done, err := heard.Next(final); err == nil || done {
		t.Error("it is taken twice")
	}
	for name, change := range map[string]func(string) string{
		"a shorter nonce":   func(m string) string { at := strings.Index(m, ",p="); return m[:at-1] + m[at:] },
		"no proof":          func(m string) string { return m[:strings.Index(m, ",p=")] },
		"an empty proof":    func(m string) string { return m[:strings.Index(m, ",p=")+3] },
		"another binding":   func(m string) string { return "c=eSws" + strings.TrimPrefix(m, "c=biws") },
		"an extension more": func(m string) string { at := strings.Index(m, ",p="); return m[:at] + ",x=y" + m[at:] },
		"nothing":           func(string) string { return "" },
	} {
		session, first, _ := scram.Auth{User: "alice", Pass: "secret"}.AsSha256Mechanism().Authenticate(context.Background(), "")
		e := NewExchange(ScramSHA256, users)
		challenge, _, _ := e.Next(first)
		_, final, _ := session.Challenge(challenge)
		if _, done, err := e.Next([]byte(change(string(final)))); err == nil || done {
			t.Errorf("a last message with %s is taken", name)
		}
	}
}

// TestWhoExistsIsNotTold: the answers for a user and for nobody look alike, and again alike when they are asked for again.
func TestWhoExistsIsNotTold(t *testing.T) {
	users := scramUsers(t, "secret", "alice")
	salt := func(user string) string {
		e := NewExchange(ScramSHA256, users)
		answer, _, err := e.Next([]byte("n,,n=" + user + ",r=x"))
		if err != nil {
			t.Fatal(user, err)
		}
		return strings.Split(string(answer), ",")[1]
	}
	if a, b := salt("bob"), salt("bob"); a != b || a == salt("carol") {
		t.Error("nobody has a salt that tells:", a, b)
	}
	_, known := talk(t, scram.Auth{User: "alice", Pass: "x"}.AsSha256Mechanism(), users)
	_, unknown := talk(t, scram.Auth{User: "bob", Pass: "x"}.AsSha256Mechanism(), users)
	if !errors.Is(known, ErrNotAuthenticated) || !errors.Is(unknown, ErrNotAuthenticated) {
		t.Error(known, unknown)
	}
}

func FuzzExchange(f *testing.F) {
	for _, seed := range []string{"\x00a\x00b", "n,,n=alice,r=x", "n,a=alice,n=alice,r=x,tokenauth=true", "y,,n==2C=3D,r=x", "p=tls-unique,,n=a,r=b", "c=biws,r=x,p=AA=="} {
		f.Add([]byte(seed), []byte(seed))
	}
	users := Users{Plain: map[string]string{"alice": "long secret"}, Scram: func(string, string) (Credential, bool) {
		return Credential{Salt: []byte{1}, StoredKey: make([]byte, 32), ServerKey: make([]byte, 32), Iterations: MinIterations}, true
	}}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		for _, m := range Mechanisms {
			e := NewExchange(m, users)
			if _, done, err := e.Next(first); err != nil || done {
				if done && !strings.Contains(string(first), "long secret") {
					t.Fatalf("%s: %q is let in", m, first)
				}
				continue
			}
			if _, done, _ := e.Next(second); done {
				t.Fatalf("%s: %q, %q is let in", m, first, second)
			}
		}
	})
}
