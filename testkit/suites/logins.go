package suites

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Users that kafka-go has in its source: one logs in by PLAIN; the other by SCRAM, with a password for each mechanism.
const (
	plainUser, plainPassword = "adminplain", "admin-secret"
	scramUser                = "adminscram"
	scramPassword256         = "admin-secret-256"
	scramPassword512         = "admin-secret-512"
)

// loginSettings are those of the listener, by Kafka's names.
var loginSettings = map[string]string{
	"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
	"listener.name.sasl_plaintext.plain.sasl.jaas.config": fmt.Sprintf(
		"org.apache.kafka.common.security.plain.PlainLoginModule required username=%[1]q password=%[2]q user_%[1]s=%[2]q;", plainUser, plainPassword),
	"listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
	"listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
}

// access are the settings of an authorizer, if one is wanted.
func (n Needs) access() map[string]string {
	if !n.Authorizer {
		return nil
	}
	return map[string]string{
		"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer", "allow.everyone.if.no.acl.found": "true",
	}
}

// addScramUser gives the user both passwords.
func addScramUser(ctx context.Context, bootstrap []string) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(bootstrap...))
	if err != nil {
		return err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for _, upsert := range []kadm.UpsertSCRAM{ // one by one: a request may name a user once
		{User: scramUser, Mechanism: kadm.ScramSha256, Iterations: 4096, Password: scramPassword256},
		{User: scramUser, Mechanism: kadm.ScramSha512, Iterations: 4096, Password: scramPassword512},
	} {
		done, err := kadm.NewClient(cl).AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{upsert})
		for _, one := range done {
			err = errors.Join(err, one.Err)
		}
		if err != nil {
			return fmt.Errorf("add user %s: %w", scramUser, err)
		}
	}
	return nil
}
