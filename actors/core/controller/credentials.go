package controller

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"lockstep/actors/core/access"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

const (
	maxCredentials = 10_000
	maxSalt        = 1024 // bytes
)

// alterCredentials judges each user by itself. As in Kafka, a user is named once in a request, by whichever mechanism.
func (s *State) alterCredentials(c AlterCredentials) (out outcome) {
	answer := CredentialsAnswered{Ref: c.Ref}
	var asked []CredentialChange // by user, as the answer
	at := map[string]int{}
	for n, change := range c.Changes {
		i, twice := at[change.Of.User]
		if !twice {
			i = len(asked)
			at[change.Of.User] = i
			asked = append(asked, change)
			answer.Results = append(answer.Results, CredentialResult{User: change.Of.User})
		}
		switch r := &answer.Results[i]; {
		case r.Code != perr.None:
		case n >= maxCredentials:
			r.Code, r.Text = perr.PolicyViolation, tooMany
		case twice:
			r.Code, r.Text = perr.DuplicateResource, fmt.Sprintf("user %q is named twice in one request: send one for each mechanism", change.Of.User)
		default:
			r.Code, r.Text = s.judgeCredential(change)
		}
	}
	var facts []image.Fact
	room := maxCredentials - len(s.credentials)
	for i, change := range asked {
		r := &answer.Results[i]
		if r.Code != perr.None {
			continue
		}
		if _, had := s.credentials[change.Of]; !had {
			if room--; room < 0 {
				r.Code, r.Text = perr.PolicyViolation, fmt.Sprintf("%d SCRAM credentials are there, which is the most: remove some", maxCredentials)
				continue
			}
		}
		after := CredentialRecord{User: change.Of.User, Mechanism: int8(change.Of.Mechanism)}
		if !change.Remove {
			after.Salt, after.StoredKey, after.ServerKey, after.Iterations = change.Credential.Salt, change.Credential.StoredKey, change.Credential.ServerKey, change.Credential.Iterations
		}
		out.Events = append(out.Events, CredentialAltered{Credential: after})
		facts = append(facts, credentialFact(after))
	}
	if len(facts) > 0 {
		out = publish(out, facts...)
	}
	return reply(out, answer)
}

// judgeCredential says what is wrong with a change, with the codes of Kafka's ScramControlManager.
func (s *State) judgeCredential(c CredentialChange) (perr.Code, string) {
	unacceptable := func(format string, args ...any) (perr.Code, string) {
		return perr.UnacceptableCredential, fmt.Sprintf(format, args...)
	}
	switch {
	case c.Of.User == "":
		return unacceptable("the user of a SCRAM credential is empty; use 1 to %d bytes", maxQuotaName)
	case len(c.Of.User) > maxQuotaName:
		return unacceptable("user %.32q… has %d bytes; %d is the most", c.Of.User, len(c.Of.User), maxQuotaName)
	case !c.Of.Mechanism.Known():
		return perr.UnsupportedSaslMechanism, fmt.Sprintf("SCRAM mechanism %d of user %q; use 1 (%s) or 2 (%s)", c.Of.Mechanism, c.Of.User, access.ScramSHA256, access.ScramSHA512)
	case c.Remove:
		if _, there := s.credentials[c.Of]; !there {
			return perr.ResourceNotFound, fmt.Sprintf("user %q has no %s credential to delete", c.Of.User, c.Of.Mechanism)
		}
		return perr.None, ""
	case c.Credential.Iterations < access.MinIterations:
		return unacceptable("too few iterations, %d, for user %q; use %d to %d", c.Credential.Iterations, c.Of.User, access.MinIterations, access.MaxIterations)
	case c.Credential.Iterations > access.MaxIterations:
		return unacceptable("too many iterations, %d, for user %q; use %d to %d", c.Credential.Iterations, c.Of.User, access.MinIterations, access.MaxIterations)
	case len(c.Credential.Salt) == 0 || len(c.Credential.Salt) > maxSalt:
		return unacceptable("a salt of %d bytes for user %q; use 1 to %d random bytes", len(c.Credential.Salt), c.Of.User, maxSalt)
	default:
		return perr.None, ""
	}
}

func (s *State) setCredential(c CredentialRecord) {
	of := access.UserMechanism{User: c.User, Mechanism: access.Mechanism(c.Mechanism)}
	if c.Iterations == 0 {
		delete(s.credentials, of)
	} else {
		s.credentials[of] = c
	}
}

func (s *State) credentialsInOrder() []CredentialRecord {
	return slices.SortedFunc(maps.Values(s.credentials), func(a, b CredentialRecord) int {
		return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Mechanism, b.Mechanism))
	})
}

func credentialFact(c CredentialRecord) image.Fact {
	return image.CredentialChanged{
		Of:         access.UserMechanism{User: c.User, Mechanism: access.Mechanism(c.Mechanism)},
		Credential: access.Credential{Salt: c.Salt, StoredKey: c.StoredKey, ServerKey: c.ServerKey, Iterations: c.Iterations},
	}
}
