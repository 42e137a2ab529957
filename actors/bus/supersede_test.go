package bus

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// A switchover and the news of a failover take both ways in turn, like registrations, and their answers come back whole.
func TestATakeoverTakesBothWaysInTurn(t *testing.T) {
	w := newWorld(t)
	_, dst := w.pair(time.Hour)
	w.change(func() {
		w.handle = func(req kmsg.Request) kmsg.Response {
			r := req.(*messages.SupersedeMirrorTopicsRequest)
			resp := r.ResponseKind().(*messages.SupersedeMirrorTopicsResponse)
			out := messages.NewSupersedeMirrorTopicsResponseTopicResult()
			out.TopicId, out.TopicName, out.Outcome, out.Era = r.Topics[0].TopicId, r.Topics[0].TopicName, 2, r.Topics[0].Era+1
			out.Ends = []messages.SupersedeMirrorTopicsResponseEnd{{Partition: 1, LeaderEpoch: 4, LogEndOffset: 12}}
			resp.Topics = append(resp.Topics, out)
			return resp
		}
	})
	for attempt, failover := range []bool{false, true} {
		w.change(func() { w.told = nil })
		dst.Supersede(mirror.SendSupersede{Mirror: "dr", Topic: core.TopicID{9}, Name: "orders", Generation: 12, Era: 3, Failover: failover, Attempt: int32(attempt)})
		w.await("the answer", func() bool {
			if len(w.told) != 1 {
				return false
			}
			a, ok := w.told[0].(mirror.SupersedeAnswered)
			return ok && a.Topic == core.TopicID{9} && a.Generation == 12 && a.Outcome == mirror.Superseded && a.Era == 4 &&
				len(a.Ends) == 1 && a.Ends[0] == mirror.End{Partition: 1, LEO: 12}
		})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.kafka) != 1 || len(w.requests) != 1 {
		t.Fatalf("%d over the Kafka port, %d over NATS", len(w.kafka), len(w.requests))
	}
	first, second := w.kafka[0].(*messages.SupersedeMirrorTopicsRequest), w.requests[0].(*messages.SupersedeMirrorTopicsRequest)
	if first.Mode != modeSwitchover || second.Mode != modeFailover || second.ClusterId != "dst" || second.MirrorName != "dr" || second.Topics[0].Era != 3 {
		t.Errorf("sent %+v and %+v", first, second)
	}
}

// A source that does not know the request has answered: it cannot hand over, and will not stop.
func TestASourceWithoutSwitchoverIsAnAnswer(t *testing.T) {
	w := newWorld(t)
	dst := w.open("dst", "127.0.0.1:0", time.Hour)
	t.Cleanup(dst.Close)
	w.change(func() { w.down, w.why = true, unknownCall{} })
	dst.Supersede(mirror.SendSupersede{Mirror: "dr", Topic: core.TopicID{9}, Name: "orders", Generation: 12})
	w.await("the refusal", func() bool {
		if len(w.told) != 1 {
			return false
		}
		a, ok := w.told[0].(mirror.SupersedeAnswered)
		return ok && a.Code == perr.UnsupportedVersion && a.Generation == 12 && a.Text != ""
	})
}

// I46: an Unregister of a demotion that is still out ends, with its connection, before the news of a failover leaves: the
// source would acknowledge what waits for us, which this cluster does not have.
func TestAFailoverWithdrawsAnUnregisterThatIsOut(t *testing.T) {
	w := newWorld(t)
	dst := w.open("dst", "127.0.0.1:0", time.Hour)
	t.Cleanup(dst.Close)
	began, ended := make(chan kmsg.Request, 8), make(chan error, 8)
	dst.options.Ask = func(ctx context.Context, _ map[string]string, req kmsg.Request) (kmsg.Response, error) {
		began <- req
		if r, ok := req.(*messages.SupersedeMirrorTopicsRequest); ok {
			resp := r.ResponseKind().(*messages.SupersedeMirrorTopicsResponse)
			out := messages.NewSupersedeMirrorTopicsResponseTopicResult()
			out.TopicId, out.Outcome, out.Era = r.Topics[0].TopicId, 2, 1
			resp.Topics = append(resp.Topics, out)
			return resp, nil
		}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, ctx.Err()
	}
	dst.Unregister(mirror.SendUnregister{Mirror: "dr", Topic: core.TopicID{9}, Name: "orders", Generation: 12})
	<-began
	dst.Supersede(mirror.SendSupersede{Mirror: "dr", Topic: core.TopicID{9}, Name: "orders", Generation: 13, Era: 1, Failover: true})
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the Unregister ended by %v, not because of the failover", err)
	}
	w.await("the answer", func() bool { return len(w.told) == 1 })
}
