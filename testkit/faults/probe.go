package faults

import (
	"fmt"
	"strconv"
	"time"

	"lockstep/protocol/perr"
	dc "lockstep/testkit/datacenter"
)

// placed is a probe that was refused with the offset it stands at.
type placed struct {
	partition int32
	offset    int64
	value     string
}

// probe writes with both kinds of clients for a time and judges each answer; and while a mirror is deaf, the stock
// client may get nothing new acknowledged either.
func (r *run) probe(lasts time.Duration) {
	next := r.load.NextNew()
	end := time.Now().Add(lasts)
	for time.Now().Before(end) {
		r.probed++
		version := []int16{14, 13}[r.probed%2]
		s := dc.Send{Version: version, Acks: -1, Timeout: 700*time.Millisecond + time.Duration(r.rng.Int64N(int64(1300*time.Millisecond))), Value: fmt.Sprint("probe ", r.probed)}
		index := int32(r.probed % partitions)
		began := time.Now()
		a := r.source.Produce(r.job, topic, index, s)
		took := time.Since(began)
		verdict, why := judge(version, a, r.now)
		if why != "" && a.Code != perr.None && r.stoodStill(a, s.Timeout, began, took) {
			verdict, why = verdict+", on a machine that stood still", ""
			r.excused++
		}
		r.answers[fmt.Sprintf("produce v%d: %s", version, verdict)]++
		if why != "" {
			r.job.Errorf("fault %q, partition %d: Produce v%d (timeout %s, took %s) was answered %s: %s; situation %+v", r.now.fault, index, version, s.Timeout, took, a, why, r.now)
		}
		if m := mirrorBehind.FindStringSubmatch(a.Text); m != nil && !r.now.source {
			offset, err := strconv.ParseInt(m[1], 10, 64)
			if err != nil {
				r.job.Errorf("offset of %q: %v", a.Text, err)
			}
			r.probes = append(r.probes, placed{index, offset, s.Value})
		}
		select { // what is refused before the append is refused at once
		case <-time.After(20 * time.Millisecond):
		case <-r.job.Context().Done():
		}
	}
	if len(r.now.deaf) > 0 {
		select {
		case <-next:
			r.job.Errorf("fault %q: the client was acknowledged a record that it sent when mirror %v could not have it; situation %+v", r.now.fault, r.now.deaf, r.now)
		default:
		}
	}
}

// stoodStill reports whether the machine, and nobody's fault, may have made a mirror the slowest: the answer is late, which
// it never is by itself (R10), or the disk they all share took a good part of the time for one small write. An ack passes
// a disk three times. How many are excused, the table says, and settle bounds it.
func (r *run) stoodStill(a dc.Answer, timeout time.Duration, began time.Time, took time.Duration) bool {
	if took > timeout {
		return true
	}
	return mirrorBehind.MatchString(a.Text) && r.still.longest(began, began.Add(took)) > timeout/4
}

// found holds every refusal that named an offset against the log: the record must be where it was said to be.
func (r *run) found() {
	for p := range int32(partitions) {
		seen := r.source.Consume(r.job, topic, p)
		at := map[int64]string{}
		for _, probe := range r.probes {
			if probe.partition == p {
				at[probe.offset] = probe.value
			}
		}
		seen.Each(r.job, func(offset int64, value []byte) {
			if want, asked := at[offset]; asked && want != string(value) {
				r.job.Errorf("partition %d: %q was said to be appended at %d; there is %q", p, want, offset, value)
			}
			delete(at, offset)
		})
		for offset, value := range at {
			r.job.Errorf("partition %d: %q was said to be appended at %d, which is not in the log", p, value, offset)
		}
	}
}
