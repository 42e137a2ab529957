package front

import (
	"bytes"
	"encoding/binary"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol"
	"lockstep/protocol/messages"
)

// logLines collects what a front logs.
type logLines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logLines) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), "connection closed")
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// bareFront is a front without a cluster: enough for frames that never reach a handler.
func bareFront(t *testing.T, limits Limits) (*Front, string, *logLines) {
	t.Helper()
	lines := &logLines{}
	f := New(Config{Memory: NewMemory(ProcessBytes), Limits: limits, Log: slog.New(slog.NewTextHandler(lines, nil))})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- f.Serve(l, Listener{}) }()
	t.Cleanup(func() {
		f.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return f, l.Addr().String(), lines
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(5 * time.Second))
	return c
}

func framed(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// request is a frame with a null client id.
func request(key, version int16, body ...byte) []byte {
	h := binary.BigEndian.AppendUint16(nil, uint16(key))
	h = binary.BigEndian.AppendUint16(h, uint16(version))
	h = binary.BigEndian.AppendUint32(h, 7)
	return append(append(h, 0xff, 0xff), body...)
}

// closes writes raw bytes and wants the connection to end without a byte of answer.
func closes(t *testing.T, addr string, raw []byte) {
	t.Helper()
	c := dial(t, addr)
	c.Write(raw)
	got, err := io.ReadAll(c)
	if len(got) > 0 {
		t.Errorf("answered %x", got)
	}
	if isTimeout(err) {
		t.Error("the connection was left open")
	}
}

// TestMalformedFramesCloseTheConnectionWithOneLine: compat-P07, compat-S04, compat §1.3 rules 7 and 12.
func TestMalformedFramesCloseTheConnectionWithOneLine(t *testing.T) {
	_, addr, lines := bareFront(t, DefaultLimits())
	null := []byte{0xff, 0xff}
	for _, c := range []struct {
		name string
		raw  []byte
	}{
		{"length 2^31-1", []byte{0x7f, 0xff, 0xff, 0xff, 0, 0}},
		{"length -1", []byte{0xff, 0xff, 0xff, 0xff}},
		{"length 0", []byte{0, 0, 0, 0}},
		{"length above socket.request.max.bytes", []byte{0x06, 0x40, 0, 1, 0, 0}},
		{"large frame of an api that has none", []byte{0x03, 0, 0, 0, 0, 3}},
		{"client id longer than the frame", framed([]byte{0, 3, 0, 1, 0, 0, 0, 7, 0x7f, 0xff})},
		{"client id of length -2", framed([]byte{0, 3, 0, 1, 0, 0, 0, 7, 0xff, 0xfe})},
		{"unknown key", framed(request(4711, 0))},
		{"negative key", framed(request(-3, 0))},
		{"version below the served range", framed(request(0, 2))},
		{"a fetch of message sets", framed(request(1, 3))}, // compat-F18
		{"version above the served range", framed(request(3, 99))},
		{"telemetry is not shown, so not served", framed(request(71, 0))},
		{"metadata: array of 2^31-1", framed(request(3, 1, 0x7f, 0xff, 0xff, 0xff))},
		{"metadata: array of a million without bytes", framed(request(3, 1, 0, 0x0f, 0x42, 0x40))},
		{"metadata: string longer than the frame", framed(request(3, 1, 0, 0, 0, 1, 0x7f, 0xff))},
		{"metadata v9: truncated varint of header tags", framed(request(3, 9, 0x80))},
		{"metadata v9: a million header tags", framed(request(3, 9, 0xc0, 0x84, 0x3d, 0, 0))},
		{"metadata v9: header tag larger than the frame", framed(request(3, 9, 1, 0, 0xff, 0xff, 0x03))},
		{"metadata v9: compact array of 2^32-1", framed(request(3, 9, 0, 0xff, 0xff, 0xff, 0xff, 0x0f))},
		{"metadata v9: a million body tags", framed(request(3, 9, 0, 0, 0, 0, 0, 0xc0, 0x84, 0x3d))},
		{"produce v9: truncated", framed(request(0, 9, 0, 0, 0xff))},
		{"fetch v12: array longer than the frame", framed(request(1, 12, append([]byte{0}, bytes.Repeat([]byte{0xff}, 40)...)...))},
		{"join group: negative metadata", framed(request(11, 0, append([]byte{0, 1, 'g', 0, 0, 0, 1, 0, 0, 0, 1, 'c', 0, 0, 0, 1, 0, 1, 'r', 0xff, 0xff}, null...)...))},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := lines.count()
			closes(t, addr, c.raw)
			deadline := time.Now().Add(5 * time.Second)
			for lines.count() == before && time.Now().Before(deadline) {
				runtime.Gosched()
			}
			if n := lines.count() - before; n != 1 {
				t.Errorf("%d log lines, want 1:\n%s", n, lines)
			}
		})
	}
}

// TestRandomFramesNeverPanicNorLinger feeds mutations of good requests. A panic of a decoder would be
// logged with its stack.
func TestRandomFramesNeverPanicNorLinger(t *testing.T) {
	f, addr, lines := bareFront(t, DefaultLimits())
	rng := rand.New(rand.NewPCG(1, 2))
	var good [][]byte
	for _, a := range messages.APIs() {
		r, err := messages.NewRequest(a.Key, a.Max)
		if err != nil {
			t.Fatal(err)
		}
		head := request(a.Key, a.Max)
		if r.IsFlexible() {
			head = append(head, 0)
		}
		good = append(good, r.AppendTo(head))
	}
	for i := range 3000 {
		frame := bytes.Clone(good[i%len(good)])
		frame = append(frame, 0) // trailing garbage makes room for a lie about a length
		for range 1 + rng.IntN(6) {
			frame[10+rng.IntN(len(frame)-10)] = byte(rng.Uint32())
		}
		frame = frame[:10+rng.IntN(len(frame)-9)]
		if h, body, err := protocol.ParseHeader(frame); err == nil {
			protocol.DecodeRequest(h, body) // must return, whatever it says
		}
	}
	for i := range 200 {
		raw := make([]byte, 4+rng.IntN(200))
		for j := range raw {
			raw[j] = byte(rng.Uint32())
		}
		binary.BigEndian.PutUint32(raw, uint32(len(raw)-4))
		if len(raw) > 8 {
			binary.BigEndian.PutUint16(raw[4:], uint16(4000+i)) // no handler: there is no cluster behind
		}
		c := dial(t, addr)
		c.Write(raw)
		c.(*net.TCPConn).CloseWrite()
		if got, _ := io.ReadAll(c); len(got) > 0 {
			t.Fatalf("answered %x to %x", got, raw)
		}
		c.Close()
	}
	if s := lines.String(); strings.Contains(s, "panic") {
		t.Fatal(s)
	}
	f.Close()
	if held := f.memory.Held(); held != 0 {
		t.Errorf("%d bytes of closed connections are still charged", held)
	}
}

// A frame that does not come in time ends its connection, and the log says why: a producer on a slow line was cut off again
// and again without a word.
func TestARequestThatDoesNotArriveIsLogged(t *testing.T) {
	limits := DefaultLimits()
	limits.Stall = 50 * time.Millisecond
	f, addr, lines := bareFront(t, limits)
	c := dial(t, addr)
	c.Write(append(binary.BigEndian.AppendUint32(nil, 4000), 0, 0, 0, 9, 0, 0, 0, 1))
	if n, err := c.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("left open (%d, %v)", n, err)
	}
	waitFor(t, "the line", func() bool { return lines.count() == 1 })
	if s := lines.String(); !strings.Contains(s, "4000 bytes") {
		t.Error(s)
	}
	waitFor(t, "its bytes to be given back", func() bool { return f.memory.Held() == 0 })
}

// TestALengthPrefixIsNotAnAllocation: 64 connections announce 100 MiB each and send nothing.
func TestALengthPrefixIsNotAnAllocation(t *testing.T) {
	limits := DefaultLimits()
	f, addr, _ := bareFront(t, limits)
	f.memory = NewMemory(1 << 40) // the bound of the process is another test
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 64 {
		c := dial(t, addr)
		c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(limits.Frame)), 0, 0, 0, 3, 1, 2, 3, 4))
	}
	waitFor(t, "64 announced frames", func() bool { return f.memory.Held() == 64*int64(limits.Frame) })
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64*(256<<10) {
		t.Errorf("64 announced frames took %d bytes", grown)
	}
	f.Close()
	if held := f.memory.Held(); held != 0 {
		t.Errorf("%d bytes are still charged", held)
	}
}

// TestUnknownApiVersionsVersionIsAnsweredInTheOldestForm: compat §1.3 rules 3 and 4.
func TestUnknownApiVersionsVersionIsAnsweredInTheOldestForm(t *testing.T) {
	_, addr, _ := bareFront(t, DefaultLimits())
	for _, version := range []int16{6, 99, -1} {
		c := dial(t, addr)
		c.Write(framed(request(messages.KeyApiVersions, version, 0xde, 0xad)))
		correlation, body := readResponse(t, c)
		resp := kmsg.NewPtrApiVersionsResponse()
		if err := resp.ReadFrom(body); err != nil || correlation != 7 {
			t.Fatalf("version %d: correlation %d, %v in %x", version, correlation, err, body)
		}
		if !bytes.Equal(resp.AppendTo(nil), body) {
			t.Errorf("version %d: %x is more than the v0 form", version, body)
		}
		if resp.ErrorCode != 35 || len(resp.ApiKeys) != 1 || resp.ApiKeys[0].ApiKey != 18 || resp.ApiKeys[0].MaxVersion < 4 {
			t.Errorf("version %d: %+v", version, resp)
		}
	}
}

func readResponse(t *testing.T, c net.Conn) (correlation int32, body []byte) {
	t.Helper()
	var n [4]byte
	if _, err := io.ReadFull(c, n[:]); err != nil {
		t.Fatal(err)
	}
	frame := make([]byte, binary.BigEndian.Uint32(n[:]))
	if _, err := io.ReadFull(c, frame); err != nil {
		t.Fatal(err)
	}
	return int32(binary.BigEndian.Uint32(frame)), frame[4:]
}

// waitFor polls a condition that another goroutine brings about.
func waitFor(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !cond(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s in vain", what)
		}
		<-time.After(time.Millisecond)
	}
}
