package config

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"lockstep/clusterd/security"
	"lockstep/protocol/properties"
)

// File is a properties file that stands behind flags and environment: dotted names are broker settings as
// by --set, the others are flags. It is a kong.Resolver.
type File struct {
	path   string
	values []property
}

// ReadFile reads the file that --config in args, or LOCKSTEP_CONFIG, names; without either it is empty.
func ReadFile(args []string) (*File, error) {
	path := fileIn(args)
	if path == "" {
		return &File{}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--config %s: %w; give a properties file that exists, or leave it out", path, err)
	}
	defer f.Close()
	values, err := readProperties(f)
	if err != nil {
		return nil, fmt.Errorf("--config %s: %w", path, err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("--config %s: %w", path, err)
	}
	for _, p := range values {
		if properties.Secret(p.key) && !strings.HasPrefix(p.value, "${") && security.Exposed(info.Mode()) {
			return nil, fmt.Errorf("--config %s: line %d: %s is a secret, and others may read the file: chmod 600 %s", path, p.line, p.key, path)
		}
	}
	return &File{path: path, values: values}, nil
}

// Into adds the file's settings to those of --set, which win.
func (f *File) Into(c *Config) {
	for _, p := range f.values {
		if _, set := c.Set[p.key]; set || !strings.Contains(p.key, ".") {
			continue
		}
		if c.Set == nil {
			c.Set = map[string]string{}
		}
		c.Set[p.key] = p.value
	}
}

func fileIn(args []string) string {
	for i, arg := range args {
		if arg == "--config" && i+1 < len(args) {
			return args[i+1]
		}
		if path, ok := strings.CutPrefix(arg, "--config="); ok {
			return path
		}
	}
	return os.Getenv("LOCKSTEP_CONFIG")
}

type property struct {
	key, value string
	line       int
}

func readProperties(f *os.File) ([]property, error) {
	var list []property
	lines := bufio.NewScanner(f)
	n := 0
	joined, first := "", 0 // what ended with a backslash, and where it began
	for lines.Scan() {
		n++
		line := strings.TrimSpace(lines.Text())
		if joined == "" && (line == "" || line[0] == '#' || line[0] == '!') {
			continue
		}
		if joined == "" {
			first = n
		}
		line = joined + line
		if before, goesOn := strings.CutSuffix(line, `\`); goesOn {
			joined = before
			continue
		}
		joined = ""
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("line %d is not key=value; a comment begins with #", first) // and may hold a secret
		}
		list = append(list, property{strings.TrimSpace(key), strings.TrimSpace(value), first})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("after line %d: %w; give a properties file", n, err)
	}
	return list, nil
}

// Validate implements kong.Resolver: a name that is no flag and no setting is an error, or a misspelt line
// would silently do nothing.
func (f *File) Validate(app *kong.Application) error {
	flags := map[string]bool{}
	for _, node := range append(app.Children, app.Node) {
		for _, flag := range node.Flags {
			flags[flag.Name] = true
		}
	}
	for _, p := range f.values {
		if !strings.Contains(p.key, ".") && !flags[p.key] {
			return fmt.Errorf("--config %s: line %d: %q is neither a flag nor a setting of Kafka's; clusterd --help lists the flags", f.path, p.line, p.key)
		}
	}
	return nil
}

// Resolve implements kong.Resolver.
func (f *File) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, env := range flag.Envs {
		if _, set := os.LookupEnv(env); set {
			return nil, nil
		}
	}
	var found []any
	for _, p := range f.values {
		if p.key == flag.Name {
			found = append(found, p.value)
		}
	}
	switch {
	case len(found) == 0:
		return nil, nil
	case flag.IsSlice():
		return found, nil
	case len(found) > 1:
		return nil, fmt.Errorf("--config %s names %s twice: keep one line", f.path, flag.Name)
	default:
		return found[0], nil
	}
}
