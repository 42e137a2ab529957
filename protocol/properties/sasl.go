package properties

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"lockstep/protocol/perr"
)

// credentials are looked up anew for each authentication, so that a password may be changed under a client that runs.
func (s Security) credentials() (user, password string, err error) {
	a := account{user: s.user, password: s.password}
	if s.login != "" {
		text := s.login
		if named(text) {
			if text, err = s.places.Resolve(text); err != nil {
				return "", "", fmt.Errorf("sasl.jaas.config: %w", err)
			}
		}
		if a, err = s.account(text); err != nil {
			return "", "", err
		}
	}
	if user, err = s.places.Resolve(a.user); err == nil {
		password, err = s.places.Resolve(a.password)
	}
	if err == nil && (user == "" || password == "") {
		err = errors.New("user or password is empty")
	}
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", s.loginName(), err)
	}
	return user, password, nil
}

// loginName is the setting that says who logs in.
func (s Security) loginName() string {
	if s.login != "" {
		return "sasl.jaas.config"
	}
	return "sasl.password"
}

// written is the user as it was written: what a reference stands for is not shown.
func (s Security) written() string {
	if s.login == "" {
		return s.user
	}
	if a, err := parseJAAS(s.login); err == nil {
		return a.user
	}
	return "of sasl.jaas.config"
}

// Mechanism is nil without SASL.
func (s Security) Mechanism() sasl.Mechanism {
	if !s.sasl {
		return nil
	}
	scrams := func(context.Context) (scram.Auth, error) {
		user, password, err := s.credentials()
		return scram.Auth{User: user, Pass: password}, err
	}
	switch s.mechanism {
	case ScramSHA256:
		return scram.Sha256(scrams)
	case ScramSHA512:
		return scram.Sha512(scrams)
	default:
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			user, password, err := s.credentials()
			return plain.Auth{User: user, Pass: password}, err
		})
	}
}

// Ask sends a request in its version and reads the answer.
type Ask func(context.Context, kmsg.Request) (kmsg.Response, error)

// Authenticate proves to the broker at addr who we are, by SaslHandshake v1 and SaslAuthenticate up to the version that it
// speaks; again on the same connection before the session ends (KIP-368). No other request may be asked meanwhile. It
// returns when to do so again, zero: never; a refusal is an error that names the setting to look at. Without SASL nothing is
// asked.
func (s Security) Authenticate(ctx context.Context, addr string, newest int16, ask Ask) (again time.Time, err error) {
	mechanism := s.Mechanism()
	if mechanism == nil {
		return time.Time{}, nil
	}
	hello := kmsg.NewPtrSASLHandshakeRequest()
	hello.Version, hello.Mechanism = 1, s.mechanism
	answer, err := ask(ctx, hello)
	if err != nil {
		return time.Time{}, fmt.Errorf("SaslHandshake: %w", err)
	}
	offered, ok := answer.(*kmsg.SASLHandshakeResponse)
	switch {
	case !ok:
		return time.Time{}, fmt.Errorf("SaslHandshake was answered with a %T", answer)
	case offered.ErrorCode == int16(perr.IllegalSaslState):
		return time.Time{}, fmt.Errorf("%s asks for no authentication there: see security.protocol=%s and the port", addr, s.Protocol())
	case offered.ErrorCode != 0:
		return time.Time{}, fmt.Errorf("%s does not authenticate by sasl.mechanism=%s, it offers %.100q", addr, s.mechanism, offered.SupportedMechanisms)
	}
	session, out, err := mechanism.Authenticate(ctx, addr)
	if err != nil {
		return time.Time{}, err
	}
	began, lifetime := time.Now(), time.Duration(0)
	for done := false; !done; {
		step := kmsg.NewPtrSASLAuthenticateRequest()
		step.Version, step.SASLAuthBytes = max(0, min(newest, maxAuthenticate)), out
		began = time.Now()
		answer, err := ask(ctx, step)
		if err != nil {
			return time.Time{}, fmt.Errorf("SaslAuthenticate: %w", err)
		}
		resp, ok := answer.(*kmsg.SASLAuthenticateResponse)
		if !ok {
			return time.Time{}, fmt.Errorf("SaslAuthenticate was answered with a %T", answer)
		}
		if resp.ErrorCode != 0 {
			return time.Time{}, s.refused(addr, perr.Code(resp.ErrorCode), resp.ErrorMessage)
		}
		if done, out, err = session.Challenge(resp.SASLAuthBytes); err != nil {
			return time.Time{}, fmt.Errorf("%s does not prove that it knows user %q by %s: %w; see %s", addr, s.written(), s.mechanism, err, s.loginName())
		}
		lifetime = time.Duration(min(resp.SessionLifetimeMillis, int64(longestSession/time.Millisecond))) * time.Millisecond
	}
	if lifetime <= 0 {
		return time.Time{}, nil
	}
	return began.Add(lifetime * 17 / 20), nil
}

const (
	maxAuthenticate = 2
	longestSession  = 365 * 24 * time.Hour
)

func (s Security) refused(addr string, code perr.Code, text *string) error {
	said := code.Message()
	if text != nil {
		said = cmp.Or(*text, said)
	}
	return &Refused{fmt.Errorf("%s does not let user %q in by %s: %s: %.200s; see %s", addr, s.written(), s.mechanism, code.Name(), said, s.loginName())}
}

// Refused says that a broker did not take our proof of who we are.
type Refused struct{ error }

func (r *Refused) Unwrap() error { return r.error }

// Authenticates tells whether an API belongs to the authentication itself.
func Authenticates(key int16) bool {
	return key == int16(kmsg.ApiVersions) || key == int16(kmsg.SASLHandshake) || key == int16(kmsg.SASLAuthenticate)
}
