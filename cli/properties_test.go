package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPropertiesAreReadAsKafkaWritesThem(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"":                                  {},
		"# only\n! comments\n\n":            {},
		"a=b":                               {"a": "b"},
		"  a.b = c d \r\n\tx=\n":            {"a.b": "c d", "x": ""},
		"url=host:1,host:2\nkey=a=b=c\n":    {"url": "host:1,host:2", "key": "a=b=c"},
		"name=\u00e4\u00f6 #no comment\n#x": {"name": "\u00e4\u00f6 #no comment"},
	} {
		got, err := properties(text)
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"a=b\nnothing\n": `line 2 "nothing"`,
		"=b":             `line 1 "=b"`,
		"a=1\nb=2\na=3":  "line 3 sets a a second time",
	} {
		if _, err := properties(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// What cannot be followed is refused, or a client would speak in the clear that was told to encrypt.
func TestClientSettingsThatAreNotServedAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"client.id=me\nsecurity.protocol=PLAINTEXT\nretries=3\n": "",
		"security.protocol=SASL_SSL":                             "security.protocol=SASL_SSL",
		"ssl.truststore.location=/x":                             "ssl.truststore.location",
		"sasl.jaas.config=secret":                                "sasl.jaas.config",
		"not a setting":                                          "line 1",
	} {
		file := filepath.Join(t.TempDir(), "client.properties")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := clientOptions(file)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
