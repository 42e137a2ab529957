package security

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/xdg-go/scram"
)

// scramServer is the server's side of SCRAM (RFC 5802, RFC 7677) without channel binding, as Kafka has it: the library holds
// the conversation, and here is what Kafka asks beyond it of who may be whom.
type scramServer struct {
	mechanism string
	users     func(mechanism, user string) (Credential, bool)
	nonce     scram.NonceGeneratorFcn // nil: the library's own

	conversation *scram.ServerConversation
	user         string
	known        bool
}

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
	if s.conversation == nil {
		answer, err = s.first(string(token))
		return answer, false, err
	}
	text, err := s.conversation.Step(string(token))
	switch {
	case text == scram.ErrInvalidProof, err == nil && !s.known:
		return nil, false, ErrNotAuthenticated
	case err != nil:
		return nil, false, err
	default:
		return []byte(text), true, nil
	}
}

func (s *scramServer) first(message string) ([]byte, error) {
	server, err := s.hash().NewServer(s.find)
	if err != nil {
		return nil, err
	}
	if s.nonce != nil {
		server = server.WithNonceGenerator(s.nonce)
	}
	s.conversation = server.NewConversation()
	var why error
	switch {
	case !utf8.ValidString(message) || strings.ContainsRune(message, 0):
		why = errors.New("the client's first message is not text")
	case slices.Contains(strings.Split(message, ","), "tokenauth=true"):
		why = errors.New("the client has a delegation token, and there are none here")
	}
	text, err := s.conversation.Step(message)
	s.user = s.conversation.Username()
	asked := s.conversation.AuthzID()
	switch {
	case why != nil:
	case err != nil:
		return nil, err
	case s.user == "":
		why = errors.New("the client's first message names no user")
	case asked != "" && asked != s.user:
		why = fmt.Errorf("the authorization id %.80q is not the user", asked)
	default:
		return []byte(text), nil
	}
	s.conversation.Step("") // it is over, whatever comes next
	return nil, why
}

// find is the credential of a user, or one that nobody's password fits.
func (s *scramServer) find(user string) (scram.StoredCredentials, error) {
	hash := s.hash()
	if s.users != nil {
		if c, known := s.users(s.mechanism, user); known && c.Iterations >= MinIterations && len(c.StoredKey) == hash().Size() {
			s.known = true
			return scram.StoredCredentials{KeyFactors: scram.KeyFactors{Salt: string(c.Salt), Iters: c.Iterations}, StoredKey: c.StoredKey, ServerKey: c.ServerKey}, nil
		}
	}
	m := hmac.New(sha256.New, pretence)
	m.Write([]byte(s.mechanism + " " + user))
	return scram.StoredCredentials{KeyFactors: scram.KeyFactors{Salt: string(m.Sum(nil)[:18]), Iters: MinIterations}, StoredKey: make([]byte, hash().Size())}, nil
}

func (s *scramServer) hash() scram.HashGeneratorFcn {
	if s.mechanism == ScramSHA512 {
		return scram.SHA512
	}
	return scram.SHA256
}
