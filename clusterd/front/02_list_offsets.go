package front

import (
	"errors"
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/broker"
	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/partition"
	"lockstep/journal"
	"lockstep/protocol/batch"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// ListOffsets v1–11. v2 brings isolation, v4 leader epochs, v6 is flexible, v7 the timestamp -3, v8 -4,
// v9 -5, v10 a time-out, v11 -6.

// Timestamps that are questions of another kind, and the version from which each may be asked.
const (
	askLatest         = -1
	askEarliest       = -2
	askMaxTimestamp   = -3 // v7: the first offset that holds the largest timestamp
	askEarliestLocal  = -4 // v8: nothing is tiered here, so the log start
	askLatestTiered   = -5 // v9: nothing is tiered here, so no offset
	askEarliestUpload = -6 // v11: likewise
)

func (f *Front) listOffsets(r *kmsg.ListOffsetsRequest, from Client, slot *Slot) {
	// A search reads batches, so it runs when it is this answer's turn, on the writer's goroutine.
	f.whenShown(slot, func() []*broker.Replica { return f.asksEndsOf(r, from) }, func(w *showing) kmsg.Response {
		img := f.broker.Image()
		resp := r.ResponseKind().(*kmsg.ListOffsetsResponse)
		for _, rt := range r.Topics {
			topic, unknown := f.topicFor(from, access.Describe, img, rt.Topic, core.TopicID{}, false)
			out := kmsg.NewListOffsetsResponseTopic()
			out.Topic = rt.Topic
			times := map[int32]int{}
			for _, rp := range rt.Partitions {
				times[rp.Partition]++
			}
			for _, rp := range rt.Partitions {
				at := kmsg.NewListOffsetsResponseTopicPartition()
				at.Partition, at.Offset, at.Timestamp, at.LeaderEpoch = rp.Partition, -1, -1, -1
				code := unknown
				switch {
				case code == perr.TopicAuthorizationFailed:
				case times[rp.Partition] > 1:
					code = perr.InvalidRequest // compat-L11
				case code == perr.None:
					var replica *broker.Replica
					var view partition.View
					if replica, view, code = f.leaderHere(topic, rp.Partition); code == perr.None {
						view.Confirms = view.Confirms && !w.lacks(replica, view)
						code = listOffset(replica, view, rp, r.Version, r.IsolationLevel, &at)
					}
				}
				at.ErrorCode = int16(perr.ForVersion(messages.KeyListOffsets, r.Version, code))
				out.Partitions = append(out.Partitions, at)
			}
			resp.Topics = append(resp.Topics, out)
		}
		return resp
	})
}

// asksEndsOf lists the partitions whose HW bounds an answer.
func (f *Front) asksEndsOf(r *kmsg.ListOffsetsRequest, from Client) (list []*broker.Replica) {
	img := f.broker.Image()
	for _, rt := range r.Topics {
		topic, unknown := f.topicFor(from, access.Describe, img, rt.Topic, core.TopicID{}, false)
		for _, rp := range rt.Partitions {
			if unknown != perr.None || rp.Timestamp == askEarliest {
				continue
			}
			if replica, _, code := f.leaderHere(topic, rp.Partition); code == perr.None {
				list = append(list, replica)
			}
		}
	}
	return list
}

// listOffset answers one question. A found offset is below what the asker may read (compat-L04).
func listOffset(r *broker.Replica, v partition.View, q kmsg.ListOffsetsRequestTopicPartition, version int16, isolation int8,
	out *kmsg.ListOffsetsResponseTopicPartition) perr.Code {
	if code := fenceEpoch(v, q.CurrentLeaderEpoch); version >= 4 && code != perr.None {
		return code
	}
	bound := v.HW
	if isolation == 1 {
		bound = v.LSO
	}
	found := func(at core.Offset, ts int64, epoch core.LeaderEpoch) perr.Code {
		out.Offset, out.Timestamp, out.LeaderEpoch = int64(at), ts, int32(epoch)
		return perr.None
	}
	switch t := q.Timestamp; {
	case t == askEarliest, t == askEarliestLocal && version >= 8:
		return found(v.LogStart, -1, epochAt(v, v.LogStart))
	case t == askLatestTiered && version >= 9, t == askEarliestUpload && version >= 11:
		return perr.None // offset -1, no error (compat-L10)
	case t != askLatest && t != askMaxTimestamp && t < 0, t == askMaxTimestamp && version < 7:
		return perr.UnsupportedVersion
	case !v.Confirms:
		// A new leader whose HW is not confirmed may know less than was shown before, and one whose disk is slow shows
		// less than it has acknowledged: an end that goes backwards would be read as data loss (compat-L09).
		return perr.OffsetNotAvailable
	case t == askLatest:
		return found(bound, -1, v.Epoch)
	case t == askMaxTimestamp:
		return findMaxTimestamp(r, v.LogStart, bound, found)
	default:
		return findTimestamp(r, v.LogStart, bound, t, found)
	}
}

type found func(at core.Offset, ts int64, epoch core.LeaderEpoch) perr.Code

// findTimestamp answers with the first record whose timestamp is not below ts; none is offset -1
// without an error (compat-L01, L02, L03, L05).
func findTimestamp(r *broker.Replica, start, bound core.Offset, ts int64, answer found) perr.Code {
	for from := start; ; {
		stored, ok, err := r.FindTimestamp(from, ts)
		switch {
		case err != nil:
			return perr.KafkaStorageError
		case !ok || stored.Base >= bound:
			return perr.None
		}
		code := perr.None
		hit := false
		err = eachTimestamp(stored.Bytes, func(at core.Offset, t int64) bool {
			if t < ts || at < start {
				return true
			}
			hit = true
			if at < bound {
				code = answer(at, t, stored.Epoch)
			}
			return false
		})
		if err != nil {
			return perr.CorruptMessage
		}
		if hit {
			return code
		}
		from = stored.Last + 1 // the header's maximum lied, or lay below the log start: look further
	}
}

// findMaxTimestamp answers with the first offset that holds the largest timestamp of the readable log
// (compat-L07). "Is there a batch at or above t?" is true up to the maximum and false beyond, so the
// maximum is found by doubling a step and then halving it, however many batches raise it one by one.
func findMaxTimestamp(r *broker.Replica, start, bound core.Offset, answer found) perr.Code {
	var best journal.StoredBatch
	var failed error
	there := func(t int64) bool {
		stored, ok, err := r.FindTimestamp(start, t)
		failed = errors.Join(failed, err)
		if err != nil || !ok || stored.Base >= bound {
			return false
		}
		best = stored
		return true
	}
	if !there(0) {
		return storageCode(failed)
	}
	step := int64(1)
	for step < math.MaxInt64-best.MaxTimestamp && there(best.MaxTimestamp+step) {
		step *= 2
	}
	for none := best.MaxTimestamp + min(step, math.MaxInt64-best.MaxTimestamp); none-best.MaxTimestamp > 1; {
		if middle := best.MaxTimestamp + (none-best.MaxTimestamp)/2; !there(middle) {
			none = middle
		}
	}
	if failed != nil {
		return perr.KafkaStorageError
	}
	newest := int64(-1)
	err := eachTimestamp(best.Bytes, func(at core.Offset, t int64) bool {
		if at >= start && at < bound && t > newest {
			newest = t
			answer(at, t, best.Epoch)
		}
		return true
	})
	switch {
	case err != nil:
		return perr.CorruptMessage
	case newest < best.MaxTimestamp && best.Base < start:
		// The log begins inside the batch, behind its newest record: what is left of it may be older than what follows.
		return findMaxTimestamp(r, best.Last+1, bound, func(at core.Offset, ts int64, epoch core.LeaderEpoch) perr.Code {
			if ts <= newest {
				return perr.None
			}
			return answer(at, ts, epoch)
		})
	default:
		return perr.None
	}
}

func storageCode(err error) perr.Code {
	if err != nil {
		return perr.KafkaStorageError
	}
	return perr.None
}

// eachTimestamp walks a stored batch; records of a LogAppendTime topic carry the batch's time (compat-L06).
func eachTimestamp(bytes []byte, f func(at core.Offset, ts int64) bool) error {
	b, _, err := batch.Parse(bytes)
	if err != nil {
		return err
	}
	return b.Each(0, func(r batch.Record) bool { return f(core.Offset(r.Offset), r.Timestamp) })
}

// epochAt is the epoch of the batch at an offset; the current one at the end (compat-L08).
func epochAt(v partition.View, at core.Offset) core.LeaderEpoch {
	epoch := v.Epoch
	if at >= v.LEO {
		return epoch
	}
	for _, e := range v.Epochs {
		if e.Start > at {
			break
		}
		epoch = e.Epoch
	}
	return epoch
}
