package properties

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

const secret = "hunter2"

func scramJAAS(user, password string) string {
	return `org.apache.kafka.common.security.scram.ScramLoginModule required username="` + user + `" password="` + password + `";`
}

func TestWhoLogsInIsReadAsKafkaDoes(t *testing.T) {
	t.Setenv("THE_PASSWORD", `a"b\c;=`)
	t.Setenv("THE_LOGIN", scramJAAS("of the environment", `quoted \" and \\`))
	for _, c := range []struct {
		jaas, user, password string
	}{
		{scramJAAS("m", secret), "m", secret},
		{"org.apache.kafka.common.security.scram.ScramLoginModule  REQUIRED\n username='m'\n\tpassword=" + secret + " ;", "m", secret},
		{scramJAAS("m", `a\"b\\c`), "m", `a"b\c`},
		{scramJAAS("m", ";"), "m", ";"},
		{scramJAAS("m", "${env:THE_PASSWORD}"), "m", `a"b\c;=`},
		{"${env:THE_LOGIN}", "of the environment", `quoted " and \`},
	} {
		s, err := ReadSecurity(map[string]string{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": ScramSHA512, "sasl.jaas.config": c.jaas}, nil)
		if err != nil {
			t.Errorf("%s: %v", c.jaas, err)
			continue
		}
		if user, password, err := s.credentials(); err != nil || user != c.user || password != c.password {
			t.Errorf("%s: %q %q, %v", c.jaas, user, password, err)
		}
	}
	s, err := ReadSecurity(map[string]string{"security.protocol": "sasl_plaintext", "sasl.mechanism": Plain, "sasl.username": "m", "sasl.password": secret}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if user, password, err := s.credentials(); err != nil || user != "m" || password != secret {
		t.Errorf("%q %q, %v", user, password, err)
	}
}

// What cannot be followed is refused by its name, or a client would speak in the clear that was told to encrypt. No refusal
// shows a secret.
func TestWhatCannotBeFollowedIsRefusedByName(t *testing.T) {
	over := func(text string) string { return "security.protocol=SASL_SSL\n" + text }
	login := "sasl.mechanism=SCRAM-SHA-256\nsasl.jaas.config=" + scramJAAS("m", secret) + "\n"
	for text, want := range map[string]string{
		"client.id=me\nsecurity.protocol=PLAINTEXT\nretries=3\nssl.endpoint.identification.algorithm=https": "",
		over(login): "",
		over(login + "ssl.truststore.type=PEM\nssl.truststore.location=/x\nssl.enabled.protocols=TLSv1.2,TLSv1.3\nssl.endpoint.identification.algorithm="): "",
		over(login + "config.providers=file,env\nconfig.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider"):                  "",
		"security.protocol=TLS":                          "security.protocol=TLS",
		"securty.protocol=SSL":                           "securty.protocol",
		"acks=all":                                       "acks",
		"client.id=x\nrequest.timeout.ms=soon":           `request.timeout.ms="soon"`,
		"sasl.jaas.config=" + scramJAAS("m", secret):     "sasl.jaas.config does nothing under security.protocol=PLAINTEXT: set that to SASL_PLAINTEXT",
		"ssl.truststore.location=/x":                     "ssl.truststore.location does nothing under security.protocol=PLAINTEXT: set that to SSL",
		"security.protocol=SSL\nsasl.password=" + secret: "sasl.password does nothing under security.protocol=SSL: set that to SASL_SSL",
		over(""):                      "sasl.mechanism=",
		over("sasl.mechanism=GSSAPI"): "sasl.mechanism=GSSAPI",
		over("sasl.mechanism=PLAIN"):  "sasl.jaas.config",
		over("sasl.mechanism=PLAIN\nsasl.jaas.config=" + scramJAAS("m", secret)):                                                                      "is not for sasl.mechanism=PLAIN",
		over("sasl.mechanism=SCRAM-SHA-256\nsasl.jaas.config=" + strings.TrimSuffix(scramJAAS("m", secret), ";")):                                     "semicolon",
		over("sasl.mechanism=SCRAM-SHA-256\nsasl.jaas.config=" + scramJAAS("m", secret) + scramJAAS("n", secret)):                                     "there are more",
		over("sasl.mechanism=SCRAM-SHA-256\nsasl.jaas.config=" + strings.Replace(scramJAAS("m", secret), "username", `tokenauth="true" username`, 1)): `"tokenauth"`,
		over("sasl.mechanism=SCRAM-SHA-256\nsasl.jaas.config=com.sun.Krb5LoginModule required x=\"y\";"):                                              "login module",
		over(login + "sasl.username=n"):                                   "keep one",
		over(login + "sasl.kerberos.service.name=kafka"):                  "sasl.kerberos.service.name",
		over(login + "sasl.client.callback.handler.class=x"):              "sasl.client.callback.handler.class",
		over(login + "ssl.cipher.suites=x"):                               "ssl.cipher.suites",
		over(login + "ssl.key.password=" + secret):                        "ssl.key.password",
		over(login + "ssl.truststore.location=/x"):                        "ssl.truststore.type=PEM",
		over(login + "ssl.keystore.type=PKCS12"):                          "ssl.keystore.type=PKCS12",
		over(login + "ssl.keystore.type=PEM\nssl.keystore.key=" + secret): "ssl.keystore.certificate.chain",
		over(login + "ssl.enabled.protocols=TLSv1.1"):                     "TLSv1.1",
		over(login + "ssl.protocol=SSLv3"):                                "SSLv3",
		over(login + "ssl.endpoint.identification.algorithm=ldaps"):       "ldaps",
		over(login + "security.providers=x"):                              "security.providers",
		over(login + "config.providers=vault"):                            `"vault"`,
		over(login + "config.providers.file.param.allowed.paths=/x"):      "config.providers.file.param.allowed.paths",
	} {
		kv, err := Parse(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		_, err = Kgo(kv)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestOptionsAreThoseOfTheProperties(t *testing.T) {
	opts, err := Kgo(map[string]string{"client.id": "me", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": Plain, "sasl.username": "m", "sasl.password": secret})
	if err != nil {
		t.Fatal(err)
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if id := cl.OptValue(kgo.ClientID); id != "me" {
		t.Errorf("client.id is %v", id)
	}
}

func TestReferencesAreLookedUpAtEachUse(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "secrets.properties")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(file, "password="+secret+"\nempty=\n")
	write(filepath.Join(dir, "token"), secret+"\n")
	t.Setenv("THE_PASSWORD", secret)
	listed, err := ParsePlaces([]string{dir, "env:THE_PASSWORD"})
	if err != nil {
		t.Fatal(err)
	}
	for _, places := range []*Places{nil, listed} {
		for value, want := range map[string]string{
			"plain":                              "plain",
			"${file:" + file + ":password}":      secret,
			"a${env:THE_PASSWORD}b":              "a" + secret + "b",
			"${directory:" + dir + ":token}":     secret,
			"${file:" + file + ":empty}":         "",
			"$HOME {env:THE_PASSWORD} ${novels}": "$HOME {env:THE_PASSWORD} ${novels}",
		} {
			if got, err := places.Resolve(value); err != nil || got != want {
				t.Errorf("%s: %q, %v", value, got, err)
			}
		}
		for value, want := range map[string]string{
			"${file:" + file + ":other}":        "no such line",
			"${file:" + dir + "/none:password}": "no such file",
			"${file:" + dir + ":password}":      "is no file",
			"${vault:x:y}":                      "not a reference that is known",
			"${directory:" + dir + ":../x}":     "not a reference that is known",
		} {
			if _, err := places.Resolve(value); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), value) || strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v, want %q", value, err, want)
			}
		}
	}

	s, err := ReadSecurity(map[string]string{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": Plain, "sasl.username": "m", "sasl.password": "${file:" + file + ":password}"}, listed)
	if err != nil {
		t.Fatal(err)
	}
	write(file, "password=changed")
	if _, password, err := s.credentials(); err != nil || password != "changed" {
		t.Errorf("the password is %q, %v", password, err)
	}
}

// Who sets the properties of a mirror does not choose what is read on the machine of its cluster.
func TestReferencesLeadOnlyWhereTheOperatorSaid(t *testing.T) {
	allowed, other := t.TempDir(), t.TempDir()
	for _, dir := range []string{allowed, other} {
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte("k="+secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("THE_PASSWORD", secret)
	for _, list := range [][]string{nil, {allowed}, {allowed + "/f"}} {
		places, err := ParsePlaces(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range []string{"${file:" + other + "/f:k}", "${file:" + allowed + "/../" + filepath.Base(other) + "/f:k}", "${env:THE_PASSWORD}", "${directory:" + other + ":f}",
			"${file:" + allowed + "x/f:k}"} {
			if got, err := places.Resolve(value); err == nil || !strings.Contains(err.Error(), "--mirror-secrets") || strings.Contains(got, secret) {
				t.Errorf("%v: %s is %q, %v", list, value, got, err)
			}
		}
		if _, err := places.Resolve("${file:" + allowed + "/f:k}"); (err == nil) != (list != nil) {
			t.Errorf("%v: %v", list, err)
		}
		s, err := ReadSecurity(map[string]string{"security.protocol": "SSL", "ssl.keystore.type": "PEM", "ssl.keystore.location": other + "/f"}, places)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.tlsConfig(); err == nil || !strings.Contains(err.Error(), "ssl.keystore.location") || !strings.Contains(err.Error(), "--mirror-secrets") {
			t.Errorf("%v: the key of %s: %v", list, other, err)
		}
	}
	if _, err := ParsePlaces([]string{"secrets"}); err == nil {
		t.Error("a relative path is a place")
	}
}

func TestLiteralSecretsAreFound(t *testing.T) {
	for _, c := range []struct{ name, value string }{
		{"sasl.password", secret}, {"mirror.sasl.password", secret}, {"sasl.jaas.config", scramJAAS("m", secret)}, {"sasl.jaas.config", "nonsense " + secret},
		{"sasl.jaas.config", scramJAAS("m", secret+"${env:X}")}, {"ssl.keystore.key", secret}, {"ssl.key.password", secret}, {"sasl.oauthbearer.client.secret", secret},
	} {
		if got := Literal(map[string]string{"bootstrap.servers": "a:1", c.name: c.value}); got != c.name {
			t.Errorf("%s=%s: %q", c.name, c.value, got)
		}
	}
	for _, c := range []struct{ name, value string }{
		{"sasl.password", "${env:X}"}, {"sasl.password", ""}, {"sasl.jaas.config", "${file:/x:y}"}, {"sasl.jaas.config", scramJAAS("m", "${env:X}")},
		{"ssl.keystore.key", "${directory:/x:y}"}, {"ssl.keystore.certificate.chain", "public"}, {"sasl.username", "m"},
	} {
		if got := Literal(map[string]string{c.name: c.value}); got != "" {
			t.Errorf("%s=%s: %q", c.name, c.value, got)
		}
	}
}

// Whatever prints a configuration prints this.
func TestSecurityPrintsAsItWasWritten(t *testing.T) {
	t.Setenv("THE_PASSWORD", secret)
	s, err := ReadSecurity(map[string]string{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": ScramSHA256, "sasl.jaas.config": scramJAAS("m", "${env:THE_PASSWORD}")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.credentials(); err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%v %+v %#v", s, s, s); strings.Contains(text, secret) {
		t.Error(text)
	}
}
