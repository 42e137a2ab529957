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

// alterCredentials judges each user by itself, and does all that is asked for a user or nothing of it.
func (s *State) alterCredentials(c AlterCredentials) outcome {
	answer := CredentialsAnswered{Ref: c.Ref}
	at := map[string]int{} // of each user, its place in the answer
	named := map[access.UserMechanism]bool{}
	for n, change := range c.Changes {
		i, known := at[change.Of.User]
		if !known {
			i = len(answer.Results)
			at[change.Of.User] = i
			answer.Results = append(answer.Results, CredentialResult{User: change.Of.User})
		}
		switch r := &answer.Results[i]; {
		case r.Code != perr.None:
		case n >= maxCredentials:
			r.Code, r.Text = perr.PolicyViolation, tooMany
		default:
			if r.Code, r.Text = s.judgeCredential(change); r.Code == perr.None && named[change.Of] {
				r.Code, r.Text = perr.DuplicateResource, fmt.Sprintf("the %s credential of user %q is altered twice in one request", change.Of.Mechanism, change.Of.User)
			}
		}
		named[change.Of] = true
	}
	return reply(s.credentialsChanged(c.Changes, answer.Results, at), answer)
}

// credentialsChanged does what was not refused. A user for whom there is no room any more is refused here.
func (s *State) credentialsChanged(changes []CredentialChange, results []CredentialResult, at map[string]int) (out outcome) {
	adding := make([]int, len(results)) // by user
	for _, change := range changes {
		if _, had := s.credentials[change.Of]; !had {
			adding[at[change.Of.User]]++
		}
	}
	room := maxCredentials - len(s.credentials)
	for i := range results {
		switch r := &results[i]; {
		case r.Code != perr.None || adding[i] == 0:
		case adding[i] > room:
			r.Code, r.Text = perr.PolicyViolation, fmt.Sprintf("%d SCRAM credentials are there, which is the most: remove some", maxCredentials)
		default:
			room -= adding[i]
		}
	}
	var facts []image.Fact
	for _, change := range changes {
		if results[at[change.Of.User]].Code != perr.None {
			continue
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
	return out
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
