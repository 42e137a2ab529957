package group

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"lockstep/actors/core"
	"lockstep/actors/core/assignor"
)

var update = flag.Bool("update", false, "write what the scripts answer into them")

// Scripts read like a conversation: a line is a command, the lines with > below it are its answers.
// "wait" lets milliseconds pass, "restart" is a new process. -update writes the answers: read the diff.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := (&script{world: newWorld(t), refs: []string{"?"}}).run(string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(want) {
				t.Errorf("%s answers differently:\n%s", file, firstDifference(got, string(want)))
			}
		})
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d\n got %s\nwant %s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

type script struct {
	*world
	refs []string
}

func (s *script) run(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "  >") {
			continue
		}
		fmt.Fprintln(&out, line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		for _, e := range s.line(line) {
			fmt.Fprintln(&out, "  > "+render(e, func(r core.RequestID) string { return s.refs[r] }))
		}
	}
	return out.String()
}

type args map[string]string

func (a args) or(name, otherwise string) string {
	if v, given := a[name]; given {
		return v
	}
	return otherwise
}

func (a args) num(name string, otherwise int64) int64 {
	n, err := strconv.ParseInt(a.or(name, fmt.Sprint(otherwise)), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func (a args) optional(name string) *string {
	if v, given := a[name]; given {
		return &v
	}
	return nil
}

func (s *script) line(line string) []Effect {
	s.t.Helper()
	words := strings.Fields(line)
	a := args{}
	for _, w := range words[1:] {
		k, v, _ := strings.Cut(w, "=")
		a[k] = v
	}
	if words[0] == "wait" {
		n, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil {
			s.t.Fatal(line, err)
		}
		return s.wait(n)
	}
	if words[0] == "restart" {
		return s.restart()
	}
	if words[0] == "settings" {
		s.settings.InitialDelayMs, s.settings.MaxSize = a.num("delay", 0), int32(a.num("max", 0))
		s.settings.ConsumerMaxSize = s.settings.MaxSize
		s.settings.Migration = Migrations[a.or("policy", "bidirectional")]
		s.settings.RetentionMs, s.settings.RetentionCheckMs = a.num("retention", 604_800_000), a.num("check", 600_000)
		return s.do(Resume{Settings: s.settings})
	}
	if words[0] == "topics" {
		s.topics(words[1:]...)
		return nil
	}
	s.refs = append(s.refs, words[1])
	return s.do(s.command(words[0], core.RequestID(len(s.refs)-1), words[1], a))
}

// subscription makes "topics=a+b" the subscription that consumers send, "topics=a+b|a/0+b/1" one with what they have,
// and leaves everything else as it is.
func subscription(text string) []byte {
	list, is := strings.CutPrefix(text, "topics=")
	if !is {
		return []byte(text)
	}
	list, owned, _ := strings.Cut(list, "|")
	names := strings.Split(list, "+")
	b := binary.BigEndian.AppendUint32([]byte{0, 3}, uint32(len(names)))
	for _, n := range names {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(n))), n...)
	}
	b = append(b, 0xff, 0xff, 0xff, 0xff)
	return append(b, partitionsByName(owned)...)
}

// partitionsByName writes "a/0+b/1" as subscriptions and assignments have it.
func partitionsByName(text string) []byte {
	set := map[string][]int32{}
	for _, o := range strings.FieldsFunc(text, func(r rune) bool { return r == '+' }) {
		topic, p, _ := strings.Cut(o, "/")
		n, _ := strconv.Atoi(p)
		set[topic] = append(set[topic], int32(n))
	}
	whole := writeAssignment(3, set)
	return whole[2 : len(whole)-4]
}

// given makes "has=a/0+b/1" an assignment that consumers read, "has=a/0|x" one with x as data of its assignor, and leaves
// everything else as it is.
func given(text string) []byte {
	owned, is := strings.CutPrefix(text, "has=")
	if !is {
		return []byte(text)
	}
	owned, data, some := strings.Cut(owned, "|")
	size := uint32(math.MaxUint32) // none
	if some {
		size = uint32(len(data))
	}
	b := append([]byte{0, 3}, partitionsByName(owned)...)
	return append(binary.BigEndian.AppendUint32(b, size), data...)
}

func (s *script) command(verb string, ref core.RequestID, name string, a args) Command {
	group, gen := a.or("group", "g"), int32(a.num("gen", -1))
	switch verb {
	case "join":
		c := JoinGroup{Ref: ref, Group: group, MemberID: a["member"], NewMemberID: a.or("new", name), InstanceID: a.optional("inst"),
			ClientID: "c-" + name, ClientHost: "/127.0.0.1", ProtocolType: a.or("type", "consumer"),
			SessionTimeoutMs: a.num("session", 10_000), RebalanceTimeoutMs: a.num("rebalance", 60_000), Image: s.image}
		_, c.NeedsKnownID = a["v4"]
		_, c.SkipsAssignment = a["v9"]
		for p := range strings.SplitSeq(a.or("proto", "range"), ",") {
			n, metadata, _ := strings.Cut(p, ":")
			c.Protocols = append(c.Protocols, Protocol{n, subscription(metadata)})
		}
		return c
	case "sync":
		c := SyncGroup{Ref: ref, Group: group, Generation: gen, MemberID: a["member"], InstanceID: a.optional("inst"),
			Protocol: a.optional("proto"), ProtocolType: a.optional("type")}
		for p := range strings.SplitSeq(a["give"], ",") {
			if id, data, some := strings.Cut(p, ":"); some {
				c.Assignments = append(c.Assignments, Assignment{id, given(data)})
			}
		}
		return c
	case "beat":
		return Heartbeat{Ref: ref, Group: group, Generation: gen, MemberID: a["member"], InstanceID: a.optional("inst")}
	case "leave":
		c := LeaveGroup{Ref: ref, Group: group}
		for who := range strings.SplitSeq(a["who"], ",") {
			id, inst, static := strings.Cut(who, "/")
			l := Leaver{MemberID: id}
			if static {
				l.InstanceID = &inst
			}
			c.Members = append(c.Members, l)
		}
		return c
	case "commit":
		c := OffsetCommit{Ref: ref, Group: group, RetainMs: a.num("retain", -1), Generation: gen, MemberID: a["member"], InstanceID: a.optional("inst")}
		_, c.KnowsGroupNotFound = a["v9"]
		for o := range strings.SplitSeq(a["at"], ",") {
			var topic string
			var p, off, epoch int
			if _, err := fmt.Sscanf(strings.NewReplacer("/", " ", "@", " ", ":", " ").Replace(o), "%s %d %d %d", &topic, &p, &off, &epoch); err != nil {
				s.t.Fatal(o, err)
			}
			c.Offsets = append(c.Offsets, OffsetToCommit{Topic: topic, TopicID: core.TopicID{byte(a.num("id", 0))}, Partition: int32(p), Offset: core.Offset(off),
				LeaderEpoch: core.LeaderEpoch(epoch), Metadata: strings.Repeat("m", int(a.num("meta", 0)))})
		}
		return c
	case "fetch":
		c := OffsetFetch{Ref: ref, Group: group, MemberID: a.optional("member"), Epoch: int32(a.num("epoch", -1))}
		for o := range strings.SplitSeq(a["at"], ",") {
			if topic, p, given := strings.Cut(o, "/"); given {
				n, _ := strconv.Atoi(p)
				c.Topics = append(c.Topics, TopicPartitions{Topic: topic, ID: core.TopicID{byte(a.num("id", 0))}, Partitions: []int32{int32(n)}})
			}
		}
		return c
	case "hear":
		c := ConsumerBeat{Ref: ref, Group: group, MemberID: a["member"], Epoch: int32(a.num("epoch", 0)), InstanceID: a.optional("inst"),
			RebalanceMs: a.num("rebalance", -1), Regex: a.optional("regex"), Assignor: a.optional("assignor"), ClientID: "c", ClientHost: "/h", Image: s.image}
		if topics, given := a["topics"]; given {
			c.Topics = strings.FieldsFunc(topics, func(r rune) bool { return r == '+' })
			if c.Topics == nil {
				c.Topics = []string{}
			}
		}
		if owned, given := a["owns"]; given {
			lists := map[core.TopicID][]int32{}
			for _, o := range strings.FieldsFunc(owned, func(r rune) bool { return r == ',' }) {
				topic, p, _ := strings.Cut(o, "/")
				n, _ := strconv.Atoi(p)
				lists[topicID(topic)] = append(lists[topicID(topic)], int32(n))
			}
			c.Owned = assignor.SetOf(lists)
		}
		if _, first := a["first"]; first { // what clients say of themselves when they join
			c.RebalanceMs, c.Owned = a.num("rebalance", 30_000), assignor.Partitions{}
		}
		return c
	case "describe-consumers":
		return DescribeConsumers{Ref: ref, Group: group}
	case "configure":
		c := ConfigureGroup{Ref: ref, Group: group, Set: map[string]string{}}
		_, c.DryRun = a["dry"]
		for name, value := range a {
			switch {
			case !strings.Contains(name, "."):
			case value == "-":
				c.Delete = append(c.Delete, name)
			default:
				c.Set[name] = value
			}
		}
		return c
	case "configured":
		return ListConfigured{Ref: ref}
	case "config":
		return DescribeConfig{Ref: ref, Group: group}
	case "delete":
		return DeleteGroup{Ref: ref, Group: group}
	case "offset-delete":
		c := DeleteOffsets{Ref: ref, Group: group}
		for o := range strings.SplitSeq(a["at"], ",") {
			topic, p, _ := strings.Cut(o, "/")
			n, _ := strconv.Atoi(p)
			c.Positions = append(c.Positions, PositionRecord{Topic: topic, Partition: int32(n)})
		}
		return c
	case "describe":
		return DescribeGroup{Ref: ref, Group: group}
	case "list":
		c := ListGroups{Ref: ref}
		if v, given := a["states"]; given {
			c.States = strings.Split(v, ",")
		}
		if v, given := a["types"]; given {
			c.Types = strings.Split(v, ",")
		}
		return c
	default:
		s.t.Fatalf("unknown verb %q", verb)
		return nil
	}
}
