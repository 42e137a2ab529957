package front

import (
	"math"
	"strings"
	"sync"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
	"lockstep/actors/core/partition"
	"lockstep/protocol/batch"
)

// topicRules are the settings of a topic that its batches must keep to, read once per version of the
// topic and of the brokers' settings: a produce must not parse settings.
type topicRules struct {
	topic      *image.Topic
	settings   int64 // the image's SettingsAt
	maxBytes   int64
	compacted  bool
	deletes    bool // old records may go without a newer one of their key
	appendTime bool
	before     int64 // ms
	after      int64 // ms
	weak       partition.WeakAcks
}

var weakAcks = map[string]partition.WeakAcks{"allow": partition.WeakAllow, "refuse": partition.WeakRefuse, "upgrade": partition.WeakUpgrade}

// rulesByTopic is cleared when it is full, so that topics that come and go do not stay.
type rulesByTopic struct {
	mu    sync.Mutex
	rules map[core.TopicID]topicRules
}

const rulesKept = 10_000

func (f *Front) rulesOf(t *image.Topic) topicRules {
	settings := f.broker.Image().SettingsAt // before the settings themselves
	f.rules.mu.Lock()
	defer f.rules.mu.Unlock()
	if r, ok := f.rules.rules[t.ID]; ok && r.topic == t && r.settings == settings {
		return r
	}
	found := f.layers(t)
	policy := found.Effective("cleanup.policy")
	r := topicRules{
		topic:      t,
		settings:   settings,
		maxBytes:   found.Number("max.message.bytes"),
		compacted:  strings.Contains(policy, "compact"),
		deletes:    strings.Contains(policy, "delete"),
		appendTime: found.Effective("message.timestamp.type") == "LogAppendTime",
		before:     found.Number("message.timestamp.before.max.ms"),
		after:      found.Number("message.timestamp.after.max.ms"),
		weak:       weakAcks[found.Effective("lockstep.weak.acks")],
	}
	if f.rules.rules == nil || len(f.rules.rules) >= rulesKept {
		f.rules.rules = map[core.TopicID]topicRules{}
	}
	f.rules.rules[t.ID] = r
	return r
}

// at makes the rules of one produce: wall is Unix ms. A bound that leaves the range of time is none.
func (r topicRules) at(wall int64, version int16) batch.Rules {
	// max.message.bytes=0 admits no batch. For batch.Rules 0 is no bound, and no batch has one byte.
	out := batch.Rules{Version: version, MaxBytes: max(r.maxBytes, 1), Compacted: r.compacted}
	if r.appendTime {
		out.AppendTime = wall
		return out
	}
	if r.before < wall {
		out.Oldest = wall - r.before
	}
	if r.after < math.MaxInt64-wall {
		out.Newest = wall + r.after
	}
	return out
}
