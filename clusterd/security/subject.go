package security

import (
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// attributes are the types of names that have short forms in RFC 2253.
var attributes = map[string]string{"2.5.4.3": "CN", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.9": "STREET", "2.5.4.10": "O", "2.5.4.11": "OU",
	"0.9.2342.19200300.100.1.1": "UID", "0.9.2342.19200300.100.1.25": "DC"}

// Subject is the distinguished name of a certificate as Java writes it and ACLs hold it: RFC 2253, the most specific part
// first.
func Subject(cert *x509.Certificate) (string, error) {
	var sets []asn1.RawValue
	if rest, err := asn1.Unmarshal(cert.RawSubject, &sets); err != nil || len(rest) > 0 {
		return "", fmt.Errorf("the subject of the certificate is not a name: %v", err)
	}
	var parts []string
	for i := len(sets) - 1; i >= 0; i-- {
		var pairs []string
		for rest := sets[i].Bytes; len(rest) > 0; {
			var pair struct {
				Type  asn1.ObjectIdentifier
				Value asn1.RawValue
			}
			var err error
			if rest, err = asn1.Unmarshal(rest, &pair); err != nil {
				return "", fmt.Errorf("the subject of the certificate is not a name: %w", err)
			}
			pairs = append(pairs, attribute(pair.Type, pair.Value))
		}
		parts = append(parts, strings.Join(pairs, "+"))
	}
	return strings.Join(parts, ","), nil
}

func attribute(kind asn1.ObjectIdentifier, value asn1.RawValue) string {
	var text string
	short, known := attributes[kind.String()]
	if _, err := asn1.Unmarshal(value.FullBytes, &text); !known || err != nil {
		if !known {
			short = kind.String()
		}
		return short + "=#" + hex.EncodeToString(value.FullBytes)
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case strings.ContainsRune(`,=+<>#;"\`, r), r == ' ' && (i == 0 || strings.TrimRight(text[i:], " ") == ""):
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == 0:
			b.WriteString(`\00`)
		default:
			b.WriteRune(r)
		}
	}
	return short + "=" + b.String()
}

// Mapping is ssl.principal.mapping.rules: how a distinguished name becomes that of a user (KIP-371).
type Mapping []mappingRule

type mappingRule struct {
	pattern *regexp.Regexp // nil: DEFAULT, the name as it is
	become  string
	letters string // L, U or none
}

var backReference = regexp.MustCompile(`\$(\d+)`)

// ParseMapping reads the rules: RULE:pattern/replacement/[L|U] and DEFAULT, separated by commas. The empty text is DEFAULT.
func ParseMapping(text string) (Mapping, error) {
	var m Mapping
	rest := strings.TrimSpace(text)
	for rest != "" {
		if after, isDefault := strings.CutPrefix(rest, "DEFAULT"); isDefault && (after == "" || strings.HasPrefix(strings.TrimSpace(after), ",")) {
			m = append(m, mappingRule{})
			rest = strings.TrimLeft(after, ", ")
			continue
		}
		after, isRule := strings.CutPrefix(rest, "RULE:")
		pattern, after, slash := cutSlash(after)
		become, after, second := cutSlash(after)
		letters, more, _ := strings.Cut(after, ",")
		if letters = strings.TrimSpace(letters); !isRule || !slash || !second || letters != "" && letters != "L" && letters != "U" {
			return nil, fmt.Errorf("ssl.principal.mapping.rules: %.80q is neither DEFAULT nor RULE:pattern/replacement/ with L or U behind it", rest)
		}
		compiled, err := regexp.Compile(`^(?:` + pattern + `)$`)
		if err != nil {
			return nil, fmt.Errorf("ssl.principal.mapping.rules: pattern %.80q: %w", pattern, err)
		}
		for _, ref := range backReference.FindAllStringSubmatch(become, -1) {
			if n, err := strconv.Atoi(ref[1]); err != nil || n > compiled.NumSubexp() {
				return nil, fmt.Errorf("ssl.principal.mapping.rules: %.80q has no group %s", pattern, ref[0])
			}
		}
		m = append(m, mappingRule{compiled, become, letters})
		rest = strings.TrimSpace(more)
	}
	return m, nil
}

// cutSlash cuts at the first slash that has no backslash before it, and takes those backslashes away.
func cutSlash(text string) (before, after string, found bool) {
	for i := range len(text) {
		if text[i] == '/' && (i == 0 || text[i-1] != '\\') {
			return strings.ReplaceAll(text[:i], `\/`, `/`), text[i+1:], true
		}
	}
	return text, "", false
}

// User is the name that the first rule which matches makes; an error if none does.
func (m Mapping) User(subject string) (string, error) {
	if len(m) == 0 {
		return subject, nil
	}
	for _, rule := range m {
		if rule.pattern == nil {
			return subject, nil
		}
		groups := rule.pattern.FindStringSubmatch(subject)
		if groups == nil {
			continue
		}
		name := backReference.ReplaceAllStringFunc(rule.become, func(ref string) string {
			n, err := strconv.Atoi(ref[1:])
			if err != nil {
				panic("security: " + ref) // ParseMapping has seen it
			}
			return groups[n]
		})
		switch rule.letters {
		case "L":
			name = strings.ToLower(name)
		case "U":
			name = strings.ToUpper(name)
		}
		return name, nil
	}
	return "", fmt.Errorf("no rule of ssl.principal.mapping.rules matches %q", subject)
}
