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
	noACLs         = "there are no ACLs, every request of them is answered SECURITY_DISABLED"
	madeAtOnce     = "its Metadata request makes the deleted topic again, by auto.create.topics.enable: here the answer has the new topic, Kafka's says that it is still unknown"
	topicNames     = "broker-wide defaults of topic settings go by the names that topics have for them (retention.ms), not by log.retention.hours"
	noMetadata     = "there is no feature metadata.version: no record format of KRaft is behind it"
)

var reasons = []Reason{
	{Suite: "kgo", Test: "TestConsumeRegex", Why: noOffsetsTopic},
	{Suite: "kgo", Test: "Test848RegexBrokerResolves", Why: noOffsetsTopic},

	{Suite: "kafka-go", Test: "TestAlterUserScramCredentials", Why: "waits for SCRAM"},
	{Suite: "kafka-go", Test: "TestDescribeUserScramCredentials", Why: "waits for SCRAM"},
	{Suite: "kafka-go", Test: "TestUnsupportedSASLMechanism", Why: "wants a SASL listener on port 9093, which neither cluster is given", NotApplicable: true},
	{Suite: "kafka-go", Test: "TestClientAlterClientQuotas", Why: "waits for quotas"},
	{Suite: "kafka-go", Test: "TestClientAlterPartitionReassignments*", Why: "waits for reassignment"},
	{Suite: "kafka-go", Test: "TestClientCreateACLs", Why: noACLs},
	{Suite: "kafka-go", Test: "TestClientDeleteACLs", Why: noACLs},
	{Suite: "kafka-go", Test: "TestClientDescribeACLs", Why: noACLs},
	{Suite: "kafka-go", Test: "TestConn/test_delete_topics*", Why: madeAtOnce},

	{Suite: "java-tools", Test: "configs describe broker", Why: topicNames},
	{Suite: "java-tools", Test: "configs quota", Why: "waits for quotas"},
	{Suite: "java-tools", Test: "reassign execute", Why: "waits for reassignment"},
	{Suite: "java-tools", Test: "reassign verify", Why: "waits for reassignment: the tool clears throttles of brokers, whose settings cannot be altered"},
	{Suite: "java-tools", Test: "delete-records", Why: "waits for DeleteRecords"},
	{Suite: "java-tools", Test: "get-offsets after delete-records", Why: "waits for DeleteRecords"},
	{Suite: "java-tools", Test: "features describe", Why: noMetadata},
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
