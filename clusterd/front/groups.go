package front

import (
	"lockstep/actors/core"
	"lockstep/actors/core/group"
	"lockstep/actors/shell"
	"lockstep/protocol/perr"
)

// askGroup asks the coordinator of a group if this broker is it (D25). Otherwise, and when the
// coordinator stepped away, answer is called with nil and a code that makes the client look again.
func (f *Front) askGroup(id string, build func(core.RequestID) group.Command, answer func(reply any, code perr.Code)) {
	if id == "" {
		answer(nil, perr.InvalidGroupId)
		return
	}
	if f.cluster.GroupOwner(f.broker.Image(), id) != f.broker.ID() {
		answer(nil, perr.NotCoordinator)
		return
	}
	f.cluster.Group(id, build, func(reply any) {
		if failed, ok := reply.(shell.Failed); ok {
			f.log.Warn("a group coordinator failed", "group", id, "reason", failed.Text)
			answer(nil, perr.NotCoordinator)
			return
		}
		answer(reply, perr.None)
	})
}
