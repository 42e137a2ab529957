package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// attemptTimeout bounds one attempt; the mirror's machine repeats with the same generation.
const attemptTimeout = 5 * time.Second

// The modes of an Unregister on the wire.
const (
	modeDemote = 0
	modeStop   = 1
)

// The modes of a SupersedeMirrorTopics.
const (
	modeSwitchover = 3
	modeFailover   = 4
)

// Register carries one attempt of a Register to the source: even attempts over the Kafka port, odd ones
// over NATS while its link is up. Only an answer is reported; its owner repeats what got none.
func (b *Bus) Register(cmd mirror.SendRegister) {
	path, prefix := b.options.Home.Register(cmd.Topic)
	req := messages.NewPtrRegisterMirrorSyncTopicRequest()
	req.MirrorName, req.ClusterId, req.ProducerIdPrefix = string(cmd.Mirror), string(b.options.Cluster), prefix
	t := messages.NewRegisterMirrorSyncTopicRequestTopicState()
	t.TopicId, t.TopicName, t.RecoveryPromotion = cmd.Topic, cmd.Name, cmd.Recovery
	t.Generation, t.EchoRelease = int64(cmd.Generation), int64(cmd.Echo)
	t.DataIncarnation, t.MinIsr, t.Partitions, t.Unsynced = cmd.Incarnation, cmd.MinISR, cmd.Partitions, b.options.Unsynced
	for _, id := range path {
		t.Path = append(t.Path, string(id))
	}
	req.Topics = append(req.Topics, t)
	b.attempt(cmd.Mirror, cmd.Attempt, b.newest(cmd.Mirror, cmd.Topic, cmd.Generation, func(ctx context.Context, way transport) error {
		resp, err := ask[*messages.RegisterMirrorSyncTopicResponse](ctx, way, cmd.Config, req)
		if unsupported(err) {
			b.options.Home.Tell(cmd.Mirror, mirror.RegisterAnswered{Topic: cmd.Topic, Generation: cmd.Generation,
				Code: perr.MirrorSyncVersionMismatch, Text: err.Error()})
			return nil
		}
		if err != nil {
			return err
		}
		return registered(b, cmd, resp)
	}))
}

func registered(b *Bus, cmd mirror.SendRegister, resp *messages.RegisterMirrorSyncTopicResponse) error {
	for i := range resp.Topics {
		r := &resp.Topics[i]
		if r.TopicName != cmd.Name || (core.TopicID(r.TopicId) != cmd.Topic && !core.TopicID(r.TopicId).IsZero()) {
			continue
		}
		a := mirror.RegisterAnswered{Topic: cmd.Topic, Generation: cmd.Generation, Code: perr.Code(r.ErrorCode), Text: text(r.ErrorMessage),
			Epoch: core.RegistrationEpoch(r.RegistrationEpoch), Number: core.ReleaseNumber(r.ReleaseNumber), Held: r.Held, Newest: core.Generation(r.NewestGeneration), Era: core.Era(r.Era)}
		for _, g := range r.Gates {
			a.Gates = append(a.Gates, mirror.GateStart{Partition: g.Partition, LeaderEpoch: core.LeaderEpoch(g.LeaderEpoch), Start: core.Offset(g.GateStart)})
		}
		b.options.Home.Tell(cmd.Mirror, a)
		return nil
	}
	return fmt.Errorf("the answer to Register leaves out topic %s", cmd.Name)
}

// Unregister carries one attempt of an Unregister. A stop goes over the Kafka port alone, on a connection of
// its own that ends with the deadline: what NATS has taken cannot be withdrawn, and an Unregister that
// arrives after we have opened un-gates a source that goes on acknowledging (C8, model W7).
func (b *Bus) Unregister(cmd mirror.SendUnregister) {
	req := messages.NewPtrUnregisterMirrorSyncTopicRequest()
	req.MirrorName, req.ClusterId, req.Mode = string(cmd.Mirror), string(b.options.Cluster), modeDemote
	if cmd.Stop {
		req.Mode = modeStop
	}
	t := messages.NewUnregisterMirrorSyncTopicRequestTopicState()
	t.TopicId, t.TopicName, t.Generation = cmd.Topic, cmd.Name, int64(cmd.Generation)
	req.Topics = append(req.Topics, t)
	send := b.newest(cmd.Mirror, cmd.Topic, cmd.Generation, func(ctx context.Context, way transport) error {
		resp, err := ask[*messages.UnregisterMirrorSyncTopicResponse](ctx, way, cmd.Config, req)
		if unsupported(err) {
			// It has never registered anybody.
			b.options.Home.Tell(cmd.Mirror, mirror.UnregisterAnswered{Topic: cmd.Topic, Generation: cmd.Generation,
				Code: perr.MirrorSyncVersionMismatch, Text: err.Error()})
			return nil
		}
		if err != nil {
			return err
		}
		return unregistered(b, cmd, resp)
	})
	if cmd.Deadline == 0 || !stopOverKafkaPortAlone {
		b.attempt(cmd.Mirror, cmd.Attempt, send)
		return
	}
	left := time.Duration(cmd.Deadline - b.options.Home.Now().Mono)
	b.begin(left, func(ctx context.Context) error {
		err := send(ctx, b.kafka)
		if unsent(err) {
			// The one try is over and left for nobody: waiting out its deadline would only make a failover
			// from a dead source slower.
			b.options.Home.Tell(cmd.Mirror, mirror.UnregisterAnswered{Topic: cmd.Topic, Generation: cmd.Generation,
				Code: perr.NetworkException, Text: err.Error()})
		}
		return err
	})
}

// Supersede carries one attempt of a switchover, or of the news of a failover, as Register does. What was out before is
// withdrawn: an Unregister that arrived after a failover would let the source acknowledge what this cluster lacks (I46).
func (b *Bus) Supersede(cmd mirror.SendSupersede) {
	req := messages.NewPtrSupersedeMirrorTopicsRequest()
	req.MirrorName, req.ClusterId, req.Mode = string(cmd.Mirror), string(b.options.Cluster), modeSwitchover
	if cmd.Failover {
		req.Mode = modeFailover
	}
	t := messages.NewSupersedeMirrorTopicsRequestTopicState()
	t.TopicId, t.TopicName, t.Generation, t.Era = cmd.Topic, cmd.Name, int64(cmd.Generation), int64(cmd.Era)
	req.Topics = append(req.Topics, t)
	b.attempt(cmd.Mirror, cmd.Attempt, b.newest(cmd.Mirror, cmd.Topic, cmd.Generation, func(ctx context.Context, way transport) error {
		resp, err := ask[*messages.SupersedeMirrorTopicsResponse](ctx, way, cmd.Config, req)
		if unsupported(err) {
			b.options.Home.Tell(cmd.Mirror, mirror.SupersedeAnswered{Topic: cmd.Topic, Generation: cmd.Generation, Code: perr.UnsupportedVersion, Text: err.Error()})
			return nil
		}
		if err != nil {
			return err
		}
		return superseded(b, cmd, resp)
	}))
}

func superseded(b *Bus, cmd mirror.SendSupersede, resp *messages.SupersedeMirrorTopicsResponse) error {
	a := mirror.SupersedeAnswered{Topic: cmd.Topic, Generation: cmd.Generation, Code: perr.Code(resp.ErrorCode), Text: text(resp.ErrorMessage)}
	for i := range resp.Topics {
		r := &resp.Topics[i]
		if core.TopicID(r.TopicId) != cmd.Topic {
			continue
		}
		a.Code, a.Text, a.Outcome = perr.Code(r.ErrorCode), text(r.ErrorMessage), mirror.Outcome(r.Outcome)
		a.Era, a.Newest = core.Era(r.Era), core.Generation(r.NewestGeneration)
		for _, e := range r.Ends {
			a.Ends = append(a.Ends, mirror.End{Partition: e.Partition, LEO: core.Offset(e.LogEndOffset)})
		}
		b.options.Home.Tell(cmd.Mirror, a)
		return nil
	}
	if a.Code == perr.None {
		return fmt.Errorf("the answer to a %s leaves out topic %s", "switchover or failover", cmd.Name)
	}
	b.options.Home.Tell(cmd.Mirror, a)
	return nil
}

// unsent reports whether a request is known to have left for nobody.
func unsent(err error) bool {
	var u interface{ Unsent() bool }
	return errors.As(err, &u) && u.Unsent()
}

// unsupported reports whether the source is one that knows no synchronous mirroring: that is an answer.
func unsupported(err error) bool {
	var u interface{ Unsupported() bool }
	return errors.As(err, &u) && u.Unsupported()
}

func unregistered(b *Bus, cmd mirror.SendUnregister, resp *messages.UnregisterMirrorSyncTopicResponse) error {
	a := mirror.UnregisterAnswered{Topic: cmd.Topic, Generation: cmd.Generation, Code: perr.Code(resp.ErrorCode), Text: text(resp.ErrorMessage)}
	for i := range resp.Topics {
		r := &resp.Topics[i]
		if core.TopicID(r.TopicId) != cmd.Topic {
			continue
		}
		a.Code, a.Text, a.Newest = perr.Code(r.ErrorCode), text(r.ErrorMessage), core.Generation(r.NewestGeneration)
		a.LEO = ends(r.Partitions)
	}
	b.options.Home.Tell(cmd.Mirror, a)
	return nil
}

// ends orders the LEOs at un-gating by partition. The indexes are the source's word: beyond what Kafka
// allows they are not believed.
func ends(list []messages.UnregisterMirrorSyncTopicResponseUngated) []core.Offset {
	var leos []core.Offset
	for _, p := range list {
		if p.Partition < 0 || int(p.Partition) >= maxPartitions {
			continue
		}
		for len(leos) <= int(p.Partition) {
			leos = append(leos, core.Unknown)
		}
		leos[p.Partition] = core.Offset(p.LogEndOffset)
	}
	return leos
}

const maxPartitions = 1 << 16

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// transport is one of the two ways of a command.
type transport func(ctx context.Context, config map[string]string, req kmsg.Request) (kmsg.Response, error)

func (b *Bus) kafka(ctx context.Context, config map[string]string, req kmsg.Request) (kmsg.Response, error) {
	return b.options.Ask(ctx, config, req)
}

func ask[R kmsg.Response](ctx context.Context, way transport, config map[string]string, req kmsg.Request) (R, error) {
	resp, err := way(ctx, config, req)
	if err != nil {
		var none R
		return none, err
	}
	r, ok := resp.(R)
	if !ok {
		return r, fmt.Errorf("answer has the wrong type %T", resp)
	}
	return r, nil
}

// attempt sends one attempt the way its number says.
func (b *Bus) attempt(name core.MirrorName, number int32, send attempt) {
	way := transport(b.kafka)
	if o := b.outlet(name); o != nil && number%2 == 1 && o.connected() {
		way = o.ask
	}
	if number > 0 {
		b.count.requestRetries.Add(1)
	}
	b.begin(attemptTimeout, func(ctx context.Context) error { return send(ctx, way) })
}

// begin runs one command beside everything else, if not too many are under way.
func (b *Bus) begin(limit time.Duration, run func(context.Context) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || limit <= 0 {
		b.count.expired.Add(1)
		return
	}
	select {
	case b.asking <- struct{}{}:
	default:
		b.count.expired.Add(1)
		return
	}
	b.count.requests.Add(1)
	b.running.Go(func() {
		defer func() { <-b.asking }()
		ctx, cancel := context.WithTimeout(b.ctx, limit)
		defer cancel()
		if err := run(ctx); err != nil {
			b.count.expired.Add(1)
			b.options.Log.Debug("no answer to a registration command", "error", err)
			return
		}
		b.count.requestAnswers.Add(1)
	})
}

// ask sends a request over NATS.
func (o *outlet) ask(ctx context.Context, _ map[string]string, req kmsg.Request) (kmsg.Response, error) {
	o.mu.Lock()
	l, source := o.link, o.source
	o.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("no link to the NATS of the source")
	}
	payload := messages.EncodeBus(&messages.ControlRequest{SourceCluster: string(source), DestinationCluster: string(o.bus.options.Cluster),
		ApiKey: req.Key(), ApiVersion: req.GetVersion(), Body: req.AppendTo(nil)})
	raw, err := l.request(ctx, controlSubject(string(source)), payload)
	if err != nil {
		return nil, err
	}
	msg, err := messages.DecodeBus(raw)
	if err != nil {
		o.bus.count.malformed.Add(1)
		return nil, err
	}
	a, ok := msg.(*messages.ControlAnswer)
	if !ok || a.ApiKey != req.Key() || a.ApiVersion != req.GetVersion() {
		o.bus.count.foreign.Add(1)
		return nil, fmt.Errorf("answer over the bus is not for this request")
	}
	if a.ErrorCode != 0 {
		return nil, fmt.Errorf("source does not take the request over NATS: %s: %s", perr.Code(a.ErrorCode).Name(), text(a.ErrorMessage))
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	return resp, resp.ReadFrom(a.Body)
}
