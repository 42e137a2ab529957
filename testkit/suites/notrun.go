package suites

// notRun are the suites that people may look for here.
func notRun() []Suite {
	return []Suite{
		{Name: "kafka-python", Release: "kafka-python 3.0.12", NotRun: "the source distribution on PyPI lacks test/service.py, which its integration tests import"},
		{Name: "kafkajs", Release: "kafkajs 2.2.4", NotRun: "the npm package holds no tests"},
		{Name: "confluent-kafka", Release: "confluent-kafka 2.12.1", NotRun: "the source distribution on PyPI holds no tests; its core is librdkafka, above"},
	}
}
