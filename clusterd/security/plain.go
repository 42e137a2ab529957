package security

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"unicode/utf8"
)

// plainServer is PLAIN (RFC 4616): one token with the user and the password.
type plainServer struct {
	users map[string]string
	user  string
	over  bool
}

var errOver = errors.New("the exchange is over")

func (p *plainServer) User() string { return p.user }

func (p *plainServer) Next(token []byte) ([]byte, bool, error) {
	if p.over {
		return nil, false, errOver
	}
	p.over = true
	parts := bytes.Split(token, []byte{0})
	if len(parts) != 3 || !utf8.Valid(token) {
		return nil, false, errors.New("the token is not [authorization id] NUL user NUL password in UTF-8")
	}
	authorization, user, password := string(parts[0]), string(parts[1]), parts[2]
	p.user = user
	if user == "" || len(password) == 0 {
		return nil, false, errors.New("the token has no user, or no password")
	}
	if authorization != "" && authorization != user {
		return nil, false, fmt.Errorf("the authorization id %.80q is not the user", authorization)
	}
	// Digests are compared, and of unknown users as well, so that neither the time it takes nor the length tells anything.
	known, exists := p.users[user]
	want, got := sha256.Sum256([]byte(known)), sha256.Sum256(password)
	if subtle.ConstantTimeCompare(want[:], got[:]) != 1 || !exists {
		return nil, false, ErrNotAuthenticated
	}
	return []byte{}, true, nil
}
