package front

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
	"lockstep/protocol/messages"
)

// quotas hold clients of one broker to what an operator lets them take (KIP-13, KIP-124). As in Kafka every broker counts
// for itself, an answer leaves at once and says how long its connection is not read after it (KIP-219), and a client may
// take what ten seconds allow before it is held back.
//
// A mirror that gates acknowledgements is never held back: they wait for what it reports on the same connection (F51).
type quotas struct {
	mu      sync.Mutex
	buckets map[bucketKey]*bucket
}

// bucketKey is who shares a limit: all clients of a user, all users of a client id, or one of both.
type bucketKey struct {
	limit, user, client string
}

// taker is who takes what quotas give: a user, and the id that its client gave itself.
type taker struct{ user, client string }

func (c Client) taker() taker { return taker{c.Principal.Name(), c.ID} }

// bucket fills with time and is emptied by what was taken; below zero is debt.
type bucket struct {
	limit   float64 // units a second
	balance float64
	at      time.Time
}

const (
	quotaWindow = 10 * time.Second
	// maxThrottle bounds one wait; what is left of a debt holds back the next answer. Requests wait a second at most,
	// as in Kafka, because their time is an estimate.
	maxThrottle        = 30 * time.Second
	maxRequestThrottle = time.Second
	// maxBuckets is how many clients are told apart; more share one.
	maxBuckets = 10_000
	// maxBucketName is how many bytes of a user or a client id count.
	maxBucketName = 249
)

func newQuotas() *quotas { return &quotas{buckets: map[bucketKey]*bucket{}} }

// find is the limit of a taker and who shares it: of all that apply, the one that names it best.
func (q *quotas) find(img *image.Image, limit string, of taker) (float64, bucketKey, bool) {
	if len(img.Quotas) == 0 {
		return 0, bucketKey{}, false
	}
	user := image.QuotaName{Kind: image.QuotaNamed, Name: of.user}
	id := image.QuotaName{Kind: image.QuotaNamed, Name: of.client}
	rest, none := image.QuotaName{Kind: image.QuotaDefault}, image.QuotaName{}
	for _, e := range [...]image.QuotaEntity{{User: user, Client: id}, {User: user, Client: rest}, {User: user, Client: none},
		{User: rest, Client: id}, {User: rest, Client: rest}, {User: rest, Client: none}, {User: none, Client: id}, {User: none, Client: rest}} {
		value, set := img.Quotas[e][limit]
		if !set {
			continue
		}
		key := bucketKey{limit: limit}
		if e.User != none {
			key.user = of.user[:min(len(of.user), maxBucketName)]
		}
		if e.Client != none {
			key.client = of.client[:min(len(of.client), maxBucketName)]
		}
		return value, key, true
	}
	return 0, bucketKey{}, false
}

// take charges n units of a limit and says how long the taker has to wait for them.
func (q *quotas) take(img *image.Image, limit string, of taker, n, scale float64, now time.Time) time.Duration {
	value, key, set := q.find(img, limit, of)
	if !set {
		return 0
	}
	rate := value * scale
	q.mu.Lock()
	defer q.mu.Unlock()
	b := q.buckets[key]
	if b == nil && len(q.buckets) >= maxBuckets {
		q.sweep(now)
		if len(q.buckets) >= maxBuckets {
			key = bucketKey{limit: limit}
			b = q.buckets[key]
		}
	}
	if b == nil {
		b = &bucket{limit: rate, balance: rate * quotaWindow.Seconds(), at: now}
		q.buckets[key] = b
	}
	return b.take(rate, n, now)
}

func (b *bucket) take(rate, n float64, now time.Time) time.Duration {
	b.balance += now.Sub(b.at).Seconds() * b.limit
	b.limit, b.at = rate, now
	b.balance = min(b.balance, rate*quotaWindow.Seconds()) - n
	if b.balance >= 0 {
		return 0
	}
	return time.Duration(min(-b.balance/rate, maxThrottle.Seconds()) * float64(time.Second))
}

// sweep forgets who has taken nothing for so long that it makes no difference. q.mu is held.
func (q *quotas) sweep(now time.Time) {
	for k, b := range q.buckets {
		if b.balance+now.Sub(b.at).Seconds()*b.limit >= b.limit*quotaWindow.Seconds() {
			delete(q.buckets, k)
		}
	}
}

// fetchBudget is how many bytes one fetch of a client may be answered with: as much as makes no debt beyond the window.
func (q *quotas) fetchBudget(img *image.Image, of taker, most int) int {
	rate, _, set := q.find(img, controller.ConsumerByteRate, of)
	if !set {
		return most
	}
	return int(min(float64(most), rate*quotaWindow.Seconds()))
}

// charge counts an answered request, writes into the answer how long the connection is not read, and sees to that. r is
// nil for a request that is not answered. It runs on the writer.
func (c *conn) charge(p *pending, r kmsg.Response) {
	if c.unmuted = c.unmuted || p.unmuted; c.unmuted {
		return // acks wait for what this connection reports
	}
	worked := time.Duration(c.worked.Swap(0)) + p.rendered
	img := c.front.image()
	if img == nil || len(img.Quotas) == 0 || p.key >= firstMirrorKey {
		return
	}
	now, q := time.Now(), c.front.quotas
	wait := min(maxRequestThrottle, q.take(img, controller.RequestPercentage, p.taker, worked.Seconds(), 0.01, now))
	switch {
	case p.key == messages.KeyProduce:
		wait = max(wait, q.take(img, controller.ProducerByteRate, p.taker, float64(p.size), 1, now))
	case p.key == messages.KeyFetch && r != nil:
		wait = max(wait, q.take(img, controller.ConsumerByteRate, p.taker, float64(recordBytes(r.(*messages.FetchResponse))), 1, now))
	}
	if wait < time.Millisecond {
		return
	}
	c.muted.Store(now.Add(wait).UnixNano())
	ms := int32(wait.Milliseconds())
	switch r := r.(type) {
	case nil:
	case *messages.FetchResponse:
		r.ThrottleTimeMs = ms
	case *messages.CreateTopicsResponse:
		r.ThrottleTimeMs = ms
	case kmsg.SetThrottleResponse:
		r.SetThrottle(ms)
	}
}

func recordBytes(r *messages.FetchResponse) (n int) {
	for i := range r.Responses {
		for j := range r.Responses[i].Partitions {
			n += len(r.Responses[i].Partitions[j].Records)
		}
	}
	return n
}

// listen waits until the connection may be read again; false when it ended meanwhile.
func (c *conn) listen() bool {
	for {
		wait := time.Until(time.Unix(0, c.muted.Load()))
		if wait <= 0 {
			return true
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-c.done:
			timer.Stop()
			return false
		}
	}
}
