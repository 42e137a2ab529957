package broker

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/registration"
)

// lines is a log that may be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// find is the first line that has all words, "" if none has.
func (l *lines) find(words ...string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
next:
	for line := range strings.Lines(l.text.String()) {
		for _, w := range words {
			if !strings.Contains(line, w) {
				continue next
			}
		}
		return line
	}
	return ""
}

func TestWhateverEndsZeroRPOIsAWarning(t *testing.T) {
	log := &lines{}
	r := (&rig{t: t, log: log}).inMemory(1)
	id := r.create("orders")
	r.register(id, 1)
	r.release()
	r.eventually("the release is a warning", func() bool {
		return log.find("level=WARN", "mirror released", "mirror=dr", "cluster=dc2", "orders", "release 1", "next=") != ""
	})
	unregister := make(chan any, 1)
	r.Registration(func(ref core.RequestID) registration.Command {
		return registration.RegisterTopic{Ref: ref, Key: dr, Topic: id.Topic, Name: "orders", Generation: 2, Echo: 1,
			Incarnation: core.Incarnation{1}, MinISR: 1, Path: []core.ClusterID{dr.Cluster}, CanGate: true}
	}, func(a any) { unregister <- a })
	<-unregister
	r.Registration(func(ref core.RequestID) registration.Command {
		return registration.UnregisterTopic{Ref: ref, Key: dr, Topic: id.Topic, Name: "orders", Generation: 3}
	}, func(a any) { unregister <- a })
	<-unregister
	r.eventually("so is a mirror that leaves", func() bool {
		return log.find("level=WARN", "mirror left", "mirror=dr", "cluster=dc2", "topic=orders", "withdrew", "next=") != ""
	})

	for _, c := range []struct {
		ev    mirror.Event
		words []string
	}{
		{mirror.TopicUnclaimed{Topic: id.Topic, Reason: 1}, []string{"not SYNC any more", "an operator of this cluster"}},
		{mirror.TopicUnclaimed{Topic: id.Topic, Reason: 2, Release: 7, Text: "released by the source, recovering"}, []string{"released by its source", "release=7", "by itself"}},
		{mirror.TopicUnclaimed{Topic: id.Topic, Reason: 3, Text: "the source refused sync fetches"}, []string{"not SYNC any more", "the source refused sync fetches", "tries again"}},
		{mirror.TopicUnclaimed{Topic: id.Topic, Reason: 4, Text: "records 3 to 9 were deleted"}, []string{"began anew", "records 3 to 9", "journal quarantine"}},
		{mirror.PartitionBroken{Topic: id.Topic, Partition: 5, Diverged: true, Text: "it lost data"}, []string{"DIVERGED", "partition=5", "it lost data", "--stop"}},
		{mirror.PartitionBroken{Topic: id.Topic, Partition: 6, Text: "bad batch"}, []string{"FAILED", "partition=6", "bad batch", "--stop"}},
		{mirror.TopicOrphaned{Topic: id.Topic, Text: "no topic with that id"}, []string{"ORPHANED", "no topic with that id", "--stop", "--recover"}},
		{mirror.TopicFailed{Topic: id.Topic, Text: "no topic with that id"}, []string{"FAILED", "no topic with that id", "--stop"}},
	} {
		log.text.Reset()
		r.warnOfMirror("dr", c.ev)
		if log.find(append(c.words, "level=WARN", "mirror=dr", "topic=orders", "why=", "next=")...) == "" {
			t.Errorf("%T: %s", c.ev, log.text.String())
		}
	}
}
