// Package config is what a clusterd process is told at start: flags, LOCKSTEP_* environment variables and a
// properties file share names, help and checks.
package config

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"lockstep/actors/core/controller"
	"lockstep/protocol/properties"
)

// Config is one struct for all three sources. A flag beats the environment, which beats the file.
type Config struct {
	ClusterID      string            `name:"cluster-id" help:"Name of this cluster, [A-Za-z0-9_-]{1,64}. Drawn and stored in the data directories when absent."`
	DataDir        []string          `name:"data-dir" default:"./data" help:"Directory of one logical broker's volume; repeat it, or separate by commas, for each broker. A single one holds sub-directories for --brokers."`
	Brokers        Count             `name:"brokers" help:"Logical brokers inside a single --data-dir, default 3."`
	KafkaListen    []string          `name:"kafka-listen" default:"127.0.0.1:9092" placeholder:"[NAME://]HOST:PORT" help:"Kafka listener of broker 1, default 127.0.0.1:9092; the others take the next ports. Port 0 lets the system choose each. Repeat it for further listeners: the name is a protocol, PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL, or has one in the setting listener.security.protocol.map."`
	Advertise      []string          `name:"advertise" placeholder:"[NAME://]HOST[:PORT]" help:"What Kafka clients are told for broker 1; the others take the next ports. Repeat it for further listeners, in their order or by their names."`
	NATSListen     string            `name:"nats-listen" xor:"nats" help:"Listener of the embedded NATS server, default 127.0.0.1:4222."`
	NATSURL        string            `name:"nats-url" xor:"nats" help:"Use this NATS instead of the embedded one."`
	NATSAdvertise  string            `name:"nats-advertise" help:"NATS URL that mirrors of this cluster are told."`
	HTTPListen     string            `name:"http-listen" default:"127.0.0.1:8080" help:"Listener of /livez, /readyz, /metrics and /v1/brokers."`
	Durability     string            `name:"durability" enum:"fsync,os" default:"fsync" help:"fsync: on disk before every ack. os: left to the page cache, as Kafka does; a power loss loses acknowledged records."`
	File           string            `name:"config" help:"Properties file with Kafka's names and the names of these flags."`
	Set            map[string]string `name:"set" mapsep:"none" placeholder:"KEY=VALUE" help:"A broker setting by Kafka's name; repeat it."`
	SegmentBytes   int64             `name:"segment-bytes" default:"67108864" help:"Size of a commit log segment of a volume."`
	InsecureListen bool              `name:"insecure-listen" help:"Allow plaintext listeners beyond loopback."`
	MirrorSecrets  []string          `name:"mirror-secrets" placeholder:"PATH" help:"Where settings of mirrors may point for passwords and keys: files, directories, or env:NAME; repeat it. Nowhere else is looked."`
	Debug          bool              `name:"debug" help:"Log every event of the data plane."`
}

// maxBrokers is how many logical brokers a process may have: each is a volume, a listener and a share of memory.
const maxBrokers = 100

// Count is a number of brokers; 0: none was given.
type Count int

// UnmarshalText implements encoding.TextUnmarshaler: a zero that was given is not one that was left out.
func (c *Count) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 || n > maxBrokers {
		return fmt.Errorf("%q: use 1 to %d", text, maxBrokers)
	}
	*c = Count(n)
	return nil
}

var clusterID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Check looks at every field and every pair that must agree, once all sources are in. Each error names
// flag, value and remedy.
func (c *Config) Check() error {
	if c.ClusterID != "" && !clusterID.MatchString(c.ClusterID) {
		return fmt.Errorf("--cluster-id %q: use 1 to 64 of A-Z a-z 0-9 _ -", c.ClusterID)
	}
	if err := c.validateDirs(); err != nil {
		return err
	}
	if err := c.validateListeners(); err != nil {
		return err
	}
	if c.SegmentBytes < 1<<20 || c.SegmentBytes > 1<<32 {
		return fmt.Errorf("--segment-bytes %d: use 1048576 to 4294967296", c.SegmentBytes)
	}
	if err := c.validateNATS(); err != nil {
		return err
	}
	if _, err := properties.ParsePlaces(c.MirrorSecrets); err != nil {
		return fmt.Errorf("--mirror-secrets: %w", err)
	}
	return c.validateSettings()
}

func (c *Config) validateDirs() error {
	if n := int(c.Brokers); n != 0 && len(c.DataDir) > 1 && n != len(c.DataDir) {
		return fmt.Errorf("--brokers %d disagrees with %d --data-dir: leave --brokers out, each directory is one broker", n, len(c.DataDir))
	}
	if n := c.brokers(); n < 1 || n > maxBrokers {
		return fmt.Errorf("%d brokers, by --brokers or one for each --data-dir: use 1 to %d", n, maxBrokers)
	}
	if len(c.DataDir) == 0 {
		return fmt.Errorf("--data-dir is empty: give the directory of broker 1")
	}
	seen := map[string]int{}
	for i, dir := range c.DataDir {
		path, err := filepath.Abs(dir)
		if err != nil || dir == "" || strings.ContainsRune(dir, 0) {
			return fmt.Errorf("--data-dir %q is not a path: give the directory of broker %d", dir, i+1)
		}
		if first, twice := seen[path]; twice {
			return fmt.Errorf("--data-dir %s is given to brokers %d and %d: each needs its own", dir, first, i+1)
		}
		seen[path] = i + 1
	}
	return c.validateSingle()
}

// validateSingle refuses the volume of one broker where a directory for the volumes of all is meant. Whoever leaves out
// all but one --data-dir of a cluster would get a second, empty cluster inside of it, which answers to the same clients.
func (c *Config) validateSingle() error {
	if len(c.DataDir) != 1 {
		return nil
	}
	dir := c.DataDir[0]
	if _, err := os.Stat(filepath.Join(dir, "log", "meta")); err == nil {
		return fmt.Errorf("--data-dir %s is the volume of one broker, and a single --data-dir holds a directory for each: give the --data-dir of every broker, in the order of the first start", dir)
	}
	return nil
}

func (c *Config) validateListeners() error {
	// The default is no tag, because kong counts one as a use of the flag, which excludes --nats-url.
	if c.NATSURL == "" && c.NATSListen == "" {
		c.NATSListen = "127.0.0.1:4222"
	}
	kafka, err := c.Listeners()
	if err != nil {
		return err
	}
	for i, l := range kafka {
		if err := c.refuse(l, c.KafkaListen[i]); err != nil {
			return err
		}
		if unspecified(l.host) && l.told == "" {
			return fmt.Errorf("--kafka-listen %q listens everywhere, but clients need one address: add --advertise host", c.KafkaListen[i])
		}
	}
	listeners := []struct{ flag, address string }{{"--nats-listen", c.NATSListen}, {"--http-listen", c.HTTPListen}}
	for _, l := range listeners {
		if l.address == "" && l.flag == "--nats-listen" {
			continue
		}
		host, _, err := splitPort(l.address)
		if err != nil {
			return fmt.Errorf("%s %q: %w; use host:port", l.flag, l.address, err)
		}
		if !c.InsecureListen && !loopback(host) {
			return fmt.Errorf("%s %q would serve plaintext beyond this machine, without authentication: use a loopback address, or add --insecure-listen", l.flag, l.address)
		}
	}
	return nil
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9.-]+$`)

func splitPort(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	port, err = strconv.Atoi(text)
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("port %q is not 0 to 65535", text)
	}
	return host, port, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func unspecified(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// unclean is for the controller alone, which keeps it in its journal.
const unclean = "unclean.leader.election.enable"

func (c *Config) validateSettings() error {
	listeners, err := c.Listeners()
	if err != nil {
		return err
	}
	for name, value := range c.Set {
		base, why := c.base(name, listeners)
		setting, known := controller.FindSetting(base)
		switch text := ""; {
		case why != "":
			return fmt.Errorf("setting %s, from --set, LOCKSTEP_SET or %s: %s", name, c.fileName(), why)
		case !known:
			return fmt.Errorf("setting %s, from --set, LOCKSTEP_SET or %s, is unknown: %s", legible(name, value), c.fileName(), nearest(name))
		case name == unclean && value == "true":
			return fmt.Errorf("setting %s=%s, from --set, LOCKSTEP_SET or %s, is not read at start: set it on topics, or for all brokers with kafka-configs --alter --entity-type brokers --entity-default", name, value, c.fileName())
		default:
			if text = setting.Check(value); text != "" {
				return fmt.Errorf("setting from --set, LOCKSTEP_SET or %s: %s", c.fileName(), text)
			}
		}
	}
	if delay, idle := c.Int("connection.failed.authentication.delay.ms", 100), c.Int("connections.max.idle.ms", 600_000); idle >= 0 && delay >= idle {
		return fmt.Errorf("setting connection.failed.authentication.delay.ms=%d is not below connections.max.idle.ms=%d: lower it", delay, idle)
	}
	for _, l := range listeners {
		if _, err := c.Policy(l, func(error) {}); err != nil {
			return err
		}
	}
	return nil
}

// legible is a setting as errors show it: what may be a secret is left out.
func legible(name, value string) string {
	if properties.Secret(name) || strings.Contains(strings.ToLower(name), "jaas") || strings.Contains(name, "key") {
		return name
	}
	return name + "=" + value
}

func (c *Config) fileName() string {
	if c.File == "" {
		return "the --config file"
	}
	return c.File
}

// brokers is how many logical brokers there are.
func (c *Config) brokers() int {
	switch {
	case len(c.DataDir) > 1:
		return len(c.DataDir)
	case c.Brokers != 0:
		return int(c.Brokers)
	default:
		return 3
	}
}

// Dirs are the volume directories, one per logical broker, broker 1 first.
func (c *Config) Dirs() []string {
	if len(c.DataDir) > 1 {
		return c.DataDir
	}
	dirs := make([]string, c.brokers())
	for i := range dirs {
		dirs[i] = filepath.Join(c.DataDir[0], "broker-"+strconv.Itoa(i+1))
	}
	return dirs
}

// Int reads an integer setting, or def when the operator gave none.
func (c *Config) Int(name string, def int64) int64 {
	text, set := c.Set[name]
	if !set {
		return def
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err) // Check has seen it
	}
	return n
}

// Word is a setting that is one of a few words, which Check has seen to.
func (c *Config) Word(name, def string) string {
	if text, set := c.Set[name]; set {
		return text
	}
	return def
}

// DrawClusterID makes the name of a cluster that was given none: 22 characters.
func DrawClusterID() string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, 22)
	rand.Read(b)
	for i := range b {
		b[i] = letters[int(b[i])%len(letters)]
	}
	return string(b)
}
