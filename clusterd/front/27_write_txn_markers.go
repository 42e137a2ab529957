package front

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/partition"
	"lockstep/actors/shell"
	"lockstep/protocol/perr"
)

// WriteTxnMarkers v1–2: an operator ends a transaction that no coordinator knows, in the partitions that have it
// (kafka-transactions.sh abort). Our own coordinator asks the partitions itself.

func (f *Front) writeTxnMarkers(r *kmsg.WriteTxnMarkersRequest, from Client, slot *Slot) {
	img := f.broker.Image()
	resp := r.ResponseKind().(*kmsg.WriteTxnMarkersResponse)
	may := f.seesCluster(from, access.Alter) || f.mayCluster(from, access.ClusterAction)
	var waits []func(done func())
	for _, m := range once(r.Markers, func(m kmsg.WriteTxnMarkersRequestMarker) int64 { return m.ProducerID }) {
		marker := kmsg.WriteTxnMarkersResponseMarker{ProducerID: m.ProducerID}
		for _, rt := range once(m.Topics, func(t kmsg.WriteTxnMarkersRequestMarkerTopic) string { return t.Topic }) {
			topic, unknown := findTopic(img, rt.Topic, core.TopicID{}, false)
			if !may {
				unknown = perr.ClusterAuthorizationFailed
			}
			asked := once(rt.Partitions, itself)
			out := kmsg.WriteTxnMarkersResponseMarkerTopic{Topic: rt.Topic, Partitions: make([]kmsg.WriteTxnMarkersResponseMarkerTopicPartition, len(asked))}
			for i, index := range asked {
				at := &out.Partitions[i]
				at.Partition = index
				code := unknown
				if code == perr.None {
					replica, view, not := f.leaderHere(topic, index)
					if code = not; code == perr.None {
						waits = append(waits, func(done func()) {
							replica.Ask(func(ref core.RequestID) partition.Command {
								return partition.WriteMarker{Ref: ref, Epoch: view.Epoch, ProducerID: m.ProducerID, ProducerEpoch: m.ProducerEpoch,
									Commit: m.Committed, CoordinatorEpoch: m.CoordinatorEpoch}
							}, func(reply any) { at.ErrorCode = int16(markerCode(reply)); done() })
						})
					}
				}
				at.ErrorCode = int16(code)
			}
			marker.Topics = append(marker.Topics, out)
		}
		resp.Markers = append(resp.Markers, marker)
	}
	done := countdown(len(waits), func() { slot.Reply(resp) })
	for _, ask := range waits {
		ask(done)
	}
}

func markerCode(reply any) perr.Code {
	switch e := reply.(type) {
	case partition.MarkerWritten:
		if e.Code == perr.ReadOnlyTopic {
			return perr.PolicyViolation
		}
		return e.Code
	case shell.Failed:
		return e.Code
	default:
		panic("front: unknown answer to WriteMarker")
	}
}
