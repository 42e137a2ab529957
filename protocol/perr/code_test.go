package perr

import "testing"

// The draft's down-map cases, written out by hand: what a client of each version must be told.
func TestClientsOfEachVersionGetACodeTheyKnow(t *testing.T) {
	const produce, fetch, listOffsets, deleteTopics, deleteRecords, initProducerID, addPartitions, addOffsets, endTxn, txnOffsetCommit, createPartitions = 0, 1, 2, 20, 21, 22, 24, 25, 26, 28, 37
	cases := []struct {
		api      int16
		from     Code
		oldest   int16 // versions of the API that exist
		newest   int16
		known    int16 // first version that is told the truth
		instead  Code
		behavior string
	}{
		{produce, MirrorSyncReplicationTimeout, 3, 14, 14, NotEnoughReplicasAfterAppend, "retriable stays retriable"},
		{produce, NotEnoughRemoteReplicasAfterAppend, 3, 14, 14, NotEnoughReplicasAfterAppend, "retriable stays retriable"},
		{produce, ReadOnlyTopic, 3, 14, 14, PolicyViolation, "final stays final"},
		{fetch, KafkaStorageError, 4, 20, 6, NotLeaderOrFollower, "the client looks for another leader"},
		{listOffsets, OffsetNotAvailable, 0, 11, 5, LeaderNotAvailable, "retriable stays retriable"},
		{deleteTopics, ReadOnlyTopic, 0, 6, 7, PolicyViolation, "an unknown code reads as an unexpected error of the server"},
		{deleteRecords, ReadOnlyTopic, 0, 2, 3, PolicyViolation, "an unknown code reads as an unexpected error of the server"},
		{createPartitions, ReadOnlyTopic, 0, 3, 4, PolicyViolation, "an unknown code reads as an unexpected error of the server"},
		{initProducerID, ProducerFenced, 0, 5, 4, InvalidProducerEpoch, "fenced either way"},
		{addPartitions, ProducerFenced, 0, 5, 2, InvalidProducerEpoch, "fenced either way"},
		{addOffsets, ProducerFenced, 0, 4, 2, InvalidProducerEpoch, "fenced either way"},
		{endTxn, ProducerFenced, 0, 5, 2, InvalidProducerEpoch, "fenced either way"},
		{txnOffsetCommit, CoordinatorLoadInProgress, 0, 6, 2, CoordinatorNotAvailable, "clients from 0.11 to 1.1 fail on the former"},
	}
	special := map[[3]int16]Code{}
	for _, c := range cases {
		if c.from.Retriable() != c.instead.Retriable() {
			t.Errorf("%s is mapped to %s, which changes whether clients retry (%s)", c.from, c.instead, c.behavior)
		}
		for v := c.oldest; v <= c.newest; v++ {
			want := c.from
			if v < c.known {
				want = c.instead
				special[[3]int16{c.api, v, int16(c.from)}] = want
			}
			if got := ForVersion(c.api, v, c.from); got != want {
				t.Errorf("api %d version %d %s: told %s, want %s", c.api, v, c.from, got, want)
			}
		}
	}
	// Every other code is unchanged at every version of every API.
	for api := int16(0); api <= 111; api++ {
		for v := int16(0); v <= 20; v++ {
			for c := range table {
				if _, ok := special[[3]int16{api, v, int16(c)}]; ok || isBelowOldest(api, v, c) {
					continue
				}
				if got := ForVersion(api, v, c); got != c {
					t.Fatalf("api %d version %d: %s became %s without a rule", api, v, c, got)
				}
			}
		}
	}
}

// Versions that do not exist any more follow the rule of their API; nobody can ask with them.
func isBelowOldest(api, version int16, c Code) bool {
	switch api {
	case 0:
		return version < 3 && (c == MirrorSyncReplicationTimeout || c == NotEnoughRemoteReplicasAfterAppend || c == ReadOnlyTopic)
	case 1:
		return version < 4 && c == KafkaStorageError
	default:
		return false
	}
}

func TestNumbersAreThoseOfTheRulings(t *testing.T) {
	want := map[Code]int16{
		None: 0, UnknownServerError: -1, NotEnoughReplicasAfterAppend: 20, PolicyViolation: 44, ControllerIdNotRegistered: 136,
		ReadOnlyTopic: 934, ClusterMirrorAlreadyExists: 936, UnknownClusterMirror: 937, MirrorTopicNotStopped: 946,
		MirrorSyncReplicationTimeout: 950, NotEnoughRemoteReplicasAfterAppend: 951, InvalidSyncRegistration: 952,
		MirrorRegistrationPropagating: 953, MirrorSyncReleasedRequiresFreshPromotion: 954,
		MirrorSyncVersionMismatch: 955, MirrorNameInUse: 956,
	}
	for c, n := range want {
		if int16(c) != n {
			t.Errorf("%s is %d, want %d", c, int16(c), n)
		}
	}
	for c := int16(-1); c <= 136; c++ {
		if Code(c).Message() == "" {
			t.Errorf("code %d of Kafka 4.4 is missing", c)
		}
	}
	for _, c := range []Code{950, 951, 953} {
		if !c.Retriable() {
			t.Errorf("%s must be retriable", c)
		}
	}
	for _, c := range []Code{952, 954, 955, 956, 934} {
		if c.Retriable() {
			t.Errorf("%s must be final", c)
		}
	}
	if Code(999).Name() != "CODE(999)" || Code(999).Message() != "" {
		t.Errorf("an unknown code must name its number: %s", Code(999))
	}
}
