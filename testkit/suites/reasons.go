package suites

import "strings"

// Reason says why tests of a suite do not pass.
type Reason struct {
	Suite string
	Test  string // its name; one that ends in * is a prefix; a test's parts are meant with it
	Why   string
	// NotApplicable: the cluster is not what is at fault; what the test needs is not there, or is of another product.
	NotApplicable bool
}

const (
	// noOffsetsTopic: to show it would be to show a topic that cannot be read, or reads as empty.
	noOffsetsTopic = "looks for the internal topic __consumer_offsets, and by design there is none here: the offsets of groups are in the journal"
	docker         = "stops a broker by docker compose"
)

var reasons = []Reason{
	{Suite: "kgo", Test: "TestConsumeRegex", Why: noOffsetsTopic, NotApplicable: true},
	{Suite: "kgo", Test: "Test848RegexBrokerResolves", Why: noOffsetsTopic, NotApplicable: true},

	{Suite: "kafka-go", Test: "TestConn/test_delete_topics*", Why: "asks, with auto-creation, for the topic that it has deleted: the answer has it again here; in Kafka's the next one has, or one from before the deletion"},

	{Suite: "sarama", Test: "TestFuncAdminListConsumerGroupOffsets", Why: docker, NotApplicable: true},
	{Suite: "sarama", Test: "TestFuncIdempotentBufferedSequence", Why: "reads the log of a broker by docker compose", NotApplicable: true},
	{Suite: "sarama", Test: "TestFuncTxnProduceWithBrokerFailure", Why: docker, NotApplicable: true},

	{Suite: "librdkafka", Test: "0052_msg_timestamps", Why: "writes by Produce of brokers 0.8 and 0.9, which Kafka 4 took away (KIP-896)", NotApplicable: true},
	{Suite: "librdkafka", Test: "0077_compaction", Why: "has kafka-topics.sh make a topic of segment.bytes=10000, which that tool of Kafka 4 refuses", NotApplicable: true},
	{Suite: "librdkafka", Test: "0081_admin", Why: "waits six seconds for static members, whose sessions of six seconds began anew with their last commits, and deletes their groups in the milliseconds in which those end"},
	{Suite: "librdkafka", Test: "0092_mixed_msgver", Why: "sets message.format.version of a topic, which Kafka 4 took away (KIP-724)", NotApplicable: true},
	{Suite: "librdkafka-noautocreate", Test: "0107_topic_recreate", Why: "hangs in the close of a client that was assigned partitions which no longer are there; on Kafka it does not see the new topic at once and ends there, and hangs in the same place if it is made to wait for it", NotApplicable: true},
}

// reasonOf is the first that names the test; its Why is "" where there is none.
func reasonOf(suite, test string) Reason {
	for _, r := range reasons {
		prefix, open := strings.CutSuffix(r.Test, "*")
		if r.Suite == suite && (test == r.Test || open && strings.HasPrefix(test, prefix) || strings.HasPrefix(test, r.Test+"/")) {
			return r
		}
	}
	return Reason{}
}
