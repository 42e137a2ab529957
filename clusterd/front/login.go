package front

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core/access"
	"lockstep/clusterd/security"
	"lockstep/protocol"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// login is what a connection has shown of who its client is. All of it is the reader's own.
//
// A client says ApiVersions if it likes, then SaslHandshake with a mechanism, then tokens of it until it is known. Nothing
// else is served before, and once it is known it stays who it is: it may only show it again, which it has to before its
// session ends. The answers of all that have their places in the connection's order, so requests may be under way meanwhile.
type login struct {
	*conn
	known     bool // the connection's user has been shown
	mechanism string
	exchange  security.Exchange // under way; nil: none is
	bare      bool              // its tokens have no requests around them: the handshake was of version 0
	again     time.Time         // when the newest exchange after the first began
	ends      time.Time         // the session; zero: never
}

// againAfter is how long a client that was known just now is not asked to show it again, as in Kafka.
const againAfter = time.Second

// authenticate serves a client until it is known. A nil error without that is an ordinary end.
func (l *login) authenticate(in *bufio.Reader) error {
	until := time.Now().Add(l.front.limits.Login)
	for !l.known && !l.gone() {
		if err := l.step(in, until); err != nil {
			return ordinaryEnd(err)
		}
	}
	return nil
}

// unknown is for a client that said nothing that could be answered. There may be thousands, so they have no lines of their
// own in the log. A nil err is an ordinary end, or one that was told and counted.
func (l *login) unknown(err error) {
	if err == nil {
		return
	}
	l.at.counts.failed.Add(1)
	l.front.refused.warn(l.front.log, "a client did not show who it is", "client", l.net.RemoteAddr().String(), "listener", l.at.Name, "reason", err.Error())
}

// step serves one frame of an exchange.
func (l *login) step(in *bufio.Reader, until time.Time) error {
	l.net.SetReadDeadline(until)
	frame, err := l.frame(in)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the client did not show within %s who it is", l.front.limits.Login)
	case err != nil:
		return err
	}
	p := &pending{Slot: NewSlot(), size: len(frame)}
	l.flight.Add(1)
	if l.tokens() {
		return l.token(p, frame)
	}
	return l.request(p, frame)
}

// tokens is whether the next frame is a token without a request around it.
func (l *login) tokens() bool { return l.bare && l.exchange != nil }

// frame reads one request or token. What it takes grows with what arrives.
func (l *login) frame(in *bufio.Reader) ([]byte, error) {
	prefix, err := in.Peek(4)
	if err != nil {
		return nil, err
	}
	size := int(int32(binary.BigEndian.Uint32(prefix)))
	if size < 0 || size > l.at.Receive {
		return nil, fmt.Errorf("frame length %d of a client that has not shown who it is, is not within 0..%d (sasl.server.max.receive.size)", size, l.at.Receive)
	}
	in.Discard(4)
	frame, err := io.ReadAll(io.LimitReader(in, int64(size)))
	if err == nil && len(frame) < size {
		err = io.ErrUnexpectedEOF
	}
	return frame, err
}

// request is one request of a client that is not known yet.
func (l *login) request(p *pending, frame []byte) error {
	h, _, err := protocol.ParseHeader(frame)
	switch {
	case err != nil:
	case h.Key == messages.KeySaslHandshake, h.Key == messages.KeySaslAuthenticate, h.Key == messages.KeyApiVersions && l.exchange == nil:
		return l.start(p, frame)
	default:
		err = fmt.Errorf("api key %d came before the client had shown who it is: listener %s speaks %s", h.Key, l.at.Name, l.at.Protocol)
	}
	l.release(p)
	return err
}

// handler is what to do with a request of an exchange, nil if the request is another.
func (l *login) handler(r kmsg.Request, p *pending) func() error {
	switch r := r.(type) {
	case *kmsg.SASLHandshakeRequest:
		return func() error { return l.handshake(r, p) }
	case *kmsg.SASLAuthenticateRequest:
		return func() error { return l.next(r, p) }
	default:
		return nil
	}
}

// expired is whether a request comes too late: only a handshake may, and what belongs to it.
func (l *login) expired(key int16) bool {
	return !l.ends.IsZero() && time.Now().After(l.ends) && key != messages.KeySaslHandshake && (key != messages.KeySaslAuthenticate || l.exchange == nil)
}

func (l *login) handshake(r *kmsg.SASLHandshakeRequest, p *pending) error {
	resp := r.ResponseKind().(*kmsg.SASLHandshakeResponse)
	resp.SupportedMechanisms = l.at.Mechanisms
	now := time.Now()
	switch {
	case l.exchange != nil:
		resp.ErrorCode = int16(perr.IllegalSaslState)
		return l.refuse(p, resp, errors.New("a handshake came in the middle of another exchange"))
	case l.known && (l.ends.IsZero() || now.Sub(l.again) < againAfter):
		resp.ErrorCode = int16(perr.IllegalSaslState)
		p.Reply(resp)
		return nil
	case !slices.Contains(l.at.Mechanisms, r.Mechanism):
		resp.ErrorCode = int16(perr.UnsupportedSaslMechanism)
		return l.refuse(p, resp, fmt.Errorf("mechanism %.40q is not in sasl.enabled.mechanisms %v", r.Mechanism, l.at.Mechanisms))
	case l.known && r.Mechanism != l.mechanism:
		resp.ErrorCode, resp.SupportedMechanisms = int16(perr.UnsupportedSaslMechanism), []string{l.mechanism}
		return l.refuse(p, resp, fmt.Errorf("the client showed by %s who it is, and wants to again by %s", l.mechanism, r.Mechanism))
	}
	if l.known {
		l.again = now
	}
	l.mechanism, l.bare = r.Mechanism, r.Version == 0
	l.exchange = security.NewExchange(r.Mechanism, security.Users{Plain: l.at.Plain, Scram: l.front.credential})
	p.Reply(resp)
	return nil
}

// next is a token within SaslAuthenticate.
func (l *login) next(r *kmsg.SASLAuthenticateRequest, p *pending) error {
	resp := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
	switch {
	case l.exchange == nil && l.known:
		resp.ErrorCode = int16(perr.IllegalSaslState)
		p.Reply(resp)
		return nil
	case l.exchange == nil:
		resp.ErrorCode, resp.ErrorMessage = int16(perr.IllegalSaslState), text("SaslHandshake comes first")
		return l.refuse(p, resp, errors.New("SaslAuthenticate came without a handshake"))
	}
	mechanism := l.mechanism
	answer, err := l.judge(r.SASLAuthBytes)
	if err != nil {
		resp.ErrorCode, resp.ErrorMessage = int16(perr.SaslAuthenticationFailed), text("authentication by "+mechanism+" failed: "+reason(err))
		return l.refuse(p, resp, err)
	}
	resp.SASLAuthBytes = answer
	if l.exchange == nil {
		resp.SessionLifetimeMillis = l.at.Sessions[mechanism].Milliseconds()
	}
	p.Reply(resp)
	return nil
}

// token is one without a request around it. A failure has no answer but the end.
func (l *login) token(p *pending, token []byte) error {
	p.key, p.bare, p.arrived = messages.KeySaslAuthenticate, true, time.Now()
	if !l.queue(p) {
		return nil
	}
	answer, err := l.judge(token)
	if err != nil {
		return l.refuse(p, nil, err)
	}
	resp := kmsg.NewPtrSASLAuthenticateResponse()
	resp.SASLAuthBytes = answer
	p.Reply(resp)
	return nil
}

// judge takes a token. The exchange is over when it is nil afterwards.
func (l *login) judge(token []byte) ([]byte, error) {
	answer, done, err := l.exchange.Next(token)
	if err != nil || !done {
		return answer, err
	}
	who := access.UserNamed(l.exchange.User())
	if l.known && l.user != who {
		return nil, errOther
	}
	if l.known {
		l.at.counts.knownAgain.Add(1)
	} else {
		l.at.counts.known.Add(1)
	}
	l.user, l.known, l.exchange = who, true, nil
	if session := l.at.Sessions[l.mechanism]; session > 0 {
		l.ends = time.Now().Add(session)
	}
	return answer, nil
}

// errOther: requests that are under way, and fetch sessions, are those of the user that the connection began with.
var errOther = errors.New("a connection cannot become another user's")

// reason is what of err a client may hear.
func reason(err error) string {
	if errors.Is(err, errOther) {
		return errOther.Error()
	}
	return security.ErrNotAuthenticated.Error()
}

// refuse tells a client that it failed, after a while, so that guessing takes time; then the connection ends. resp is nil
// for a client that is told nothing.
func (l *login) refuse(p *pending, resp kmsg.Response, why error) error {
	user := ""
	if l.exchange != nil {
		user = l.exchange.User()
		user = user[:min(len(user), maxBucketName)]
	}
	if l.known {
		l.at.counts.failedAgain.Add(1)
	} else {
		l.at.counts.failed.Add(1)
	}
	l.front.refused.warn(l.front.log, "a client did not show who it is", "client", l.net.RemoteAddr().String(), "listener", l.at.Name, "mechanism", l.mechanism, "user", user, "reason", why.Error())
	timer := time.NewTimer(l.at.Penalty)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.done:
		return nil
	}
	if resp == nil {
		p.HangUp()
	} else {
		p.Reply(resp)
		end := &pending{Slot: NewSlot()}
		l.flight.Add(1)
		if !l.queue(end) {
			return nil
		}
		end.HangUp()
	}
	<-l.done // the writer's, once all that is owed has been written
	return nil
}

// gone is whether the connection has ended.
func (l *login) gone() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}
