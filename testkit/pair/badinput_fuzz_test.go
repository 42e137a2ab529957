package pair

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/clusterd/process"
	"lockstep/protocol"
	"lockstep/protocol/messages"
)

var fuzzFor = flag.Duration("fuzz.for", 5*time.Second, "how long TestAHostileNetwork attacks")

// A stock producer runs while everything that can be said wrongly is said to the same brokers: frames that lie about
// their length, requests of every kind with other bytes, batches that lie about what is in them, bombs, peers that send a
// byte a second, and connections that say nothing. No panic, no lost record, and memory stays where it was.
func TestAHostileNetwork(t *testing.T) {
	const memoryMiB = 1500 // of a process whose bounds are 512 MiB of produces and 128 MiB of questions
	dc := start(t, process.Spec{Cluster: "dc1"})
	dc.createTopic(t, "orders", 3)
	load := dc.produceUnderLoad(t, "orders")
	load.awaitMore(t, 1000)
	before := dc.memory(t)
	ctx, stop := context.WithTimeout(t.Context(), *fuzzFor)
	defer stop()
	var running sync.WaitGroup
	var sent atomic.Int64
	for i := range 24 {
		each := []func(*attacker){(*attacker).noise, (*attacker).requests, (*attacker).requests, (*attacker).batches, (*attacker).batches, (*attacker).cuts}[i%6]
		a := &attacker{ctx: ctx, rng: rand.New(rand.NewPCG(uint64(i), 7)), at: dc.Bootstrap(), sent: &sent}
		running.Go(func() {
			for ctx.Err() == nil {
				each(a)
			}
		})
	}
	for range 1000 {
		running.Go(func() { idle(ctx, dc.Bootstrap()) })
	}
	for range 20 {
		running.Go(func() { dribble(ctx, dc.Bootstrap()) })
	}
	acked := load.Acked()
	running.Wait()
	if more := load.Acked() - acked; more == 0 {
		t.Error("the producer got nothing acknowledged under the attack")
	}
	after := dc.memory(t)
	t.Logf("%s: %d attacks, %d records acknowledged meanwhile; peak memory %d MiB before, %d MiB after", *fuzzFor, sent.Load(), load.Acked()-acked, before, after)
	if after > memoryMiB {
		t.Errorf("the process took %d MiB", after)
	}
	if code, text := dc.health(t); code != 200 {
		t.Fatalf("livez: %d %s", code, text)
	}
	written, err := os.ReadFile(dc.Dir + "/clusterd.log")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(written)) {
		if strings.Contains(line, "panic") || strings.Contains(line, "could not be composed") {
			t.Errorf("%.2000s", line)
			break
		}
	}
	load.awaitMore(t, 1000)
	if n, err := load.Failed(); n > 0 {
		t.Errorf("the client gave up %d records: %v", n, err)
	}
	load.drain(t)
	load.compare(t, dc)
	mustStop(t, dc)
	dc.restart(t)
	load.compare(t, dc)
}

// memory is the peak resident memory of the process, MiB.
func (d *datacenter) memory(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.PID))
	if err != nil {
		t.Skipf("no resident memory to measure: %v", err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib := 0
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatalf("peak memory in %q: %v", rest, err)
	}
	return kib >> 10
}

type attacker struct {
	ctx  context.Context
	rng  *rand.Rand
	at   []string
	sent *atomic.Int64
}

// say sends bytes over a connection of its own and reads whatever comes back for a moment.
func (a *attacker) say(raw []byte, patience time.Duration) {
	c, err := net.DialTimeout("tcp", a.at[a.rng.IntN(len(a.at))], time.Second)
	if err != nil {
		return
	}
	defer c.Close()
	a.sent.Add(1)
	_ = c.SetDeadline(time.Now().Add(patience))
	_, _ = c.Write(raw)
	_, _ = io.CopyN(io.Discard, c, 1<<20)
}

func (a *attacker) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(a.rng.Uint32())
	}
	return b
}

// noise is random bytes behind lengths that are true, negative, huge or short.
func (a *attacker) noise() {
	body := a.bytes(a.rng.IntN(300))
	n := []int32{int32(len(body)), -1, -1 << 31, 1<<31 - 1, 100 << 20, 0, 9, int32(len(body)) / 2, int32(len(body)) + 100}[a.rng.IntN(9)]
	a.say(append(binary.BigEndian.AppendUint32(nil, uint32(n)), body...), 30*time.Millisecond)
}

// request is a well-formed request of a random kind and version, about the topic that is produced to.
func (a *attacker) request() kmsg.Request {
	apis := messages.APIs()
	api := apis[a.rng.IntN(len(apis))]
	r, err := messages.NewRequest(api.Key, api.Min+int16(a.rng.IntN(int(api.Max-api.Min)+1)))
	if err != nil {
		panic(err)
	}
	topic := "orders"
	switch r := r.(type) {
	case *kmsg.MetadataRequest:
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &topic
		r.Topics = append(r.Topics, t)
	case *kmsg.ListOffsetsRequest:
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic, t.Partitions = topic, []kmsg.ListOffsetsRequestTopicPartition{kmsg.NewListOffsetsRequestTopicPartition()}
		r.Topics = append(r.Topics, t)
	case *messages.FetchRequest:
		t := messages.NewFetchRequestTopic()
		t.Topic, t.Partitions = topic, []messages.FetchRequestPartition{messages.NewFetchRequestPartition()}
		r.Topics, r.MaxWaitMs = append(r.Topics, t), 1000
	case *kmsg.OffsetCommitRequest:
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic, t.Partitions = topic, []kmsg.OffsetCommitRequestTopicPartition{kmsg.NewOffsetCommitRequestTopicPartition()}
		r.Group, r.Topics = "g", append(r.Topics, t)
	case *kmsg.JoinGroupRequest:
		r.Group, r.ProtocolType, r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = "g", "consumer", 10_000, 1000
		r.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: a.bytes(20)}}
	case *messages.CreateTopicsRequest:
		t := messages.NewCreateTopicsRequestTopic()
		t.Name, t.NumPartitions, t.ReplicationFactor = fmt.Sprint("made-", a.rng.IntN(50)), 1, 1
		r.Topics = append(r.Topics, t)
	}
	return r
}

// requests changes a few bytes of well-formed ones, cuts or lengthens them, or repeats them many times at once.
func (a *attacker) requests() {
	var raw []byte
	id := "hostile"
	for range 1 + a.rng.IntN(8) {
		frame := protocol.AppendRequest(nil, int32(a.rng.Uint32()), &id, a.request())[4:]
		for range a.rng.IntN(5) {
			frame[8+a.rng.IntN(len(frame)-8)] = []byte{0, 1, 0x7f, 0x80, 0xff, byte(a.rng.Uint32())}[a.rng.IntN(6)]
		}
		switch a.rng.IntN(6) {
		case 0:
			frame = frame[:8+a.rng.IntN(len(frame)-8)]
		case 1:
			frame = append(frame, a.bytes(a.rng.IntN(100))...)
		case 2:
			frame = append(frame[:min(len(frame), 18)], a.bytes(a.rng.IntN(200))...)
		}
		raw = append(binary.BigEndian.AppendUint32(raw, uint32(len(frame))), frame...)
	}
	a.say(raw, 50*time.Millisecond)
}

// cuts stops in the middle of a frame.
func (a *attacker) cuts() {
	id := "hostile"
	raw := protocol.AppendRequest(nil, 1, &id, a.request())
	a.say(raw[:1+a.rng.IntN(len(raw))], 20*time.Millisecond)
}

// batches are produced with lies in them, half of them with a checksum that is right all the same.
func (a *attacker) batches() {
	r := kmsg.NewPtrProduceRequest()
	r.SetVersion(int16(3 + a.rng.IntN(10)))
	r.Acks, r.TimeoutMillis = int16(a.rng.IntN(3)-1), 1000
	t := kmsg.NewProduceRequestTopic()
	t.Topic = "orders"
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = int32(a.rng.IntN(3)), lie(a.rng)
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	id := "hostile"
	a.say(protocol.AppendRequest(nil, 1, &id, r), 100*time.Millisecond)
}

// idle connects and says nothing.
func idle(ctx context.Context, at []string) {
	if c := connect(ctx, at); c != nil {
		defer c.Close()
		<-ctx.Done()
	}
}

// dribble sends a produce of 90 MiB, a byte at a time.
func dribble(ctx context.Context, at []string) {
	c := connect(ctx, at)
	if c == nil {
		return
	}
	defer c.Close()
	raw := append(binary.BigEndian.AppendUint32(nil, 90<<20), bytes.Repeat([]byte{0, 0, 0, 9}, 1000)...)
	for i := range raw {
		if _, err := c.Write(raw[i : i+1]); err != nil {
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}

func connect(ctx context.Context, at []string) net.Conn {
	for i := 0; ctx.Err() == nil; i++ {
		if c, err := net.DialTimeout("tcp", at[i%len(at)], time.Second); err == nil {
			return c
		}
	}
	return nil
}
