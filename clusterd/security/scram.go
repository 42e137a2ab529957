package security

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"strings"
	"unicode/utf8"
)

// scramServer is the server's side of SCRAM (RFC 5802, RFC 7677) without channel binding, as Kafka has it.
type scramServer struct {
	mechanism string
	users     func(mechanism, user string) (Credential, bool)

	state      scramState
	user       string
	known      bool
	credential Credential
	header     string // of GS2, which the last message repeats
	first      string // the client's first message without it
	server     string // our first message
	nonce      string // the client's and ours
}

type scramState uint8

const (
	scramBegins scramState = iota
	scramChallenged
	scramOver
)

// MinIterations is Kafka's: a credential of fewer is not used.
const MinIterations = 4096

// pretence makes credentials of users that do not exist, the same ones as long as the process runs: who asks for them is
// answered like everybody else, and fails in the end.
var pretence = func() []byte {
	b := make([]byte, sha256.Size)
	rand.Read(b)
	return b
}()

func (s *scramServer) User() string { return s.user }

func (s *scramServer) Next(token []byte) (answer []byte, done bool, err error) {
	state := s.state
	s.state = scramOver
	switch state {
	case scramBegins:
		if answer, err = s.challenge(string(token)); err == nil {
			s.state = scramChallenged
		}
		return answer, false, err
	case scramChallenged:
		answer, err = s.verify(string(token))
		return answer, err == nil, err
	case scramOver:
		return nil, false, errOver
	default:
		panic("security: unknown state of SCRAM")
	}
}

// challenge answers the client's first message.
func (s *scramServer) challenge(message string) ([]byte, error) {
	if !utf8.ValidString(message) || strings.ContainsRune(message, 0) {
		return nil, errors.New("the client's first message is not text")
	}
	parts := strings.SplitN(message, ",", 3)
	if len(parts) != 3 {
		return nil, errors.New("the client's first message is not gs2-header,n=user,r=nonce")
	}
	if parts[0] != "n" && parts[0] != "y" {
		return nil, fmt.Errorf("the client wants channel binding by %.40q, which is not done here", parts[0])
	}
	s.header, s.first = parts[0]+","+parts[1]+",", parts[2]
	attributes := strings.Split(s.first, ",")
	name, named := strings.CutPrefix(attributes[0], "n=")
	if !named || len(attributes) < 2 {
		return nil, errors.New("the client's first message has no user, or no nonce, where they belong")
	}
	nonce, given := strings.CutPrefix(attributes[1], "r=")
	if !given || !printable(nonce) {
		return nil, errors.New("the client's nonce is missing, empty or not printable")
	}
	for _, extension := range attributes[2:] {
		if extension == "tokenauth=true" {
			return nil, errors.New("the client has a delegation token, and there are none here")
		}
	}
	var ok bool
	if s.user, ok = saslName(name); !ok {
		return nil, fmt.Errorf("the user %.80q is empty, or has an = that is neither =2C nor =3D", name)
	}
	if parts[1] != "" {
		if asked, _ := saslName(strings.TrimPrefix(parts[1], "a=")); asked != s.user {
			return nil, fmt.Errorf("the authorization id %.80q is not the user", asked)
		}
	}
	s.credential, s.known = s.find()
	own := make([]byte, 24)
	rand.Read(own)
	s.nonce = nonce + base64.RawURLEncoding.EncodeToString(own)
	s.server = fmt.Sprintf("r=%s,s=%s,i=%d", s.nonce, base64.StdEncoding.EncodeToString(s.credential.Salt), s.credential.Iterations)
	return []byte(s.server), nil
}

func (s *scramServer) find() (Credential, bool) {
	if s.users != nil {
		if c, known := s.users(s.mechanism, s.user); known && c.Iterations >= MinIterations && len(c.StoredKey) == s.hash().Size() {
			return c, true
		}
	}
	m := hmac.New(sha256.New, pretence)
	m.Write([]byte(s.mechanism + " " + s.user))
	return Credential{Salt: m.Sum(nil)[:18], StoredKey: make([]byte, s.hash().Size()), Iterations: MinIterations}, false
}

// verify judges the client's last message, and proves to the client that we know its credential, too.
func (s *scramServer) verify(message string) ([]byte, error) {
	without, proof64, some := strings.Cut(message, ",p=")
	attributes := strings.Split(without, ",")
	if !some || len(attributes) < 2 {
		return nil, errors.New("the client's last message is not c=binding,r=nonce,p=proof")
	}
	binding, bound := strings.CutPrefix(attributes[0], "c=")
	if header, err := base64.StdEncoding.DecodeString(binding); !bound || err != nil || string(header) != s.header {
		return nil, errors.New("the client's last message does not repeat how its first one began")
	}
	if attributes[1] != "r="+s.nonce {
		return nil, errors.New("the nonce is not that of this exchange")
	}
	proof, err := base64.StdEncoding.DecodeString(proof64)
	if err != nil || len(proof) != s.hash().Size() {
		return nil, errors.New("the proof is not as long as the mechanism makes it")
	}
	about := s.first + "," + s.server + "," + without
	clientKey := make([]byte, len(proof))
	subtle.XORBytes(clientKey, proof, s.mac(s.credential.StoredKey, about))
	h := s.hash()
	h.Write(clientKey)
	if subtle.ConstantTimeCompare(h.Sum(nil), s.credential.StoredKey) != 1 || !s.known {
		return nil, ErrNotAuthenticated
	}
	return append([]byte("v="), base64.StdEncoding.EncodeToString(s.mac(s.credential.ServerKey, about))...), nil
}

func (s *scramServer) hash() hash.Hash {
	if s.mechanism == ScramSHA512 {
		return sha512.New()
	}
	return sha256.New()
}

func (s *scramServer) mac(key []byte, message string) []byte {
	m := hmac.New(s.hash, key)
	m.Write([]byte(message))
	return m.Sum(nil)
}

func printable(nonce string) bool {
	return nonce != "" && !strings.ContainsFunc(nonce, func(r rune) bool { return r < 0x21 || r > 0x7e })
}

// saslName undoes the two escapes of names. It is not prepared by SASLprep, as it is not in Kafka.
func saslName(escaped string) (name string, ok bool) {
	var b strings.Builder
	for at := 0; at < len(escaped); at++ {
		if escaped[at] != '=' {
			b.WriteByte(escaped[at])
			continue
		}
		switch {
		case strings.HasPrefix(escaped[at:], "=2C"):
			b.WriteByte(',')
		case strings.HasPrefix(escaped[at:], "=3D"):
			b.WriteByte('=')
		default:
			return "", false
		}
		at += 2
	}
	return b.String(), b.Len() > 0
}
