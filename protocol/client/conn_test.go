package client

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"lockstep/protocol"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// broker is a small server: it answers ApiVersions and hands everything else to handle, which may answer later,
// in any order, or never.
type broker struct {
	addr     string
	newest   int16 // of ApiVersions
	shown    map[int16]span
	handle   func(h protocol.Header, req kmsg.Request, reply func(kmsg.Response), raw net.Conn)
	requests chan kmsg.Request
}

func serve(t *testing.T, b *broker) *broker {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.addr = l.Addr().String()
	b.requests = make(chan kmsg.Request, 100)
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { b.connection(c) })
		}
	})
	t.Cleanup(func() { l.Close(); conns.Wait() })
	return b
}

func (b *broker) connection(c net.Conn) {
	defer c.Close()
	var write sync.Mutex
	for {
		frame, err := protocol.ReadFrame(c, 1<<20)
		if err != nil {
			return
		}
		h, rest, err := protocol.ParseHeader(frame)
		if err != nil {
			return
		}
		reply := func(r kmsg.Response) {
			write.Lock()
			defer write.Unlock()
			c.Write(protocol.AppendResponse(nil, h.Correlation, r))
		}
		if h.Key == messages.KeyApiVersions {
			reply(b.apiVersions(h.Version))
			continue
		}
		req, err := protocol.DecodeRequest(h, rest)
		if err != nil {
			return
		}
		b.requests <- req
		b.handle(h, req, reply, c)
	}
}

func (b *broker) apiVersions(version int16) kmsg.Response {
	r := kmsg.NewPtrApiVersionsResponse()
	r.Version = version
	if version > b.newest {
		r.Version, r.ErrorCode = 0, int16(perr.UnsupportedVersion)
	}
	for k, s := range b.shown {
		r.ApiKeys = append(r.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: k, MinVersion: s.min, MaxVersion: s.max})
	}
	return r
}

var everything = map[int16]span{1: {4, 20}, 3: {0, 13}, 18: {0, 4}}

func dial(t *testing.T, b *broker, o Options) *Conn {
	t.Helper()
	c, err := Dial(t.Context(), b.addr, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func echo(h protocol.Header, req kmsg.Request, reply func(kmsg.Response), _ net.Conn) {
	reply(req.ResponseKind())
}

func TestVersionsArePinnedAndKeysOfMirroringAreSent(t *testing.T) {
	b := serve(t, &broker{newest: 4, shown: everything, handle: echo})
	c := dial(t, b, Options{ClientID: "test"})
	fetch := messages.NewPtrFetchRequest()
	fetch.Version = 20
	if resp, err := Do[*messages.FetchResponse](t.Context(), c, fetch); err != nil || resp.Version != 20 {
		t.Fatalf("%v %v", resp, err)
	}
	if got := (<-b.requests).(*messages.FetchRequest); got.Version != 20 {
		t.Fatalf("arrived as version %d", got.Version)
	}
	register := messages.NewPtrRegisterMirrorSyncTopicRequest()
	if _, err := c.Do(t.Context(), register); err != nil {
		t.Fatalf("a key that is not shown, but is of mirroring: %v", err)
	}
	for _, req := range []kmsg.Request{kmsg.NewPtrDescribeConfigsRequest(), &messages.FetchRequest{Version: 3}} {
		if _, err := c.Do(t.Context(), req); !errors.Is(err, ErrUnsupported) {
			t.Fatalf("%T version %d: %v", req, req.GetVersion(), err)
		}
	}
	if v, err := c.Pick(messages.KeyFetch, 18); v != 18 || err != nil {
		t.Fatalf("%d %v", v, err)
	}
	if v, err := c.Pick(messages.KeyMetadata, 99); v != 13 || err != nil {
		t.Fatalf("%d %v", v, err)
	}
	if _, err := c.Pick(messages.KeyFetch, 3); err == nil || !strings.Contains(err.Error(), "4 to 20") {
		t.Fatalf("the range is not named: %v", err)
	}
}

func TestAnOldBrokerIsAskedAgainInItsOwnVersion(t *testing.T) {
	for _, newest := range []int16{0, 1, 2} {
		b := serve(t, &broker{newest: newest, shown: map[int16]span{18: {0, newest}, 1: {4, 11}}, handle: echo})
		c := dial(t, b, Options{})
		if _, max, ok := c.Versions(messages.KeyFetch); max != 11 || !ok {
			t.Fatalf("newest %d: %d %v", newest, max, ok)
		}
	}
}

func TestAnswersFindTheirRequestInAnyOrder(t *testing.T) {
	var mu sync.Mutex
	var held []func()
	const n = 20
	b := serve(t, &broker{newest: 4, shown: everything, handle: func(_ protocol.Header, req kmsg.Request, reply func(kmsg.Response), _ net.Conn) {
		mu.Lock()
		defer mu.Unlock()
		resp := req.ResponseKind().(*messages.FetchResponse)
		resp.SessionId = req.(*messages.FetchRequest).SessionId
		held = append(held, func() { reply(resp) })
		if len(held) == n {
			for i := n - 1; i >= 0; i-- {
				held[i]()
			}
		}
	}})
	c := dial(t, b, Options{})
	var all sync.WaitGroup
	for i := range int32(n) {
		all.Go(func() {
			req := messages.NewPtrFetchRequest()
			req.Version, req.SessionId = 16, i
			resp, err := Do[*messages.FetchResponse](t.Context(), c, req)
			if err != nil || resp.SessionId != i {
				t.Errorf("request %d: %v %v", i, resp, err)
			}
		})
	}
	all.Wait()
}

func TestAnAbandonedRequestDoesNotBreakTheNext(t *testing.T) {
	release := make(chan struct{})
	b := serve(t, &broker{newest: 4, shown: everything, handle: func(h protocol.Header, req kmsg.Request, reply func(kmsg.Response), _ net.Conn) {
		if req.Key() == messages.KeyFetch {
			<-release
		}
		reply(req.ResponseKind())
	}})
	c := dial(t, b, Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	fetch := messages.NewPtrFetchRequest()
	fetch.Version = 16
	if _, err := c.Do(ctx, fetch); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%v", err)
	}
	close(release)
	md := kmsg.NewPtrMetadataRequest()
	md.Version = 12
	if _, err := c.Do(t.Context(), md); err != nil {
		t.Fatalf("after an abandoned request: %v", err)
	}
}

func TestABrokenConnectionFailsEveryCallWithTheReason(t *testing.T) {
	answers := map[string]func(net.Conn, int32){
		"closed":              func(c net.Conn, _ int32) { c.Close() },
		"unknown correlation": func(c net.Conn, id int32) { c.Write([]byte{0, 0, 0, 4, 0, 0, 1, byte(id)}) },
		"oversize":            func(c net.Conn, _ int32) { c.Write([]byte{0x7f, 0xff, 0xff, 0xff}) },
		"malformed": func(c net.Conn, id int32) {
			c.Write(binary.BigEndian.AppendUint32([]byte{0, 0, 0, 9}, uint32(id)))
			c.Write([]byte{1, 2, 3, 4, 5})
		},
	}
	for what, answer := range answers {
		b := serve(t, &broker{newest: 4, shown: everything, handle: func(h protocol.Header, _ kmsg.Request, _ func(kmsg.Response), raw net.Conn) {
			answer(raw, h.Correlation)
		}})
		c := dial(t, b, Options{MaxAnswer: 1 << 20})
		md := kmsg.NewPtrMetadataRequest()
		md.Version = 12
		for range 2 {
			if _, err := c.Do(t.Context(), md); err == nil {
				t.Fatalf("%s: answered", what)
			}
		}
		<-c.Broken()
		if c.Err() == nil {
			t.Fatalf("%s: no reason kept", what)
		}
	}
}

func TestCloseFailsWhatWaits(t *testing.T) {
	b := serve(t, &broker{newest: 4, shown: everything, handle: func(protocol.Header, kmsg.Request, func(kmsg.Response), net.Conn) {}})
	c := dial(t, b, Options{})
	done := make(chan error)
	go func() {
		fetch := messages.NewPtrFetchRequest()
		fetch.Version = 16
		_, err := c.Do(t.Context(), fetch)
		done <- err
	}()
	<-b.requests
	c.Close()
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Fatalf("%v", err)
	}
	if _, err := c.Do(t.Context(), &messages.FetchRequest{Version: 16}); !errors.Is(err, ErrClosed) {
		t.Fatalf("%v", err)
	}
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if _, err := Dial(t.Context(), l.Addr().String(), Options{}); err == nil || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Fatalf("%v", err)
	}
}

// kgo itself can send our types, once it is told their newest versions.
func TestKgoSendsOurTypes(t *testing.T) {
	shown := map[int16]span{3: {0, 13}, 18: {0, 4}, 99: {0, 0}}
	b := serve(t, &broker{newest: 4, shown: shown, handle: echo})
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(messages.KeyDescribeClusterMirrors, 0)
	k, err := kgo.NewClient(kgo.SeedBrokers(b.addr), kgo.MaxVersions(versions))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	req := messages.NewPtrDescribeClusterMirrorsRequest()
	req.MirrorNames = []string{"m"}
	resp, err := k.SeedBrokers()[0].Request(t.Context(), req)
	if _, ok := resp.(*messages.DescribeClusterMirrorsResponse); !ok || err != nil {
		t.Fatalf("%T %v", resp, err)
	}
	if got := (<-b.requests).(*messages.DescribeClusterMirrorsRequest); len(got.MirrorNames) != 1 {
		t.Fatalf("arrived as %+v", got)
	}
}
