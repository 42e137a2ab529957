package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/controller"
	"lockstep/journal/audit"
	"lockstep/journal/log"
)

// TestADumpShowsNoKeys, for people or for programs.
func TestADumpShowsNoKeys(t *testing.T) {
	c := access.ScramSHA256.Salted([]byte("salted"), []byte("salt-of-alice"), 4096)
	event := controller.CredentialAltered{Credential: controller.CredentialRecord{User: "alice", Mechanism: int8(access.ScramSHA256),
		Salt: c.Salt, StoredKey: c.StoredKey, ServerKey: c.ServerKey, Iterations: c.Iterations}}
	row, err := render(audit.Entry{Record: log.Record{Type: log.RecordEntry, Stream: "control/controller", Entry: core.Entry{Kind: core.EntryEvent, Payload: controller.EncodeEvent(event)}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		if err := row.print(&out, asJSON); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "alice") || !strings.Contains(out.String(), "hidden") {
			t.Errorf("the dump is %s", &out)
		}
		for _, key := range [][]byte{c.Salt, c.StoredKey, c.ServerKey} {
			for _, form := range []string{string(key), hex.EncodeToString(key), base64.StdEncoding.EncodeToString(key), strings.Trim(fmt.Sprint(key), "[]")} {
				if strings.Contains(out.String(), form) {
					t.Errorf("the dump shows a key: %s", &out)
				}
			}
		}
	}
}
