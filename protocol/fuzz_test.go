package protocol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/messages"
	"lockstep/testkit/decoding"
)

// message is what requests and responses have in common.
type message interface {
	GetVersion() int16
	SetVersion(int16)
	AppendTo([]byte) []byte
	ReadFrom([]byte) error
}

var foreign = decoding.Bound{PerByte: Growth, Spare: 4 << 10}

// everyRequest gives a request of each API in each version.
func everyRequest(f *testing.F, give func(kmsg.Request, *rand.Rand)) {
	for _, a := range messages.APIs() {
		for version := a.Min; version <= a.Max; version++ {
			req, err := messages.NewRequest(a.Key, version)
			if err != nil {
				f.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(uint64(a.Key), uint64(version)))
			decoding.Fill(rng, req)
			req.SetVersion(version)
			give(req, rng)
		}
	}
}

// stable demands that what was accepted has one form: written, it reads as the same and is written the same.
func stable(t *testing.T, m, back message) {
	t.Helper()
	once := m.AppendTo(nil)
	back.SetVersion(m.GetVersion())
	if err := back.ReadFrom(once); err != nil {
		t.Fatalf("%T version %d does not read what it wrote: %v", m, m.GetVersion(), err)
	}
	if again := back.AppendTo(nil); !bytes.Equal(again, once) {
		t.Fatalf("%T version %d is written as\n%x and then as\n%x", m, m.GetVersion(), once, again)
	}
}

// Whatever a client sends in a frame, for any API: header and body.
func FuzzRequest(f *testing.F) {
	client := "a client"
	everyRequest(f, func(req kmsg.Request, _ *rand.Rand) { f.Add(AppendRequest(nil, 7, &client, req)[4:]) })
	f.Fuzz(func(t *testing.T, frame []byte) {
		var h Header
		var req kmsg.Request
		var err error
		foreign.Check(t, len(frame), func() {
			var rest []byte
			if h, rest, err = ParseHeader(frame); err == nil {
				req, err = DecodeRequest(h, rest)
			}
		})
		if err != nil {
			return
		}
		back, err := messages.NewRequest(h.Key, h.Version)
		if err != nil {
			t.Fatal(err)
		}
		stable(t, req, back)
	})
}

// Whatever a broker answers, to any API that we ask or serve.
func FuzzResponse(f *testing.F) {
	everyRequest(f, func(req kmsg.Request, rng *rand.Rand) {
		resp := req.ResponseKind()
		resp.SetVersion(req.GetVersion())
		decoding.Fill(rng, resp)
		f.Add(req.Key(), req.GetVersion(), AppendResponse(nil, 7, resp)[4:])
	})
	f.Fuzz(func(t *testing.T, key, version int16, frame []byte) {
		req, err := messages.NewRequest(key, version)
		if err != nil {
			return
		}
		resp := req.ResponseKind()
		foreign.Check(t, len(frame), func() {
			resp = req.ResponseKind()
			resp.SetVersion(version)
			err = DecodeResponse(frame, resp)
		})
		if err == nil {
			stable(t, resp, req.ResponseKind())
		}
	})
}

// Whatever a connection carries: frames come out whole, and room is made only for what has come.
func FuzzFrame(f *testing.F) {
	f.Add([]byte{0, 0, 0, 2, 'h', 'i', 0, 0, 0, 0}, uint32(100))
	f.Add([]byte{0x7f, 0xff, 0xff, 0xff, 1}, uint32(1<<30))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff}, uint32(0))
	f.Fuzz(func(t *testing.T, stream []byte, limit uint32) {
		limit &= 1<<31 - 1
		read := func() (frames [][]byte, err error) {
			for r := bytes.NewReader(stream); ; {
				frame, err := ReadFrame(r, int(limit))
				if err != nil {
					return frames, err
				}
				frames = append(frames, frame)
			}
		}
		var frames [][]byte
		var err error
		decoding.Bound{PerByte: 16, Spare: frameStep + 4<<10}.Check(t, len(stream), func() { frames, err = read() })
		var whole []byte
		for _, frame := range frames {
			if len(frame) > int(limit) {
				t.Fatalf("a frame of %d bytes, limit %d", len(frame), limit)
			}
			whole = append(binary.BigEndian.AppendUint32(whole, uint32(len(frame))), frame...)
		}
		if !bytes.HasPrefix(stream, whole) || errors.Is(err, io.EOF) && len(whole) != len(stream) {
			t.Fatalf("%x gives %x, %v", stream, whole, err)
		}
	})
}
