package config

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockstep/actors/core/controller"
	"lockstep/clusterd/security"
	"lockstep/protocol/properties"
)

// ofListeners are the settings that a listener may have for itself, as listener.name.LISTENER.SETTING, and of SASL also for
// one mechanism, as listener.name.LISTENER.MECHANISM.SETTING.
var ofListeners = map[string]bool{
	"connections.max.reauth.ms": true, "sasl.enabled.mechanisms": true, "sasl.jaas.config": true, "sasl.server.max.receive.size": true,
	"ssl.client.auth": true, "ssl.enabled.protocols": true, "ssl.keystore.certificate.chain": true, "ssl.keystore.key": true,
	"ssl.keystore.location": true, "ssl.keystore.type": true, "ssl.principal.mapping.rules": true, "ssl.truststore.certificates": true,
	"ssl.truststore.location": true, "ssl.truststore.type": true,
}

// ofMechanisms are those of one mechanism.
var ofMechanisms = map[string]bool{"sasl.jaas.config": true, "connections.max.reauth.ms": true}

const listenerPrefix = "listener.name."

// base is the setting that name is, without the listener and the mechanism that it is for; why says what is wrong with those.
func (c *Config) base(name string, listeners []Listener) (base, why string) {
	rest, own := strings.CutPrefix(name, listenerPrefix)
	if own {
		listener, of, _ := strings.Cut(rest, ".")
		if !slices.ContainsFunc(listeners, func(l Listener) bool { return strings.EqualFold(l.Name, listener) }) {
			return name, fmt.Sprintf("no listener is called %s; --kafka-listen names them", listener)
		}
		rest = of
	}
	for _, m := range security.Mechanisms {
		if of, prefixed := strings.CutPrefix(rest, strings.ToLower(m)+"."); prefixed {
			if !ofMechanisms[of] {
				return of, "it is not a setting of single mechanisms"
			}
			return of, ""
		}
	}
	if own && !ofListeners[rest] {
		return rest, "it is not a setting of single listeners; give it without " + listenerPrefix
	}
	return rest, ""
}

// of is the value of a setting for a listener, and for a mechanism unless it is "": the one that names it best.
func (c *Config) of(l Listener, mechanism, name string) (value string, set bool) {
	own := listenerPrefix + strings.ToLower(l.Name) + "."
	names := []string{own + name, name}
	if mechanism != "" {
		m := strings.ToLower(mechanism) + "."
		names = []string{own + m + name, own + name, m + name, name}
	}
	for _, n := range names {
		if value, set = c.Set[n]; set {
			return value, true
		}
	}
	s, known := controller.FindSetting(name)
	if !known {
		panic("config: no setting " + name)
	}
	return s.Default, false
}

// secret is a setting that may be a reference to where the secret is.
func (c *Config) secret(l Listener, mechanism, name string) (string, error) {
	value, set := c.of(l, mechanism, name)
	if !set {
		return "", nil
	}
	found, err := (*properties.Places)(nil).Resolve(value)
	if err != nil {
		return "", fmt.Errorf("setting %s of listener %s: %w", name, l.Name, err)
	}
	return found, nil
}

// Policy is what a listener asks of its clients. broken is told of certificates that changed into what cannot be used.
func (c *Config) Policy(l Listener, broken func(error)) (security.Policy, error) {
	p := security.Policy{Name: l.Name, Protocol: l.Protocol, Penalty: time.Duration(c.Int("connection.failed.authentication.delay.ms", security.DefaultPenalty.Milliseconds())) * time.Millisecond}
	if l.Protocol.SASL() {
		if err := c.askByName(l, &p); err != nil {
			return p, err
		}
	}
	if l.Protocol.TLS() {
		if err := c.secure(l, &p, broken); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (c *Config) askByName(l Listener, p *security.Policy) error {
	list, _ := c.of(l, "", "sasl.enabled.mechanisms")
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item != "" && !slices.Contains(p.Mechanisms, item) {
			p.Mechanisms = append(p.Mechanisms, item)
		}
	}
	if len(p.Mechanisms) == 0 {
		return fmt.Errorf("listener %s asks its clients who they are, and no way to say so is enabled: set sasl.enabled.mechanisms to some of %s", l.Name, strings.Join(security.Mechanisms, ","))
	}
	receive, _ := c.of(l, "", "sasl.server.max.receive.size")
	var err error
	if p.Receive, err = strconv.Atoi(receive); err != nil {
		return fmt.Errorf("setting sasl.server.max.receive.size=%q of listener %s: %w", receive, l.Name, err)
	}
	p.Sessions = map[string]time.Duration{}
	for _, m := range p.Mechanisms {
		text, _ := c.of(l, m, "connections.max.reauth.ms")
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("setting connections.max.reauth.ms=%q of listener %s: %w", text, l.Name, err)
		}
		p.Sessions[m] = time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	}
	if slices.Contains(p.Mechanisms, security.Plain) {
		if p.Plain, err = c.plainUsers(l); err != nil {
			return err
		}
	}
	return nil
}

const (
	plainModule = "org.apache.kafka.common.security.plain.PlainLoginModule"
	plainRemedy = `give listener.name.%s.plain.sasl.jaas.config=` + plainModule + ` required user_NAME="password"; in the --config file`
)

// plainUsers are the users of PLAIN. Errors never show a password.
func (c *Config) plainUsers(l Listener) (map[string]string, error) {
	const name = "sasl.jaas.config"
	text, err := c.secret(l, security.Plain, name)
	if err != nil {
		return nil, err
	}
	remedy := fmt.Sprintf(plainRemedy, strings.ToLower(l.Name))
	if text == "" {
		return nil, fmt.Errorf("PLAIN is enabled on listener %s, and it has no users: %s, or leave PLAIN out of sasl.enabled.mechanisms", l.Name, remedy)
	}
	module, options, err := properties.ParseLogin(text)
	if err == nil && module != plainModule {
		err = errors.New("its login module is another one")
	}
	if err != nil {
		return nil, fmt.Errorf("%s of PLAIN on listener %s: %w; %s", name, l.Name, err, remedy)
	}
	users := map[string]string{}
	for _, o := range options {
		user, isUser := strings.CutPrefix(o.Name, "user_")
		switch {
		case o.Name == "username", o.Name == "password": // by which brokers of Kafka log in to each other
		case !isUser || user == "" || o.Value == "":
			return nil, fmt.Errorf("%s of PLAIN on listener %s: option %.40q is not user_NAME with a password; %s", name, l.Name, o.Name, remedy)
		default:
			users[user] = o.Value
		}
	}
	return users, nil
}

// secure reads certificates and what they are for.
func (c *Config) secure(l Listener, p *security.Policy, broken func(error)) (err error) {
	s := security.Stores{}
	s.KeyFile, _ = c.of(l, "", "ssl.keystore.location")
	s.TrustFile, _ = c.of(l, "", "ssl.truststore.location")
	for name, into := range map[string]*string{"ssl.keystore.key": &s.Key, "ssl.keystore.certificate.chain": &s.Chain, "ssl.truststore.certificates": &s.Trust} {
		if *into, err = c.secret(l, "", name); err != nil {
			return err
		}
	}
	switch {
	case s.KeyFile == "" && (s.Key == "" || s.Chain == ""):
		return fmt.Errorf("listener %s speaks %s, and has no certificate: set ssl.keystore.location to a file in PEM with a key and its certificates, or ssl.keystore.key and ssl.keystore.certificate.chain", l.Name, l.Protocol)
	case s.KeyFile != "" && s.Key+s.Chain != "", s.TrustFile != "" && s.Trust != "":
		return fmt.Errorf("listener %s has a store both as a file and as a text: keep one of ssl.keystore.location and ssl.keystore.key, and one of ssl.truststore.location and ssl.truststore.certificates", l.Name)
	}
	asks, _ := c.of(l, "", "ssl.client.auth")
	s.ClientAuth = map[string]tls.ClientAuthType{"none": tls.NoClientCert, "requested": tls.VerifyClientCertIfGiven, "required": tls.RequireAndVerifyClientCert}[asks]
	versions, _ := c.of(l, "", "ssl.enabled.protocols")
	s.Oldest, s.Newest = tls.VersionTLS13, tls.VersionTLS12
	for v := range strings.SplitSeq(versions, ",") {
		if strings.TrimSpace(v) == "TLSv1.2" {
			s.Oldest = tls.VersionTLS12
		} else {
			s.Newest = tls.VersionTLS13
		}
	}
	rules, _ := c.of(l, "", "ssl.principal.mapping.rules")
	if p.Names, err = security.ParseMapping(rules); err == nil {
		p.Certificates, err = security.ReadCertificates(s, broken)
	}
	if err != nil {
		return fmt.Errorf("listener %s: %w", l.Name, err)
	}
	return nil
}

// hidden stands for a secret where settings are known that nobody need use.
const hidden = "[hidden]"

// Shown are the settings without their secrets, and without those of single listeners.
func (c *Config) Shown() map[string]string {
	shown := maps.Clone(c.Set)
	for name := range shown {
		s, known := controller.FindSetting(name)
		switch {
		case !known:
			delete(shown, name)
		case s.Type == controller.Password:
			shown[name] = hidden
		}
	}
	return shown
}
