package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// echo answers every connection with what it is sent.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); c.Close() }()
		}
	}()
	return l.Addr().String()
}

func dialled(t *testing.T, w *Wire) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", w.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

func newWire(t *testing.T, filter Filter) *Wire {
	t.Helper()
	w, err := NewFiltered(echo(t), filter)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.End)
	return w
}

func say(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("heard %q, %v; want %q", got, err, want)
	}
}

// silent proves that nothing more comes: another connection, asked afterwards, is heard first.
func silent(t *testing.T, c net.Conn, behind time.Duration) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(behind)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Fatalf("heard %d bytes, %v", n, err)
	}
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
}

func TestDelayMovesEverythingLaterAndNothingSlower(t *testing.T) {
	w := newWire(t, nil)
	w.Delay(Up, 50*time.Millisecond)
	w.Delay(Down, 50*time.Millisecond)
	c := dialled(t, w)
	began := time.Now()
	for i := range 20 {
		say(t, c, fmt.Sprintf("%02d", i))
	}
	for i := range 20 {
		hear(t, c, fmt.Sprintf("%02d", i))
	}
	if took := time.Since(began); took < 100*time.Millisecond || took > 5*time.Second {
		t.Errorf("twenty words over 100 ms of distance took %s", took)
	}
}

func TestRateIsKept(t *testing.T) {
	w := newWire(t, nil)
	w.Rate(Down, 200<<10)
	c := dialled(t, w)
	began := time.Now()
	go func() { _, _ = c.Write(make([]byte, 64<<10)) }()
	if _, err := io.ReadFull(c, make([]byte, 64<<10)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 250*time.Millisecond {
		t.Errorf("64 KiB at 200 KiB/s took %s", took)
	}
}

func TestAHeldDirectionGoesOnWhereItStood(t *testing.T) {
	w := newWire(t, nil)
	c := dialled(t, w)
	say(t, c, "before")
	hear(t, c, "before")
	w.Hold(Down, true)
	say(t, c, "during")
	silent(t, c, 50*time.Millisecond)
	w.Hold(Down, false)
	hear(t, c, "during")
}

func TestACutFallsAmongTheBytes(t *testing.T) {
	w := newWire(t, nil)
	c := dialled(t, w)
	other := dialled(t, w)
	say(t, other, "x")
	hear(t, other, "x")
	w.CutIn(Up, 5)
	say(t, c, "0123456789")
	got, _ := io.ReadAll(c)
	if len(got) > 5 || !bytes.HasPrefix([]byte("01234"), got) {
		t.Errorf("after a cut in 5 bytes came %q", got)
	}
	if _, err := other.Read(make([]byte, 1)); err == nil {
		t.Error("the other connection lives")
	}
	next := dialled(t, w)
	say(t, next, "again")
	hear(t, next, "again")
}

func TestAClosedWireRefusesUntilItIsHealed(t *testing.T) {
	w := newWire(t, nil)
	c := dialled(t, w)
	say(t, c, "x")
	hear(t, c, "x")
	w.Close()
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection lives")
	}
	if c, err := net.Dial("tcp", w.Address()); err == nil {
		c.Close()
		t.Error("a closed wire takes connections")
	}
	if err := w.Heal(); err != nil {
		t.Fatal(err)
	}
	c = dialled(t, w)
	say(t, c, "healed")
	hear(t, c, "healed")
	if w.Taken() != 2 {
		t.Errorf("%d connections", w.Taken())
	}
}

func frame(key int16, body string) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(2+len(body)))
	b = binary.BigEndian.AppendUint16(b, uint16(key))
	return string(b) + body
}

func TestOneKindOfRequestIsHeldAndOthersPass(t *testing.T) {
	frames := NewFrames()
	w := newWire(t, frames.Filter)
	frames.Hold(108)
	held, other := dialled(t, w), dialled(t, w)
	say(t, held, frame(3, "metadata")+frame(108, "register"))
	hear(t, held, frame(3, "metadata"))
	say(t, other, frame(1, "fetch"))
	hear(t, other, frame(1, "fetch"))
	for range 1000 {
		if frames.Seen(108) == 1 {
			break
		}
		say(t, other, frame(1, "fetch"))
		hear(t, other, frame(1, "fetch"))
	}
	silent(t, held, 20*time.Millisecond)
	frames.Release()
	hear(t, held, frame(108, "register"))
	if frames.Seen(108) != 1 || frames.Seen(3) != 1 {
		t.Errorf("seen %d and %d", frames.Seen(108), frames.Seen(3))
	}
}

func TestLostMessagesLeaveTheProtocolIntact(t *testing.T) {
	loss := NewLoss(1)
	w := newWire(t, loss.Filter)
	c := dialled(t, w)
	loss.Set(1)
	say(t, c, "PING\r\nPUB a.b 5\r\nhello\r\nHPUB a.b 4 9\r\n\r\n\r\nhello\r\nPONG\r\n")
	hear(t, c, "PING\r\nPONG\r\n")
	if loss.Dropped() != 2 {
		t.Errorf("%d dropped", loss.Dropped())
	}
	loss.Set(0)
	say(t, c, "MSG a.b 1 5\r\nhel")
	say(t, c, "lo\r\n")
	hear(t, c, "MSG a.b 1 5\r\nhello\r\n")
}
