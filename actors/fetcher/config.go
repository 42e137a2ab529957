package fetcher

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockstep/actors/core/mirror"
	"lockstep/protocol/properties"
)

// Config is how one mirror reads its source: the client settings of the mirror's configuration, under
// the names KIP-1279 gives them; the older names with the mirror. prefix are read too.
type Config struct {
	Bootstrap string // "host:port,host:port", sorted, at least one
	// SourceCluster, when set, must be the id the source answers with: a mirror never changes its source.
	SourceCluster string
	// Exclude lists topic settings that a mirror does not copy, comma separated (D22).
	Exclude string
	// NATSURL overrides what the source says of its NATS.
	NATSURL string

	ClientID string
	// Security holds what was written, with secrets by their names: they are looked up whenever a connection is made.
	Security properties.Security

	RequestTimeout  time.Duration
	DialTimeout     time.Duration
	MetadataRefresh time.Duration // a broker setting, carried here for the loop that needs it
	FetchWait       time.Duration // how long the source may park a fetch
	FetchBackoff    time.Duration
	FetchMinBytes   int32
	FetchMaxBytes   int32 // whole answer
	PartitionBytes  int32 // one partition; the first batch comes whole even when it is larger
	ThrottledRate   int64 // bytes per second that the whole mirror may read; 0: unlimited
}

const defaultExclude = "follower.replication.throttled.replicas,leader.replication.throttled.replicas," +
	"message.timestamp.difference.max.ms,message.timestamp.before.max.ms,message.timestamp.after.max.ms," +
	"log.message.timestamp.before.max.ms,log.message.timestamp.after.max.ms,message.timestamp.type," +
	"unclean.leader.election.enable,min.insync.replicas,mirror.replication.throttled.replicas,mirror.support.unclean.leader.election"

const (
	defaultMetadataRefresh = 60 * time.Second
	maxBackoff             = 10 * time.Second
)

// ParseConfig reads a mirror's configuration. Keys that are not about fetching are left to others; a value that cannot be
// read is an error naming key, value and what would be right. Secrets are found where places allows it, nil: anywhere; one
// that is written out is refused, because settings of mirrors are journaled.
func ParseConfig(kv map[string]string, places *properties.Places) (Config, error) {
	if name := properties.Literal(kv); name != "" {
		return Config{}, fmt.Errorf("%s holds a secret, and the settings of a mirror are journaled: write ${file:PATH:KEY} or ${env:NAME} "+
			"in its place, in sasl.jaas.config password=\"${file:PATH:KEY}\"; clusterd looks it up where --mirror-secrets allows it to", name)
	}
	security, err := properties.ReadSecurity(bare(kv), places)
	if err != nil {
		return Config{}, err
	}
	r := settings{kv: kv}
	c := Config{
		Security: security, ClientID: cmp.Or(r.text("client.id"), clientID),
		SourceCluster:   r.text("source.cluster.id"),
		NATSURL:         r.text("lockstep.nats.url"),
		RequestTimeout:  r.millis("request.timeout.ms", 30_000, 100),
		DialTimeout:     r.millis("socket.connection.setup.timeout.ms", 10_000, 10),
		MetadataRefresh: r.millis("metadata.refresh.interval.ms", defaultMetadataRefresh.Milliseconds(), 100),
		FetchWait:       r.millis("fetch.wait.max.ms", 1_000, 0),
		FetchBackoff:    r.millis("fetch.backoff.ms", 1_000, 1),
		FetchMinBytes:   r.bytes("fetch.min.bytes", 1, 0),
		FetchMaxBytes:   r.bytes("fetch.response.max.bytes", 10<<20, 1),
		PartitionBytes:  r.bytes("fetch.max.bytes", 1<<20, 1),
	}
	c.ThrottledRate = r.number("replication.throttled.rate", 0, 1, math.MaxInt64)
	if c.ThrottledRate == math.MaxInt64 { // Kafka's word for unlimited
		c.ThrottledRate = 0
	}
	c.Bootstrap = r.addresses("bootstrap.servers")
	if c.Exclude = r.text("topic.properties.exclude"); c.Exclude == "" {
		c.Exclude = defaultExclude
	}
	if r.err != nil {
		return Config{}, r.err
	}
	if c.FetchWait >= c.RequestTimeout {
		return Config{}, fmt.Errorf("fetch.wait.max.ms=%d must be below request.timeout.ms=%d, else every idle fetch times out",
			c.FetchWait.Milliseconds(), c.RequestTimeout.Milliseconds())
	}
	return c, nil
}

// bare are the settings by their present names.
func bare(kv map[string]string) map[string]string {
	out := make(map[string]string, len(kv))
	for name, value := range kv {
		if present := strings.TrimPrefix(name, "mirror."); present == name || kv[present] == "" {
			out[present] = strings.TrimSpace(value)
		}
	}
	return out
}

// CheckConfig is ParseConfig for settings that an operator is about to give a mirror: one that nobody would look at is
// refused by name.
func CheckConfig(kv map[string]string, places *properties.Places) error {
	if _, err := ParseConfig(kv, places); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(kv)) {
		present := strings.TrimPrefix(name, "mirror.")
		if !slices.Contains(ofMirror, name) && !slices.Contains(ofFetching, present) && !properties.Follows(present) && !properties.OfNoConsequence(present) {
			return fmt.Errorf("%.80q is no setting of a mirror that is followed here: leave it out; which topics are mirrored is said by --topics and --exclude", name)
		}
	}
	return nil
}

// What a mirror's settings may be: those read here, under either name, and those of its machine.
var (
	ofFetching = []string{"source.cluster.id", "lockstep.nats.url", "metadata.refresh.interval.ms", "fetch.wait.max.ms", "fetch.backoff.ms", "fetch.min.bytes",
		"fetch.response.max.bytes", "fetch.max.bytes", "replication.throttled.rate", "topic.properties.exclude"}
	ofMirror = []string{"lockstep.claim.lease.ms", "mirror.sync.topic.demote.timeout.ms", mirror.MinClassSetting, mirror.FollowUncleanSetting}
)

// Addresses are the brokers to begin with.
func (c Config) Addresses() []string { return strings.Split(c.Bootstrap, ",") }

// settings reads typed values and keeps the first error.
type settings struct {
	kv  map[string]string
	err error
}

// text finds key under its present name or under the older one with the prefix "mirror.".
func (s *settings) text(key string) string {
	for _, k := range []string{key, "mirror." + key} {
		if v, ok := s.kv[k]; ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func (s *settings) number(key string, def, least, most int64) int64 {
	v := s.text(key)
	if v == "" {
		return def
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if (err != nil || n < least || n > most) && s.err == nil {
		s.err = fmt.Errorf("%s=%q must be a number from %d to %d", key, v, least, most)
	}
	return n
}

func (s *settings) millis(key string, def, least int64) time.Duration {
	return time.Duration(s.number(key, def, least, 1<<40)) * time.Millisecond
}

func (s *settings) bytes(key string, def, least int64) int32 {
	return int32(s.number(key, def, least, 1<<31-1))
}

func (s *settings) addresses(key string) string {
	set := map[string]bool{}
	for a := range strings.SplitSeq(s.text(key), ",") {
		a = strings.TrimSpace(a)
		if a == "" {
			continue
		}
		if _, port, err := net.SplitHostPort(a); err != nil || port == "" {
			s.fail(fmt.Errorf("%s: %q is not host:port", key, a))
			continue
		}
		set[a] = true
	}
	if len(set) == 0 {
		s.fail(fmt.Errorf("%s is empty: name at least one broker of the source as host:port", key))
	}
	return strings.Join(slices.Sorted(maps.Keys(set)), ",")
}

func (s *settings) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}
