package front

import (
	"fmt"
	"maps"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// quotaOf alters one entity, given as pairs of type and name, "" being the default.
func (h *house) quotaOf(limit string, value float64, entity ...string) error {
	h.t.Helper()
	e := kadm.AlterClientQuotaEntry{Ops: []kadm.AlterClientQuotaOp{{Key: limit, Value: value, Remove: value == 0}}}
	for i := 0; i < len(entity); i += 2 {
		e.Entity = append(e.Entity, kadm.ClientQuotaEntityComponent{Type: entity[i], Name: text(entity[i+1])})
	}
	got, err := kadm.NewClient(h.client()).AlterClientQuotas(patient(h.t), []kadm.AlterClientQuotaEntry{e})
	if err != nil {
		h.t.Fatal(err)
	}
	if got[0].Err != nil && got[0].ErrMessage == "" {
		h.t.Errorf("%v says nothing", got[0].Err)
	}
	return got[0].Err
}

// TestQuotasAreAlteredAndDescribed by a stock client, and outlive a restart.
func TestQuotasAreAlteredAndDescribed(t *testing.T) {
	h := newHouse(t, 1)
	for _, q := range [][]string{{"user", "ANONYMOUS", "client-id", "a"}, {"client-id", "a"}, {"client-id", ""}, {"user", ""}} {
		if err := h.quotaOf(controller.ProducerByteRate, 1e12, q...); err != nil {
			t.Fatal(q, err)
		}
	}
	if err := h.quotaOf(controller.RequestPercentage, 1e6, "client-id", "a"); err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]string{{"ip", "127.0.0.1"}, {"client-id", "a", "client-id", "b"}, {}} {
		if err := h.quotaOf(controller.ProducerByteRate, 1, bad...); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
	describe := func(strict bool, parts ...kadm.DescribeClientQuotaComponent) string {
		t.Helper()
		got, err := kadm.NewClient(h.client()).DescribeClientQuotas(patient(t), strict, parts)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, d := range got {
			list = append(list, fmt.Sprint(d.Entity, len(d.Values)))
		}
		return strings.Join(list, " ")
	}
	a := "a"
	exact := kadm.DescribeClientQuotaComponent{Type: "client-id", MatchName: &a}
	rest := kadm.DescribeClientQuotaComponent{Type: "client-id", MatchType: kmsg.QuotasMatchTypeDefault}
	some := kadm.DescribeClientQuotaComponent{Type: "user", MatchType: kmsg.QuotasMatchTypeAny}
	for range 2 {
		for _, c := range []struct{ got, want string }{
			{describe(false), "{client-id=a} 2 {client-id=<default>} 1 {user=ANONYMOUS, client-id=a} 1 {user=<default>} 1"},
			{describe(false, exact), "{client-id=a} 2 {user=ANONYMOUS, client-id=a} 1"},
			{describe(true, exact), "{client-id=a} 2"},
			{describe(true, rest), "{client-id=<default>} 1"},
			{describe(false, some), "{user=ANONYMOUS, client-id=a} 1 {user=<default>} 1"},
			{describe(true, some, exact), "{user=ANONYMOUS, client-id=a} 1"},
			{describe(true), ""},
			{describe(false, kadm.DescribeClientQuotaComponent{Type: "ip", MatchType: kmsg.QuotasMatchTypeAny}), ""},
		} {
			if c.got != c.want {
				t.Errorf("%s, want %s", c.got, c.want)
			}
		}
		h.restart()
	}
	if err := h.quotaOf(controller.ProducerByteRate, 0, "client-id", ""); err != nil {
		t.Error(err)
	}
	if got := describe(true, rest); got != "" {
		t.Errorf("removed, and there: %s", got)
	}
}

// TestNobodyHasCredentials, and a tool that describes users hears so.
func TestNobodyHasCredentials(t *testing.T) {
	h := newHouse(t, 1)
	adm := kadm.NewClient(h.client())
	if all, err := adm.DescribeUserSCRAMs(patient(t)); err != nil || len(all) != 0 {
		t.Errorf("%v %v", all, err)
	}
	r := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
	r.Users = []kmsg.DescribeUserSCRAMCredentialsRequestUser{{Name: "a"}, {Name: "b"}, {Name: "a"}}
	got := h.raw(1, r, 0).(*kmsg.DescribeUserSCRAMCredentialsResponse)
	if len(got.Results) != 2 || perr.Code(got.Results[0].ErrorCode) != perr.DuplicateResource || perr.Code(got.Results[1].ErrorCode) != perr.ResourceNotFound {
		t.Errorf("%+v", got)
	}
}

// answerOn asks over a connection that stays.
func answerOn(t *testing.T, c net.Conn, r kmsg.Request, version int16) kmsg.Response {
	t.Helper()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	sendRequest(t, c, 1, r, version)
	_, body := readResponse(t, c)
	return decodeStrictly(t, r, body)
}

// TestAProducerAboveItsQuotaIsMuted: compat-S03. It hears so at once, its connection is not read for as long as it was
// told, and nobody else waits.
func TestAProducerAboveItsQuotaIsMuted(t *testing.T) {
	h := newHouse(t, 1)
	h.fill("t", 0, 0)
	if err := h.quotaOf(controller.ProducerByteRate, 20_000, "client-id", "raw"); err != nil {
		t.Fatal(err)
	}
	c := dial(t, h.addrs[0])
	send := func() int32 {
		p := answerOn(t, c, produceRequest("t", -1, oneRecord(plain, strings.Repeat("x", 105_000))), 9).(*kmsg.ProduceResponse)
		if p.Topics[0].Partitions[0].ErrorCode != 0 {
			t.Fatalf("%+v", p)
		}
		return p.ThrottleMillis
	}
	if ms := send(); ms != 0 {
		t.Errorf("a burst within the window waits %d ms", ms)
	}
	var began time.Time
	ms := int32(0)
	for range 10 { // a slow machine pays part of the debt meanwhile
		began = time.Now()
		if ms = send(); ms > 0 {
			break
		}
	}
	if ms == 0 || ms > 5300 {
		t.Fatalf("above it: %d ms", ms)
	}
	h.produce("t", values("other", 3), kgo.ClientID("other"))
	answerOn(t, c, kmsg.NewPtrApiVersionsRequest(), 0)
	if waited := time.Since(began); waited < time.Duration(ms)*time.Millisecond {
		t.Errorf("the connection was read %s after the first answer's request, %d ms were told", waited, ms)
	}
	silent := produceRequest("t", 0, oneRecord(plain, strings.Repeat("x", 60_000)))
	sendRequest(t, c, 1, silent, 9)
	began = time.Now()
	answerOn(t, c, kmsg.NewPtrApiVersionsRequest(), 0) // may have been read before the produce was done
	answerOn(t, c, kmsg.NewPtrApiVersionsRequest(), 0)
	if waited := time.Since(began); waited < time.Second {
		t.Errorf("acks=0 above the quota makes the next request wait %s", waited)
	}
}

// TestAConsumerAboveItsQuota gets what it asked for, in portions, and waits; a mirror that gates never does (F51).
func TestAConsumerAboveItsQuota(t *testing.T) {
	h, m, id, epoch := gatedHouse(t, 1)
	for range 3 {
		h.produceOnce("t", 9, 1, oneRecord(plain, strings.Repeat("x", 1000)))
	}
	if err := h.quotaOf(controller.ConsumerByteRate, 10, "user", ""); err != nil {
		t.Fatal(err)
	}
	if err := h.quotaOf(controller.RequestPercentage, 0.0001, "user", ""); err != nil {
		t.Fatal(err)
	}
	mirror := dial(t, h.addrs[0])
	for range 20 {
		resp := answerOn(t, mirror, m.request(id, epoch, 1, 1, 0), 20).(*messages.FetchResponse)
		if p := resp.Responses[0].Partitions[0]; resp.ThrottleTimeMs != 0 || len(p.Records) < 3000 {
			t.Fatalf("a mirror is held back: %d ms, %d bytes", resp.ThrottleTimeMs, len(p.Records))
		}
	}
	m.fetch(1, id, epoch, 4, 4, 0)
	waitFor(t, "the records below HW", func() bool {
		r, ok := h.cluster.Leader(core.PartitionID{Topic: id})
		return ok && r.View().HW == 4
	})
	r := fetchRequest(1<<20, ask{topic: id, offset: 1})
	resp := answerOn(t, dial(t, h.addrs[0]), r, 13).(*messages.FetchResponse)
	if n := len(resp.Responses[0].Partitions[0].Records); n < 1000 || n > 2000 || resp.ThrottleTimeMs < 10_000 {
		t.Errorf("a consumer gets %d bytes and waits %d ms", n, resp.ThrottleTimeMs)
	}
}

// TestRequestTimeIsCharged, a second at a time.
func TestRequestTimeIsCharged(t *testing.T) {
	h := newHouse(t, 1)
	if err := h.quotaOf(controller.RequestPercentage, 0.0001, "client-id", ""); err != nil {
		t.Fatal(err)
	}
	c := dial(t, h.addrs[0])
	told := int32(0)
	for range 50 {
		if told = answerOn(t, c, metadataOf(), 9).(*kmsg.MetadataResponse).ThrottleMillis; told > 0 {
			break
		}
	}
	if told == 0 || told > 1000 {
		t.Errorf("50 requests with a millionth of a thread: %d ms", told)
	}
}

// TestTheBestNameDecides: Kafka's order of precedence, and who shares a limit.
func TestTheBestNameDecides(t *testing.T) {
	n := func(s string) image.QuotaName { return image.QuotaName{Kind: image.QuotaNamed, Name: s} }
	rest, none := image.QuotaName{Kind: image.QuotaDefault}, image.QuotaName{}
	order := []image.QuotaEntity{{User: n("alice"), Client: n("a")}, {User: n("alice"), Client: rest}, {User: n("alice"), Client: none},
		{User: rest, Client: n("a")}, {User: rest, Client: rest}, {User: rest, Client: none}, {User: none, Client: n("a")}, {User: none, Client: rest}}
	img := image.Empty()
	img.Quotas[image.QuotaEntity{Client: n("b")}] = map[string]float64{controller.ProducerByteRate: 99}
	img.Quotas[order[0]] = map[string]float64{controller.ConsumerByteRate: 98}
	q := newQuotas()
	for i := len(order) - 1; i >= 0; i-- {
		limits := map[string]float64{controller.ProducerByteRate: float64(i)}
		maps.Copy(limits, img.Quotas[order[i]])
		img.Quotas[order[i]] = limits
		value, key, _ := q.find(img, controller.ProducerByteRate, taker{"alice", "a"})
		if want := (bucketKey{controller.ProducerByteRate, map[bool]string{true: "alice"}[order[i].User != none], map[bool]string{true: "a"}[order[i].Client != none]}); value != float64(i) || key != want {
			t.Errorf("%+v decides %g, shared by %+v", order[i], value, key)
		}
	}
	if _, _, set := q.find(img, controller.RequestPercentage, taker{"alice", "a"}); set {
		t.Error("a limit that nobody set")
	}
	if value, _, _ := q.find(image.Empty(), controller.ProducerByteRate, taker{"alice", "a"}); value != 0 {
		t.Error("no quotas, and one found")
	}
}

// TestDebtIsPaidWithTime.
func TestDebtIsPaidWithTime(t *testing.T) {
	img := image.Empty()
	rest := image.QuotaEntity{Client: image.QuotaName{Kind: image.QuotaDefault}}
	img.Quotas[rest] = map[string]float64{controller.ProducerByteRate: 100}
	q, now := newQuotas(), time.Unix(1000, 0)
	take := func(client string, n float64) time.Duration {
		return q.take(img, controller.ProducerByteRate, taker{"alice", client}, n, 1, now)
	}
	for i, want := range []time.Duration{0, 0, time.Second, 11 * time.Second, maxThrottle} {
		if got := take("a", []float64{400, 600, 100, 1000, 1e9}[i]); got != want {
			t.Errorf("step %d waits %s, want %s", i, got, want)
		}
	}
	if got := take("b", 1000); got != 0 {
		t.Errorf("another client waits %s", got)
	}
	now = now.Add(5 * time.Second)
	if got := take("b", 500); got != 0 {
		t.Errorf("after five seconds it waits %s", got)
	}
	img.Quotas[rest] = map[string]float64{controller.ProducerByteRate: 1000}
	if got := take("b", 10_000); got != 10*time.Second {
		t.Errorf("under a new limit it waits %s", got)
	}
	for i := range 3 * maxBuckets {
		take(fmt.Sprint(i), 1)
	}
	if n := len(q.buckets); n > maxBuckets+1 {
		t.Errorf("%d clients are told apart", n)
	}
	now = now.Add(time.Hour * 24 * 365)
	take("c", 1)
	if n := len(q.buckets); n > 3 {
		t.Errorf("%d clients are remembered that took nothing for long", n)
	}
}
