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
	noOffsetsTopic = "no topic holds the offsets of groups here (they are in the journal), so none is shown as __consumer_offsets"
	docker         = "stops a broker by docker compose"
	noACLs         = "there are no ACLs, every request of them is answered SECURITY_DISABLED"
)

var reasons = []Reason{
	{Suite: "kgo", Test: "TestConsumeRegex", Why: noOffsetsTopic},
	{Suite: "kgo", Test: "Test848RegexBrokerResolves", Why: noOffsetsTopic},

	{Suite: "kafka-go", Test: "TestAlterUserScramCredentials", Why: "waits for SCRAM"},
	{Suite: "kafka-go", Test: "TestDescribeUserScramCredentials", Why: "waits for SCRAM"},
	{Suite: "kafka-go", Test: "TestUnsupportedSASLMechanism", Why: "wants a SASL listener on port 9093, which neither cluster is given", NotApplicable: true},
	{Suite: "kafka-go", Test: "TestWriter/writing_a_message_with_SASL_Plain_authentication", Why: "wants a SASL listener on port 9093, which neither cluster is given", NotApplicable: true},
	{Suite: "kafka-go", Test: "TestReaderReadCompactedMessage", Why: "failed while nothing was compacted; passes alone since, in half a minute; the suite was not run again"},
	{Suite: "kafka-go", Test: "TestClientCreateACLs", Why: noACLs},
	{Suite: "kafka-go", Test: "TestClientDeleteACLs", Why: noACLs},
	{Suite: "kafka-go", Test: "TestClientDescribeACLs", Why: noACLs},

	{Suite: "sarama", Test: "TestFuncAdminListConsumerGroupOffsets", Why: docker, NotApplicable: true},
	{Suite: "sarama", Test: "TestFuncIdempotentBufferedSequence", Why: "reads the log of a broker by docker compose", NotApplicable: true},
	{Suite: "sarama", Test: "TestFuncTxnProduceWithBrokerFailure", Why: docker, NotApplicable: true},

	{Suite: "librdkafka", Test: "0052_msg_timestamps", Why: "writes by Produce of brokers 0.8 and 0.9, which Kafka 4 took away (KIP-896)", NotApplicable: true},
	{Suite: "librdkafka", Test: "0077_compaction", Why: "has kafka-topics.sh make a topic of segment.bytes=10000, which that tool of Kafka 4 refuses", NotApplicable: true},
	{Suite: "librdkafka", Test: "0081_admin", Why: noACLs},
	{Suite: "librdkafka", Test: "0089_max_poll_interval", Why: "was run with group.initial.rebalance.delay.ms=0; passes with the default, which the suite has now"},
	{Suite: "librdkafka", Test: "0118_commit_rebalance", Why: "was run with group.initial.rebalance.delay.ms=0; passes with the default, which the suite has now"},
	{Suite: "librdkafka", Test: "0103_transactions", Why: "was run before there was DeleteRecords; passes since"},
	{Suite: "librdkafka", Test: "0092_mixed_msgver", Why: "sets message.format.version of a topic, which Kafka 4 took away (KIP-724)", NotApplicable: true},
	{Suite: "librdkafka", Test: "0109_auto_create_topics", Why: noACLs},
	{Suite: "librdkafka", Test: "0115_producer_auth", Why: noACLs},
	{Suite: "librdkafka", Test: "0119_consumer_auth", Why: noACLs},
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
