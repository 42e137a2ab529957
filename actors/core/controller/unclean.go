package controller

import (
	"lockstep/actors/core"
	"lockstep/actors/core/image"
)

// uncleanSetting lets a replica outside the ISR lead.
const uncleanSetting = "unclean.leader.election.enable"

// AllowsUnclean reports whether settings that were just made let replicas outside the ISR lead.
func AllowsUnclean(set map[string]string) bool { return set[uncleanSetting] == "true" }

// ElectUnclean elects where nobody leads and the topic allows that replicas outside the ISR do. It follows the change that
// allows it: brokers come and go seldom, and an operator allows it because nobody leads. Logs are the ends of the replicas
// of such partitions. Answered with Done.
type ElectUnclean struct {
	Ref  core.RequestID
	Logs []ReplicaLog
}

func (ElectUnclean) isCommand() {}

func (s *State) electUnclean(c ElectUnclean) outcome {
	var out outcome
	var facts []image.Fact
	var elected []PartitionRecord
	e := s.electorate(c.Logs)
	for _, t := range s.inOrder() {
		if e.unclean = s.uncleanAllowed(t); !e.unclean {
			continue
		}
		for _, p := range t.partitions {
			if p.Leader != core.NoReplica {
				continue
			}
			if next := elect(p, e); next.Leader != core.NoReplica {
				out.Events = append(out.Events, PartitionChanged{Partition: next})
				facts, elected = append(facts, s.fact(next)), append(elected, next)
			}
		}
	}
	if len(facts) > 0 {
		out = s.handOver(publish(out, facts...), elected...)
	}
	return reply(out, Done{Ref: c.Ref})
}
