package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What cannot be followed is refused with the file it stands in, and without what it says.
func TestClientSettingsThatAreNotServedAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"client.id=me\nsecurity.protocol=PLAINTEXT\nretries=3\n":                                                     "",
		"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=me\nsasl.password=${env:NOT_LOOKED_UP_YET}": "",
		"security.protocol=SASL_SSL\nsasl.mechanism=GSSAPI":                                                          "sasl.mechanism=GSSAPI",
		"ssl.truststore.location=/x":                                                                                 "ssl.truststore.location",
		"sasl.jaas.config=secret":                                                                                    "sasl.jaas.config",
		"not a setting":                                                                                              "line 1",
	} {
		file := filepath.Join(t.TempDir(), "client.properties")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := clientOptions("--command-config", file)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--command-config "+file) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
