package protocol

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/messages"
	"lockstep/testkit/decoding"
)

func TestAFrameIsReadWholeOrNotAtAll(t *testing.T) {
	body := bytes.Repeat([]byte("abc"), 100_000)
	framed := append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
	stream := bytes.NewReader(append(bytes.Clone(framed), framed...))
	for range 2 {
		got, err := ReadFrame(stream, len(body))
		if err != nil || !bytes.Equal(got, body) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
	if _, err := ReadFrame(stream, 10); !errors.Is(err, io.EOF) {
		t.Fatalf("at the end: %v", err)
	}
	if _, err := ReadFrame(bytes.NewReader(framed), len(body)-1); !errors.Is(err, ErrFrameTooLarge) {
		t.Fatalf("above the limit: %v", err)
	}
	if _, err := ReadFrame(bytes.NewReader([]byte{0xff, 0xff, 0xff, 0xff}), 10); err == nil {
		t.Fatal("a negative length is accepted")
	}
	for _, cut := range []int{2, 4, 5, len(framed) - 1} {
		if _, err := ReadFrame(bytes.NewReader(framed[:cut]), len(body)); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
}

func TestAPrefixThatLiesAllocatesNothing(t *testing.T) {
	lie := append(binary.BigEndian.AppendUint32(nil, 1<<30), make([]byte, 100)...)
	if n := decoding.Allocated(func() { ReadFrame(bytes.NewReader(lie), 1<<30) }); n > 1<<20 {
		t.Fatalf("%d bytes allocated for 100", n)
	}
}

// Every count in every request claims two thousand million elements, in turn: decoding fails, and cheaply.
func TestACountThatLiesAllocatesNothing(t *testing.T) {
	for _, a := range messages.APIs() {
		for v := a.Min; v <= a.Max; v++ {
			h := Header{Key: a.Key, Version: v}
			req, err := messages.NewRequest(a.Key, v)
			if err != nil {
				t.Fatal(err)
			}
			if d, ok := req.(interface{ Default() }); ok {
				d.Default()
			}
			body := req.AppendTo(nil)
			if req.IsFlexible() {
				body = append([]byte{0}, body...)
			}
			for at := range body {
				for _, claim := range [][]byte{{0x7f, 0xff, 0xff, 0xf0}, {0xf0, 0xff, 0xff, 0xff, 0x07}, {0xff, 0xff, 0xff, 0xff, 0x0f}} {
					lie := append(append(bytes.Clone(body[:at]), claim...), make([]byte, 64)...)
					if n := decoding.Allocated(func() { DecodeRequest(h, lie) }); n > 1<<20 {
						t.Fatalf("%s version %d: %d bytes allocated for %d", a.Name, v, n, len(lie))
					}
				}
			}
		}
	}
}

func TestRequestsAndResponsesComeThroughTheirFrames(t *testing.T) {
	id := "client"
	for _, a := range messages.APIs() {
		for v := a.Min; v <= a.Max; v++ {
			req, err := messages.NewRequest(a.Key, v)
			if err != nil {
				t.Fatal(err)
			}
			for _, client := range []*string{nil, &id} {
				frame, err := ReadFrame(bytes.NewReader(AppendRequest([]byte{}, 7, client, req)), 1<<20)
				if err != nil {
					t.Fatal(err)
				}
				h, rest, err := ParseHeader(frame)
				if err != nil || h.Key != a.Key || h.Version != v || h.Correlation != 7 || !reflect.DeepEqual(h.ClientID, client) {
					t.Fatalf("%s version %d: %+v %v", a.Name, v, h, err)
				}
				got, err := DecodeRequest(h, rest)
				if err != nil || !bytes.Equal(got.AppendTo(nil), req.AppendTo(nil)) || got.GetVersion() != v {
					t.Fatalf("%s version %d: %v", a.Name, v, err)
				}
			}
			resp := req.ResponseKind()
			frame, err := ReadFrame(bytes.NewReader(AppendResponse(nil, 9, resp)), 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if id, err := ResponseCorrelation(frame); id != 9 || err != nil {
				t.Fatalf("%d %v", id, err)
			}
			again := req.ResponseKind()
			if err := DecodeResponse(frame, again); err != nil || !bytes.Equal(again.AppendTo(nil), resp.AppendTo(nil)) {
				t.Fatalf("%s version %d: %v", a.Name, v, err)
			}
		}
	}
}

// The same bytes as franz-go's own formatter, and an ApiVersions answer whose header has no tags at any
// version.
func TestHeadersAreThoseOfKafka(t *testing.T) {
	id := "me"
	req := kmsg.NewPtrMetadataRequest()
	for _, v := range []int16{1, 9} {
		req.Version = v
		want := kmsg.NewRequestFormatter(kmsg.FormatterClientID(id)).AppendRequest(nil, req, 3)
		if got := AppendRequest(nil, 3, &id, req); !bytes.Equal(got, want) {
			t.Fatalf("version %d: %x, want %x", v, got, want)
		}
	}
	resp := kmsg.NewPtrApiVersionsResponse()
	for v := int16(0); v <= 4; v++ {
		resp.Version = v
		if got, want := AppendResponse(nil, 1, resp)[8:], resp.AppendTo(nil); !bytes.Equal(got, want) {
			t.Fatalf("version %d: %x, want %x", v, got, want)
		}
	}
}

func TestAMalformedHeaderIsAnError(t *testing.T) {
	for _, frame := range [][]byte{nil, {0}, {0, 18, 0, 3, 0, 0, 0}, {0, 18, 0, 3, 0, 0, 0, 5}, {0, 18, 0, 3, 0, 0, 0, 5, 0, 9, 'a'}, {0, 18, 0, 3, 0, 0, 0, 5, 0xff, 0xfe}} {
		h, _, err := ParseHeader(frame)
		if err == nil {
			t.Errorf("%x is accepted", frame)
		}
		if len(frame) >= 8 && h.Correlation != 5 {
			t.Errorf("%x: the correlation id is lost", frame)
		}
	}
	for _, h := range []Header{{Key: 4, Version: 0}, {Key: 0, Version: 2}, {Key: 1, Version: 21}, {Key: 1000}} {
		if _, err := DecodeRequest(h, nil); err == nil {
			t.Errorf("%+v is decoded", h)
		}
	}
	if _, err := DecodeRequest(Header{Key: messages.KeyMetadata, Version: 12}, make([]byte, 5<<20)); !errors.Is(err, ErrFrameTooLarge) {
		t.Errorf("a Metadata request of 5 MiB: %v", err)
	}
}

// Random changes of valid requests never panic.
func TestDecodingSurvivesDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, a := range messages.APIs() {
		for v := a.Min; v <= a.Max; v++ {
			req, _ := messages.NewRequest(a.Key, v)
			body := append(req.AppendTo([]byte{0}), make([]byte, 40)...)
			for range 300 {
				p := bytes.Clone(body)[:1+rng.IntN(len(body))]
				for range 1 + rng.IntN(4) {
					p[rng.IntN(len(p))] = byte(rng.Uint32())
				}
				DecodeRequest(Header{Key: a.Key, Version: v}, p)
			}
		}
	}
}

func TestTheTableOfThisPackageIsTheTableOfApis(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("schemas/apis.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Key      int
		Name     string
		Min, Max int
		Types    string
		Handled  string
	}
	if err := json.Unmarshal(raw, &rows); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		want := fmt.Sprintf("//\t%-26s %3d  %-8s  %-5s  %s\n", r.Name, r.Key, fmt.Sprintf("%d-%d", r.Min, r.Max), r.Types, r.Handled[strings.LastIndexByte(r.Handled, '/')+1:])
		if !bytes.Contains(doc, []byte(want)) {
			t.Errorf("doc.go lacks the line %q", want)
		}
	}
}
