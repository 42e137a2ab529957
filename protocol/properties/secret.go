package properties

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Places say where references to secrets may lead. Whoever sets the properties of a mirror chooses what is looked up on the
// machine of its cluster and whom it is told (as in CVE-2024-31141), so there only what the operator listed is. A nil
// *Places is the operator's own machine: anywhere.
type Places struct {
	paths []string // files, and directories with all that is in them
	env   map[string]bool
}

// ParsePlaces reads a list of absolute paths and of env:NAME.
func ParsePlaces(list []string) (*Places, error) {
	p := &Places{env: map[string]bool{}}
	for _, s := range list {
		if name, ok := strings.CutPrefix(s, "env:"); ok && name != "" {
			p.env[name] = true
		} else if filepath.IsAbs(s) {
			p.paths = append(p.paths, filepath.Clean(s))
		} else {
			return nil, fmt.Errorf("%q is neither an absolute path nor env:NAME", s)
		}
	}
	return p, nil
}

// reference is Kafka's form of one, ${provider:path:key} or ${provider:key}.
var reference = regexp.MustCompile(`\$\{([^}:]*):(?:([^}:]*):)?([^}]*)\}`)

// maxSecretFile is the most that is read of a file that a property names, in bytes.
const maxSecretFile = 1 << 20

// Secret tells whether the value of a setting is never to be shown: those that Kafka has as passwords, and what sounds so.
func Secret(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, "sasl.jaas.config") || strings.HasSuffix(name, "ssl.keystore.key") ||
		strings.Contains(name, "password") || strings.Contains(name, "secret")
}

// named tells whether the whole of a value is one reference.
func named(value string) bool {
	at := reference.FindStringIndex(value)
	return at != nil && at[0] == 0 && at[1] == len(value)
}

// Resolve replaces the references in a value. Errors name the reference, never what it stands for.
func (p *Places) Resolve(value string) (string, error) {
	var errs []error
	out := reference.ReplaceAllStringFunc(value, func(ref string) string {
		m := reference.FindStringSubmatch(ref)
		found, err := p.lookUp(m[1], m[2], m[3])
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", ref, err))
		}
		return found
	})
	return out, errors.Join(errs...)
}

func (p *Places) lookUp(provider, path, key string) (string, error) {
	switch {
	case provider == "env" && path == "":
		if p != nil && !p.env[key] {
			return "", fmt.Errorf("the operator of this cluster has not allowed it: start clusterd with --mirror-secrets env:%s", key)
		}
		value, set := os.LookupEnv(key)
		if !set {
			return "", errors.New("no such environment variable where it is used")
		}
		return value, nil
	case provider == "file" && path != "":
		text, err := p.read(path)
		if err != nil {
			return "", err
		}
		kv, err := Parse(string(text))
		if err != nil {
			return "", err
		}
		value, set := kv[key]
		if !set {
			return "", errors.New("the file has no such line: add key=value, one a line")
		}
		return value, nil
	case provider == "directory" && path != "" && filepath.Base(key) == key:
		text, err := p.read(filepath.Join(path, key))
		return strings.TrimSuffix(string(text), "\n"), err
	default:
		return "", errors.New("not a reference that is known; use ${file:PATH:KEY}, ${directory:PATH:FILE} or ${env:NAME}")
	}
}

// read is the content of a file that references may lead to.
func (p *Places) read(path string) ([]byte, error) {
	if err := p.allows(path); err != nil {
		return nil, err
	}
	return readSmall(path)
}

func (p *Places) allows(path string) error {
	if p == nil {
		return nil
	}
	clean := filepath.Clean(path)
	for _, at := range p.paths {
		if clean == at || strings.HasPrefix(clean, strings.TrimSuffix(at, "/")+"/") {
			return nil
		}
	}
	return fmt.Errorf("the operator of this cluster has not allowed %s: start clusterd with --mirror-secrets and its directory", path)
}

func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSecretFile {
		return nil, fmt.Errorf("%s is no file of at most %d bytes", path, maxSecretFile)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSecretFile))
}
