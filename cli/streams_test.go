package main

import (
	"reflect"
	"testing"

	"lockstep/actors/core/controller"
	"lockstep/actors/core/group"
	"lockstep/actors/core/highwater"
	"lockstep/actors/core/mirror"
	"lockstep/actors/core/partition"
	"lockstep/actors/core/registration"
	"lockstep/actors/core/transaction"
	"lockstep/journal"
	"lockstep/protocol/batch"
)

// A dump that shows "31 bytes" helps nobody: events of every kind of stream are read by the machine that wrote them.
func TestEventsOfEveryStreamAreNamed(t *testing.T) {
	for stream, payload := range map[journal.Stream][]byte{
		"partition/t/0/broker-1": partition.EncodeEvent(partition.LogStartedAt{}),
		"ledger/t/0":             highwater.EncodeEvent(highwater.LedgerGap{}),
		"control/controller":     controller.EncodeEvent(controller.FeaturesUpdated{}),
		"control/registration":   registration.EncodeEvent(registration.TopicUnregistered{}),
		"control/mirror/dr":      mirror.EncodeEvent(mirror.TopicStopped{}),
		"control/group-3":        group.EncodeEvent(group.OffsetsStored{}),
		"control/transaction-3":  transaction.EncodeEvent(transaction.TransactionCompleted{}),
	} {
		if ev, err := decode(stream, payload); err != nil || reflect.TypeOf(ev).Kind() != reflect.Struct {
			t.Errorf("%s: %v (%v)", stream, ev, err)
		}
	}
}

func TestADumpTellsTheEndsOfTransactions(t *testing.T) {
	part := batch.Build(batch.Batch{ProducerID: 7, Attributes: 1 << 4}, []batch.Record{{Value: []byte("v")}})
	for want, b := range map[string]batch.Batch{
		"": batch.Build(batch.Batch{ProducerID: -1}, []batch.Record{{Value: []byte("v")}}), "part": part,
		"COMMIT": batch.EndTxn(1, 7, 0, batch.Marker{Commit: true}), "ABORT": batch.EndTxn(1, 7, 0, batch.Marker{}),
	} {
		if got := transactionOf(b); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
