package fetcher

import (
	"fmt"
	"maps"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
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

// ParseConfig reads a mirror's configuration. Keys that are not about fetching (topics.include, …) are
// left to others; a value that cannot be read is an error naming key, value and what would be right.
func ParseConfig(kv map[string]string) (Config, error) {
	r := settings{kv: kv}
	c := Config{
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
