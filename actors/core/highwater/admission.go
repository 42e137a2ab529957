package highwater

import (
	"fmt"

	"lockstep/actors/core"
	"lockstep/protocol/perr"
)

// settleAdmission tells the partition what a new batch meets, and below what a truncation must not go.
// It is early, so it is in the partition's mailbox before a raised floor leaves the process (R11).
func (d *decision) settleAdmission() {
	s := &d.s
	next := ChangeAdmission{Epoch: s.epoch, R: core.Unknown, H: core.Unknown}
	switch s.mode {
	case Leading:
		if !s.imaged {
			return // gates come with the image, and the partition grants acks=1 once it was told
		}
		next.Gated = len(s.gates) > 0
		next.Code, next.Text = d.refusal()
		if g, missing := s.missingAt(); missing {
			next.Closed, next.Code = true, perr.LeaderNotAvailable
			next.Text = fmt.Sprintf("the partition was added to a topic that mirror %s of cluster %s protects, and takes writes once it is there", g.Key.Mirror, g.Key.Cluster)
		}
	default:
		next.R, next.H = s.r, s.h
	}
	if next == s.told {
		return
	}
	d.emit(AdmissionTold{Admission: next})
	d.early(next)
}

// refusal is the answer to every new acks=all batch: too few replicas here or at a mirror, or too much
// waiting already (R9, F28, F57).
func (d *decision) refusal() (perr.Code, string) {
	s := &d.s
	if s.underMinISR() {
		return perr.NotEnoughReplicas, fmt.Sprintf("in-sync replicas %v are fewer than min.insync.replicas %d", s.image.ISR, s.image.MinISR)
	}
	if g, refused := s.refusingGate(d.now.Mono); refused {
		return perr.NotEnoughReplicas, underMinText(g)
	}
	// Once full, it admits again at half: at the brim every other batch would be refused.
	bytes, batches := purgatoryBytes, purgatoryBatches
	if s.told.Code != 0 {
		bytes, batches = bytes/2, batches/2
	}
	if boundPurgatory && (s.waitBytes >= bytes || len(s.waiters) >= batches) {
		text := fmt.Sprintf("%d batches (%d bytes) wait for confirmation already", len(s.waiters), s.waitBytes)
		if s.told.Code == perr.NotEnoughReplicas && s.told.Text != "" {
			text = s.told.Text // one refusal, one message
		} else if g, gated := s.slowestGate(); gated {
			text += fmt.Sprintf("; slowest mirror %s", g.Key.Mirror)
		}
		return perr.NotEnoughReplicas, text
	}
	return 0, ""
}
