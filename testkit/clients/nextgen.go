package clients

import "github.com/twmb/franz-go/pkg/kgo"

// nextGen are the clients that have the consumer protocol (KIP-848), as its members. They write nothing: what they would
// write is what they write without it.
func nextGen() []Stock {
	members := []Stock{
		franz(kgo.ServerSideBalancer(), kgo.ConsumerGroup("franz-next-gen")),
		java("--consumer-property", "group.protocol=consumer"),
		confluent("consumer"),
	}
	for i := range members {
		s := &members[i]
		s.Name, s.Folder, s.Produce, s.Transact = s.Name+" (KIP-848)", s.Name, nil, nil
	}
	return members
}
