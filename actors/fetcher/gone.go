package fetcher

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/perr"
)

// findGone tells the mirror which of its topics the source does not have any more: asking by id does not know them,
// neither does a fresh list, and the source's other brokers agree. The metadata of one broker may lag by minutes, and a
// copy that is ORPHANED waits for people.
func (m *mirrorRun) findGone(ctx context.Context, conn *conn, md metadata) error {
	var missing []core.TopicID
	for id := range m.topics {
		if md.denies(id) {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	all, err := describe(ctx, conn, nil)
	if err != nil {
		return err
	}
	missing = slices.DeleteFunc(missing, all.has)
	if othersMustAgree {
		missing = m.othersDeny(ctx, conn, all, missing)
	}
	for _, id := range missing {
		m.home().Tell(m.name, mirror.ReportSourceTopicGone{Topic: id,
			Text: fmt.Sprintf("source cluster %s has no topic with id %s (name here: %s)%s", all.cluster, id, m.topics[id].Name, namesake(all, m.topics[id].Name))})
	}
	return nil
}

// othersDeny returns the topics that every broker which answers denies, if those are more than half of the source's.
// Otherwise none: the next refresh asks again.
func (m *mirrorRun) othersDeny(ctx context.Context, asked *conn, all metadata, missing []core.TopicID) []core.TopicID {
	answers := 0
	for _, addr := range all.brokers {
		if len(missing) == 0 {
			return nil
		}
		if addr == asked.addr {
			answers++
			continue
		}
		md, err := m.describeAt(ctx, addr, missing)
		if err != nil {
			m.log.Info("a broker of the source does not say whether topics are gone", "broker", addr, "error", err)
			continue
		}
		answers++
		missing = slices.DeleteFunc(missing, func(id core.TopicID) bool { return !md.denies(id) })
	}
	if 2*answers <= len(all.brokers) {
		return nil
	}
	return missing
}

func (m *mirrorRun) describeAt(ctx context.Context, addr string, ids []core.TopicID) (metadata, error) {
	cn, err := m.dial(ctx, addr)
	if err != nil {
		return metadata{}, err
	}
	defer cn.close()
	return describe(ctx, cn, ids)
}

func (md metadata) has(id core.TopicID) bool {
	return slices.ContainsFunc(md.topics, func(t kmsg.MetadataResponseTopic) bool { return t.TopicID == id && t.ErrorCode == 0 })
}

// denies is an answer that says that there is no such topic; any other error says nothing.
func (md metadata) denies(id core.TopicID) bool {
	return !md.has(id) && slices.ContainsFunc(md.topics, func(t kmsg.MetadataResponseTopic) bool {
		return t.TopicID == id && perr.Code(t.ErrorCode) == perr.UnknownTopicId
	})
}

// namesake says that another topic has the name at the source now.
func namesake(all metadata, name string) string {
	for _, t := range all.topics {
		if t.Topic != nil && *t.Topic == name && t.ErrorCode == 0 {
			return fmt.Sprintf("; a topic of that name was made there since, with id %s", core.TopicID(t.TopicID))
		}
	}
	return ""
}
