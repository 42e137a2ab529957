package model

import "fmt"

// describe is one line of a trace.
func (w *world) describe(a action) string {
	c := &w.cl[a.c]
	at := fmt.Sprintf("%s/broker-%d", c.name, a.a)
	switch a.kind {
	case actProduce:
		return fmt.Sprintf("record %d is produced at %s", w.produced+1, at)
	case actRetry:
		return fmt.Sprintf("record %d is sent again, to %s", w.produced, at)
	case actSync:
		return at + " syncs its journal"
	case actLink:
		return fmt.Sprintf("%s/broker-%d reads %d letters of broker-%d", c.name, a.b, len(c.links[a.a-1][a.b-1]), a.a)
	case actRead:
		return at + " reads its leader's journal"
	case actHear:
		return fmt.Sprintf("%s hears: leader broker-%d, epoch %d, ISR %v", at, c.leader, c.epoch, c.isr)
	case actPropose:
		p := c.proposals[0]
		return fmt.Sprintf("the controller of %s reads the proposal of broker-%d: ISR %v", c.name, p.from, p.isr.ISR)
	case actElect:
		kind := []string{"cleanly, the old leader is out of the ISR", "cleanly, the old leader stays in the ISR", "UNCLEANLY"}[a.b]
		return fmt.Sprintf("%s is elected %s, epoch %d", at, kind, c.epoch+1)
	case actAdopt:
		return fmt.Sprintf("%s checks its log against source broker-%d, epoch %d", at, a.b, w.src().brokers[a.b-1].view.Epoch)
	case actFetch:
		return fmt.Sprintf("%s fetches from source broker-%d", at, a.b)
	case actAnswer:
		one := w.answers[a.a]
		return fmt.Sprintf("answer of source epoch %d with %d records, HW %d, reaches %s/broker-%d",
			one.cmd.SourceEpoch, len(one.cmd.Batches), one.cmd.SourceHW, w.cl[one.cluster].name, one.to)
	case actFloor:
		r := w.floors[a.a].report
		return fmt.Sprintf("floor %d of source epoch %d, registration %d, from %s reaches source broker-%d", r.Floor, r.SourceEpoch, r.Epoch, r.Key.Cluster, a.b)
	case actTick:
		return "11 s pass"
	case actLose:
		return fmt.Sprintf("the source comes back with empty disks and does not notice; broker-%d leads in epoch %d", c.leader, c.epoch+1)
	case actCrash:
		switch a.b {
		case 0:
			return at + " crashes"
		case sameEpoch:
			return fmt.Sprintf("%s crashes and comes back as leader of epoch %d", at, c.epoch)
		}
		return fmt.Sprintf("%s crashes; broker-%d leads in epoch %d", at, a.b, c.epoch+1)
	case actRelease:
		return c.name + " is released at the source"
	case actRegister:
		return c.name + " registers at the source"
	case actUnfence:
		return "broker-2 of " + c.name + " is live again for its controller"
	case actTell:
		return c.name + " learns its registration epoch"
	default:
		panic(fmt.Sprintf("model: action %d", a.kind))
	}
}
