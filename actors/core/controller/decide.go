package controller

import (
	"lockstep/actors/core"
	"lockstep/actors/core/image"
)

type outcome = core.Outcome[Event, Effect]

func decide(s *State, _ core.Now, cmd Command) outcome {
	switch c := cmd.(type) {
	case RestartCluster:
		return s.restart(c)
	case StopBroker:
		return s.stopBroker(c)
	case StartBroker:
		return s.startBroker(c)
	case CreateTopic:
		return s.createTopic(c)
	case DeleteTopic:
		return s.deleteTopic(c)
	case ChangeISR:
		return s.changeISR(c)
	case RaiseEpoch:
		return s.raiseEpoch(c)
	case CreatePartitions:
		return s.createPartitions(c)
	case AlterTopic:
		return s.alterTopic(c)
	case AlterBroker:
		return s.alterBroker(c)
	case AcceptLoss:
		return s.acceptLoss(c)
	case ElectPreferred:
		return s.electPreferred(c)
	case ElectUnclean:
		return s.electUnclean(c)
	case UpdateFeatures:
		return s.updateFeatures(c)
	case AlterReassignments:
		return s.alterReassignments(c)
	case FinishReassignment:
		return s.finishReassignment(c)
	case AlterQuotas:
		return s.alterQuotas(c)
	case CreateACLs:
		return s.createACLs(c)
	case DeleteACLs:
		return s.deleteACLs(c)
	case AlterCredentials:
		return s.alterCredentials(c)
	case AllocateProducerIDs:
		return s.allocateProducerIDs(c)
	default:
		panic("controller: unknown command")
	}
}

// publish puts facts into an outcome. They leave late: a broker that acts on an epoch, an ISR removal
// or a topic which a crash then unsays would serve in an epoch that is handed out again.
func publish(out outcome, facts ...image.Fact) outcome {
	if publishOnlyDurable {
		out.Late = append(out.Late, Publish{Facts: facts})
	} else {
		out.Early = append(out.Early, Publish{Facts: facts})
	}
	return out
}

func reply(out outcome, e Effect) outcome {
	out.Late = append(out.Late, e)
	return out
}
