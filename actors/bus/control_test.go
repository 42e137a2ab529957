package bus

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

func register(attempt int32) mirror.SendRegister {
	return mirror.SendRegister{Mirror: "dr", Topic: core.TopicID{9}, Name: "orders", Generation: 12, Echo: 3, Recovery: true,
		Incarnation: core.Incarnation{4}, MinISR: 2, Attempt: attempt}
}

func isRegistered(c mirror.Command) bool {
	a, ok := c.(mirror.RegisterAnswered)
	return ok && a.Topic == core.TopicID{9} && a.Generation == 12 && a.Code == 0 && a.Epoch == 5 &&
		len(a.Gates) == 1 && a.Gates[0] == mirror.GateStart{Partition: 2, LeaderEpoch: 3, Start: 44}
}

func (w *world) awaitRegistered() {
	w.t.Helper()
	w.await("the answer", func() bool { return len(w.told) > 0 && isRegistered(w.told[len(w.told)-1]) })
}

func TestCommandsTakeBothWaysInTurn(t *testing.T) {
	w := newWorld(t)
	_, dst := w.pair(time.Hour)
	dst.Register(register(0))
	w.awaitRegistered()
	w.mu.Lock()
	if len(w.kafka) != 1 || len(w.requests) != 0 {
		t.Errorf("attempt 0: %d over the Kafka port, %d over NATS", len(w.kafka), len(w.requests))
	}
	w.told = nil
	w.mu.Unlock()
	dst.Register(register(1))
	w.awaitRegistered()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.requests) != 1 {
		t.Fatalf("attempt 1: %d over NATS", len(w.requests))
	}
	r := w.requests[0].(*messages.RegisterMirrorSyncTopicRequest)
	in := r.Topics[0]
	if r.ClusterId != "dst" || r.MirrorName != "dr" || r.ProducerIdPrefix != 77 || in.Generation != 12 || in.EchoRelease != 3 ||
		!in.RecoveryPromotion || in.MinIsr != 2 || len(in.Path) != 2 || in.Path[0] != "dst" {
		t.Errorf("the Register that arrived is %+v", r)
	}
}

// NATS down: everything still works over the Kafka port.
func TestWithoutNATSCommandsUseTheKafkaPort(t *testing.T) {
	w := newWorld(t)
	dst := w.open("dst", "127.0.0.1:0", time.Hour)
	t.Cleanup(dst.Close)
	for attempt := range int32(2) {
		w.change(func() { w.told = nil })
		dst.Register(register(attempt))
		w.awaitRegistered()
	}
}

func TestACommandWithoutAnswerIsCountedAndLeftToItsOwner(t *testing.T) {
	w := newWorld(t)
	dst := w.open("dst", "127.0.0.1:0", time.Hour)
	t.Cleanup(dst.Close)
	w.change(func() { w.down = true })
	dst.Register(register(0))
	eventually(t, "counted", func() bool { return dst.Counts().RequestExpired > 0 })
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.told) != 0 {
		t.Errorf("told %v without an answer", w.told)
	}
}

func TestAnAnswerForAnotherTopicIsNoAnswer(t *testing.T) {
	w := newWorld(t)
	_, dst := w.pair(time.Hour)
	honest := w.handle
	w.change(func() {
		w.handle = func(req kmsg.Request) kmsg.Response {
			resp := honest(req).(*messages.RegisterMirrorSyncTopicResponse)
			resp.Topics[0].TopicId = core.TopicID{66}
			return resp
		}
	})
	dst.Register(register(1))
	w.await("the request", func() bool { return len(w.requests) == 1 })
	w.change(func() { w.handle = honest })
	dst.Register(register(0))
	w.awaitRegistered()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.told) != 1 {
		t.Errorf("told %v", w.told)
	}
}

// C8, model W7: a stop's Unregister that NATS has taken might be delivered after we have opened.
func TestAStopIsSentOverTheKafkaPortAlone(t *testing.T) {
	w := newWorld(t)
	_, dst := w.pair(time.Hour)
	stop := mirror.SendUnregister{Mirror: "dr", Topic: core.TopicID{9}, Name: "orders", Generation: 13, Stop: true, Attempt: 1}
	stop.Deadline = w.Now().Mono + int64(5*time.Second)
	dst.Unregister(stop)
	w.await("the answer", func() bool { return len(w.told) == 1 })
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.told[0].(mirror.UnregisterAnswered)
	if len(w.kafka) != 1 || len(w.requests) != 0 || w.kafka[0].(*messages.UnregisterMirrorSyncTopicRequest).Mode != modeStop {
		t.Errorf("%d over the Kafka port, %d over NATS", len(w.kafka), len(w.requests))
	}
	if a.Generation != 13 || a.Code != 0 || len(a.LEO) != 2 || a.LEO[0] != core.Unknown || a.LEO[1] != 12 {
		t.Errorf("answered %+v; partitions no topic can have must be left out", a)
	}
}

func TestAStopIsNotSentAfterItsDeadline(t *testing.T) {
	w := newWorld(t)
	_, dst := w.pair(time.Hour)
	dst.Unregister(mirror.SendUnregister{Mirror: "dr", Topic: core.TopicID{9}, Name: "orders", Generation: 13, Stop: true, Deadline: w.Now().Mono - 1})
	if c := dst.Counts(); c.RequestExpired != 1 || c.Requests != 0 {
		t.Errorf("counted %+v", c)
	}
}

// Nobody knows who publishes on NATS: what an authorizer has to decide goes to the Kafka port, whoever asks first by NATS.
func TestWithAnAuthorizerCommandsAreForTheKafkaPort(t *testing.T) {
	w := newWorld(t)
	w.authorized = true
	_, dst := w.pair(time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := dst.outlet("dr").ask(ctx, nil, messages.NewPtrRegisterMirrorSyncTopicRequest())
	if err == nil || !strings.Contains(err.Error(), "on its Kafka port") {
		t.Errorf("over NATS: %v", err)
	}
	w.mu.Lock()
	if len(w.requests) > 0 {
		t.Errorf("%v came through", w.requests)
	}
	w.mu.Unlock()
	dst.Register(register(2)) // over Kafka
	w.awaitRegistered()
}

func TestOnlyRegistrationsAreServedOverTheBus(t *testing.T) {
	w := newWorld(t)
	src, _ := w.pair(time.Hour)
	nc, err := nats.Connect(src.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	m, err := nc.Request(controlSubject("src"), messages.EncodeBus(&messages.ControlRequest{SourceCluster: "src", DestinationCluster: "dst", ApiKey: messages.KeyCreateTopics, ApiVersion: 5}), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	msg, err := messages.DecodeBus(m.Data)
	if err != nil {
		t.Fatal(err)
	}
	if a := msg.(*messages.ControlAnswer); perr.Code(a.ErrorCode) != perr.InvalidRequest || a.ErrorMessage == nil {
		t.Errorf("answered %+v", a)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.requests) != 0 {
		t.Errorf("CreateTopics came through: %v", w.requests)
	}
}

type refused struct{}

func (refused) Error() string { return "connection refused" }
func (refused) Unsent() bool  { return true }

// C8: the one Unregister of a stop that could not leave is over at once; one that may have left keeps its
// deadline, because what is still on its way may yet un-gate the source.
func TestAStopThatReachedNobodyGoesOnAtOnce(t *testing.T) {
	w := newWorld(t)
	dst := w.open("dst", "127.0.0.1:0", time.Hour)
	t.Cleanup(dst.Close)
	stop := mirror.SendUnregister{Mirror: "dr", Topic: core.TopicID{9}, Name: "orders", Generation: 13, Stop: true,
		Deadline: dst.options.Home.Now().Mono + int64(time.Minute)}
	w.change(func() { w.down, w.why = true, refused{} })
	dst.Unregister(stop)
	w.await("the end of the try", func() bool {
		return len(w.told) > 0 && w.told[len(w.told)-1].(mirror.UnregisterAnswered).Code == perr.NetworkException
	})
	w.change(func() { w.told, w.why = nil, errors.New("connection reset") })
	dst.Unregister(stop)
	w.await("the second try", func() bool { return len(w.kafka) == 2 })
	dst.Close()
	w.change(func() {
		if len(w.told) != 0 {
			t.Errorf("told %+v of a request that may still arrive", w.told)
		}
	})
}

type unknownCall struct{}

func (unknownCall) Error() string     { return "the source does not know API key 108" }
func (unknownCall) Unsupported() bool { return true }

// A source that knows no registrations answers by that: the topic stays ASYNC, and nothing is asked for ever.
func TestASourceWithoutRegistrationsIsAnAnswer(t *testing.T) {
	w := newWorld(t)
	dst := w.open("dst", "127.0.0.1:0", time.Hour)
	t.Cleanup(dst.Close)
	w.change(func() { w.down, w.why = true, unknownCall{} })
	dst.Register(register(0))
	w.await("the refusal", func() bool {
		if len(w.told) != 1 {
			return false
		}
		a := w.told[0].(mirror.RegisterAnswered)
		return a.Code == perr.MirrorSyncVersionMismatch && a.Generation == 12 && a.Text != ""
	})
	dst.Unregister(mirror.SendUnregister{Mirror: "dr", Topic: core.TopicID{9}, Name: "orders", Generation: 13})
	w.await("the end of the demotion", func() bool {
		if len(w.told) != 2 {
			return false
		}
		a := w.told[1].(mirror.UnregisterAnswered)
		return a.Code == perr.MirrorSyncVersionMismatch && a.Generation == 13
	})
}

// F16, model C4, at a source that reads no numbers: a Register that is still out is withdrawn, with its connection,
// before the Unregister of a later demotion leaves. A retry of the same command leaves the earlier one alone.
func TestANewerCommandWithdrawsTheOlder(t *testing.T) {
	w := newWorld(t)
	dst := w.open("dst", "127.0.0.1:0", time.Hour)
	t.Cleanup(dst.Close)
	began, ended := make(chan kmsg.Request, 8), make(chan error, 8)
	dst.options.Ask = func(ctx context.Context, _ map[string]string, req kmsg.Request) (kmsg.Response, error) {
		began <- req
		if u, ok := req.(*messages.UnregisterMirrorSyncTopicRequest); ok {
			return unregister(u), nil
		}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, ctx.Err()
	}
	dst.Register(register(0))
	dst.Register(register(1))
	<-began
	<-began
	select {
	case err := <-ended:
		t.Fatalf("a retry withdrew what it repeats: %v", err)
	default:
	}
	dst.Unregister(mirror.SendUnregister{Mirror: "dr", Topic: core.TopicID{9}, Name: "orders", Generation: 13})
	for range 2 {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the Register ended by %v, not because the Unregister began", err)
		}
	}
	w.await("the answer", func() bool { return len(w.told) == 1 })
}
