package datacenter

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"lockstep/clusterd/acked"
)

// Load is an ordinary idempotent acks=all producer at full speed that remembers every acknowledgement.
type Load struct {
	*acked.Producer
	stop  context.CancelFunc
	ended chan struct{}
}

// ProduceUnderLoad starts it. The brokers wait two seconds for acks=all, so that a dead destination
// shows soon and the client tries again. more are options of the client.
func (d *Datacenter) ProduceUnderLoad(t T, topic string, more ...kgo.Opt) *Load {
	t.Helper()
	return d.ProduceAt(t, 0, topic, more...)
}

// ProduceAt is ProduceUnderLoad with an even rate, in records per second.
func (d *Datacenter) ProduceAt(t T, rate int, topic string, more ...kgo.Opt) *Load {
	t.Helper()
	opts := append([]kgo.Opt{kgo.ProduceRequestTimeout(2 * time.Second), kgo.MaxBufferedRecords(1000), kgo.Dialer(d.Dial)}, more...)
	p, err := acked.NewProducer(d.Bootstrap(), topic, uint64(time.Now().UnixNano()), 128, opts...)
	if err != nil {
		t.Fatal(err)
	}
	p.Rate = rate
	ctx, stop := context.WithCancel(context.Background())
	l := &Load{p, stop, make(chan struct{})}
	go func() { p.Run(ctx); close(l.ended) }()
	t.Cleanup(func() {
		stop()
		l.Client.Close()
		<-l.ended
	})
	return l
}

// AwaitMore waits until so many more records are acknowledged.
func (l *Load) AwaitMore(t T, n int) {
	t.Helper()
	from := l.Acked()
	Eventually(t, "producing goes on", func() (string, bool) {
		_, failure := l.Failed()
		return time.Now().Format("15:04:05.000") + " " + textOf(failure), l.Acked() >= from+n
	})
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Finish ends the load and waits until every record is answered. The client may not give up on any.
func (l *Load) Finish(t T) {
	t.Helper()
	l.stop()
	<-l.ended
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	if err := l.Drain(ctx); err != nil {
		t.Fatal(err)
	}
}

// Check reads everything back from a cluster: nothing acknowledged may be absent, nothing there twice.
func (l *Load) Check(t T, from *Datacenter) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	v, err := l.Compare(ctx, from.Bootstrap())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d acked, %d found, %d lost, %d twice", from.Cluster, v.Acked, v.Found, v.Lost, v.Duplicated)
	if v.Acked == 0 || v.Lost != 0 || v.Duplicated != 0 {
		t.Errorf("%s: %d acknowledged, %d lost (%v), %d there twice", from.Cluster, v.Acked, v.Lost, v.LostSample, v.Duplicated)
	}
}

// CheckLost is Check for a client that has nothing against doubles: without idempotence, a retry may be there twice.
func (l *Load) CheckLost(t T, from *Datacenter) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	v, err := l.Compare(ctx, from.Bootstrap())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d acked, %d found, %d lost, %d twice", from.Cluster, v.Acked, v.Found, v.Lost, v.Duplicated)
	if v.Acked == 0 || v.Lost != 0 {
		t.Errorf("%s: %d acknowledged, %d lost (%v)", from.Cluster, v.Acked, v.Lost, v.LostSample)
	}
}

// End begins nothing new and waits for no answer.
func (l *Load) End() { l.stop() }
