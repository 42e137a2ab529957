package properties

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// account is who logs in, with references as they were written.
type account struct{ module, user, password string }

var loginModules = map[string][]string{
	"org.apache.kafka.common.security.plain.PlainLoginModule": {Plain},
	"org.apache.kafka.common.security.scram.ScramLoginModule": {ScramSHA256, ScramSHA512},
}

// parseJAAS reads who a client logs in as. Its errors never show a value.
func parseJAAS(text string) (account, error) {
	module, options, err := ParseLogin(text)
	if err != nil {
		return account{}, err
	}
	a := account{module: module}
	if _, known := loginModules[a.module]; !known {
		return account{}, errors.New("its login module is not served: use org.apache.kafka.common.security.plain.PlainLoginModule, or …scram.ScramLoginModule")
	}
	for _, o := range options {
		switch o.Name {
		case "username":
			a.user = o.Value
		case "password":
			a.password = o.Value
		default:
			return account{}, fmt.Errorf("option %.40q of the login module is not served; only username and password are", o.Name)
		}
	}
	if a.user == "" || a.password == "" {
		return account{}, errors.New("username or password is missing")
	}
	return a, nil
}

// LoginOption is one option of a login module.
type LoginOption struct{ Name, Value string }

// ParseLogin reads the form of sasl.jaas.config, `MODULE required username="…" password="…";`. Its errors never show a
// value.
func ParseLogin(text string) (module string, options []LoginOption, err error) {
	tokens, err := jaasTokens(text)
	if err != nil {
		return "", nil, err
	}
	if len(tokens) < 3 || tokens[len(tokens)-1] != ";" {
		return "", nil, errors.New(`write MODULE required username="…" password="…"; with the semicolon`)
	}
	if !slices.Contains([]string{"required", "requisite", "sufficient", "optional"}, strings.ToLower(tokens[1])) {
		return "", nil, errors.New("behind the login module goes the word required")
	}
	for rest := tokens[2 : len(tokens)-1]; len(rest) > 0; rest = rest[3:] {
		if rest[0] == ";" {
			return "", nil, errors.New("one login module is served, there are more")
		}
		if len(rest) < 3 || rest[1] != "=" {
			return "", nil, errors.New("an option is not of the form name=\"value\"")
		}
		options = append(options, LoginOption{rest[0], rest[2]})
	}
	return tokens[0], options, nil
}

// jaasTokens splits into words, quoted texts without their quotes, = and ;.
func jaasTokens(text string) (tokens []string, err error) {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case strings.ContainsRune(" \t\r\n", rune(c)):
			i++
		case c == '=' || c == ';':
			tokens = append(tokens, string(c))
			i++
		case c == '"' || c == '\'':
			var b strings.Builder
			for i++; i < len(text) && text[i] != c; i++ {
				if text[i] == '\\' && i+1 < len(text) {
					i++
				}
				b.WriteByte(text[i])
			}
			if i == len(text) {
				return nil, errors.New("a quote is not closed")
			}
			tokens = append(tokens, b.String())
			i++
		default:
			end := i
			for end < len(text) && !strings.ContainsRune(" \t\r\n=;\"'", rune(text[end])) {
				end++
			}
			tokens = append(tokens, text[i:end])
			i = end
		}
	}
	return tokens, nil
}
