package properties

import (
	"strings"
	"testing"
)

// Whatever a mirror is told: nothing panics, and no refusal shows what may be a password.
func FuzzSettingsAreRefusedWithoutTheirSecrets(f *testing.F) {
	for _, jaas := range []string{"", scramJAAS("m", secret), scramJAAS("m", secret) + scramJAAS("n", secret), "M required a=\"" + secret, "x " + secret + " = ; ;",
		strings.Replace(scramJAAS("m", secret), "password", "password=", 1), "${env:X}" + secret, secret + "\\"} {
		f.Add("security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-256\n", jaas)
		f.Add("sasl.mechanism=PLAIN\nsasl.username=m\nsasl.password=${file:/x:y}\\\n${\n", jaas)
	}
	f.Fuzz(func(t *testing.T, text, jaas string) {
		kv, err := Parse(text)
		if err != nil {
			return
		}
		kv["sasl.jaas.config"] = jaas + secret
		places, err := ParsePlaces(nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ReadSecurity(kv, places)
		if err == nil {
			_, _, err = s.credentials()
		}
		if err != nil && strings.Contains(err.Error(), secret) && !strings.Contains(text, secret) {
			t.Errorf("%q and %q: %v", text, jaas, err)
		}
	})
}
