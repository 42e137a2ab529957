package properties

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The mechanisms that are served, by their names in SASL.
const (
	Plain       = "PLAIN"
	ScramSHA256 = "SCRAM-SHA-256"
	ScramSHA512 = "SCRAM-SHA-512"
)

// Security is how a client proves who it is, and whom it trusts. The zero value is PLAINTEXT. Values are kept as they were
// written, references unresolved: two are equal if they say the same, and printing one shows no secret that was named.
type Security struct {
	places *Places

	tls, sasl bool
	mechanism string
	login     string // sasl.jaas.config, if given
	user      string // sasl.username and sasl.password, which are not Kafka's, if given
	password  string

	trustFile, trust     string // PEM: ssl.truststore.location or .certificates
	keyFile, key, chain  string // PEM: ssl.keystore.location, or .key and .certificate.chain
	anyName              bool   // ssl.endpoint.identification.algorithm is empty
	oldestTLS, newestTLS uint16 // 0: Go's
}

// securityNames are the settings that ReadSecurity follows.
var securityNames = []string{
	"security.protocol", "sasl.mechanism", "sasl.jaas.config", "sasl.username", "sasl.password",
	"ssl.truststore.type", "ssl.truststore.location", "ssl.truststore.certificates",
	"ssl.keystore.type", "ssl.keystore.location", "ssl.keystore.key", "ssl.keystore.certificate.chain",
	"ssl.endpoint.identification.algorithm", "ssl.enabled.protocols", "ssl.protocol",
	"config.providers", "config.providers.file.class", "config.providers.env.class", "config.providers.directory.class",
}

var providerClasses = map[string]string{
	"file":      "org.apache.kafka.common.config.provider.FileConfigProvider",
	"env":       "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
	"directory": "org.apache.kafka.common.config.provider.DirectoryConfigProvider",
}

// Follows tells whether ReadSecurity reads the setting.
func Follows(name string) bool { return slices.Contains(securityNames, name) }

// ReadSecurity reads the settings about security from client properties, and leaves the others alone. One that is about
// security and cannot be followed is an error that names it: to ignore it would be to speak in the clear, or to trust
// whom one should not. Errors never show the value of a secret.
func ReadSecurity(kv map[string]string, places *Places) (Security, error) {
	s := Security{places: places}
	for _, name := range slices.Sorted(maps.Keys(kv)) {
		if about(name) && !Follows(name) && kv[name] != "" {
			return Security{}, fmt.Errorf("%s cannot be followed%s", name, remedies[name])
		}
	}
	for _, step := range []func(map[string]string) error{s.readProviders, s.readProtocol, s.readLogin, s.readStores, s.readVersions} {
		if err := step(kv); err != nil {
			return Security{}, err
		}
	}
	return s, nil
}

func about(name string) bool {
	return strings.HasPrefix(name, "ssl.") || strings.HasPrefix(name, "sasl.") || strings.HasPrefix(name, "security.") ||
		strings.HasPrefix(name, "config.providers")
}

var remedies = map[string]string{
	"ssl.key.password":        ": encrypted keys are not read; write the key without a password (openssl pkey), in a file that only its user may read",
	"ssl.keystore.password":   ": PEM stores have none; see ssl.keystore.type=PEM",
	"ssl.truststore.password": ": PEM stores have none; see ssl.truststore.type=PEM",
	"ssl.cipher.suites":       ": the suites are those of Go; leave it out",
}

func (s *Security) readProviders(kv map[string]string) error {
	for name := range strings.SplitSeq(kv["config.providers"], ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		class, known := providerClasses[name]
		if given := kv["config.providers."+name+".class"]; !known || given != "" && given != class {
			return fmt.Errorf("config.providers=%s: provider %q is not served as it is set; file, env and directory are, with Kafka's classes", kv["config.providers"], name)
		}
	}
	return nil
}

func (s *Security) readProtocol(kv map[string]string) error {
	switch p := strings.ToUpper(kv["security.protocol"]); p {
	case "", "PLAINTEXT":
	case "SSL":
		s.tls = true
	case "SASL_PLAINTEXT":
		s.sasl = true
	case "SASL_SSL":
		s.tls, s.sasl = true, true
	default:
		return fmt.Errorf("security.protocol=%s: use PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL", p)
	}
	for _, name := range slices.Sorted(maps.Keys(kv)) {
		idle := strings.HasPrefix(name, "sasl.") && !s.sasl || strings.HasPrefix(name, "ssl.") && !s.tls
		if idle && kv[name] != "" && !harmless[name] {
			return fmt.Errorf("%s does nothing under security.protocol=%s: set that to %s, or leave it out", name, s.Protocol(), wanting(name, s.tls || strings.HasPrefix(name, "ssl."), s.sasl))
		}
	}
	return nil
}

// harmless under a protocol that does not use them: no one is left to believe in a protection that is not there.
var harmless = map[string]bool{"ssl.endpoint.identification.algorithm": true, "ssl.protocol": true, "ssl.enabled.protocols": true}

func wanting(name string, tls, sasl bool) string {
	return Security{tls: tls, sasl: sasl || strings.HasPrefix(name, "sasl.")}.Protocol()
}

// Protocol is the security.protocol.
func (s Security) Protocol() string {
	switch {
	case s.sasl && s.tls:
		return "SASL_SSL"
	case s.sasl:
		return "SASL_PLAINTEXT"
	case s.tls:
		return "SSL"
	default:
		return "PLAINTEXT"
	}
}

func (s *Security) readLogin(kv map[string]string) error {
	if !s.sasl {
		return nil
	}
	s.mechanism, s.login, s.user, s.password = kv["sasl.mechanism"], kv["sasl.jaas.config"], kv["sasl.username"], kv["sasl.password"]
	if !slices.Contains([]string{Plain, ScramSHA256, ScramSHA512}, s.mechanism) {
		return fmt.Errorf("sasl.mechanism=%s: use PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", s.mechanism)
	}
	switch {
	case s.login != "" && (s.user != "" || s.password != ""):
		return errors.New("sasl.jaas.config and sasl.username were given: keep one of them")
	case s.login == "" && (s.user == "" || s.password == ""):
		return fmt.Errorf("security.protocol=%s needs sasl.jaas.config, or sasl.username and sasl.password", s.Protocol())
	case s.login == "" || named(s.login): // it is read where it is used
		return nil
	}
	_, err := s.account(s.login)
	return err
}

// account reads a JAAS text whose module fits the mechanism.
func (s Security) account(text string) (account, error) {
	a, err := parseJAAS(text)
	if err != nil {
		return account{}, fmt.Errorf("sasl.jaas.config: %w", err)
	}
	if !slices.Contains(loginModules[a.module], s.mechanism) {
		return account{}, fmt.Errorf("sasl.jaas.config: %s is not for sasl.mechanism=%s", a.module, s.mechanism)
	}
	return a, nil
}

// Literal names the first setting that holds a secret itself, where a reference could stand; "" if none does. Where
// properties are kept or shown, such a one is to be refused.
func Literal(kv map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(kv)) {
		value := kv[name]
		if !Secret(name) || value == "" || named(value) {
			continue
		}
		if strings.HasSuffix(name, "sasl.jaas.config") {
			if a, err := parseJAAS(value); err == nil && named(a.password) {
				continue
			}
		}
		return name
	}
	return ""
}
