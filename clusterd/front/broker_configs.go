package front

import (
	"fmt"
	"maps"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
	"lockstep/actors/shell"
	"lockstep/protocol/perr"
)

// Settings of running brokers (resource type 4). A broker takes those of its own and, under no name, those of all brokers
// that have none of their own, as in Kafka.

func (f *Front) alterBroker(rr *kmsg.IncrementalAlterConfigsRequestResource, dryRun bool, answer func(perr.Code, string)) {
	id, why := f.configuredBroker(rr.ResourceName)
	if why != "" {
		answer(perr.InvalidRequest, why)
		return
	}
	// A list is appended to as it counts for whoever is named.
	now := map[string]string{}
	for _, op := range rr.Configs {
		if s, known := controller.FindSetting(op.Name); known && s.Type == controller.List {
			l := f.layers(nil)
			if id == core.NoReplica {
				l.Broker = nil
			}
			now[op.Name] = l.Effective(op.Name)
		}
	}
	set, deleted, why := altered(now, rr.Configs)
	if why != "" {
		answer(perr.InvalidConfig, "broker "+rr.ResourceName+": "+why)
		return
	}
	f.setBroker(rr.ResourceName, controller.AlterBroker{Set: set, Delete: deleted, DryRun: dryRun}, answer)
}

// configuredBroker is the broker of that name, NoReplica for all, or says what is wrong.
func (f *Front) configuredBroker(name string) (core.ReplicaID, string) {
	if name == "" {
		return core.NoReplica, ""
	}
	id, err := strconv.ParseInt(name, 10, 32)
	switch {
	case err != nil:
		return 0, fmt.Sprintf("broker %q: use the id of a broker, or no name for all of them", name)
	case core.ReplicaID(id) != f.broker.ID():
		return 0, fmt.Sprintf("this is broker %d, ask broker %s itself", f.broker.ID(), name)
	}
	return f.broker.ID(), ""
}

func (f *Front) setBroker(name string, c controller.AlterBroker, answer func(perr.Code, string)) {
	var why string
	if c.Broker, why = f.configuredBroker(name); why == "" {
		_, err := ParseOverrides(c.Set["max.connections.per.ip.overrides"])
		if err != nil {
			why = err.Error()
		}
	}
	if why != "" {
		answer(perr.InvalidRequest, why)
		return
	}
	f.cluster.AlterBroker(c, func(reply any) {
		switch e := reply.(type) {
		case controller.Done:
			if e.Code != perr.None || c.DryRun {
				answer(e.Code, e.Text)
				return
			}
			f.whenSeen(func(img *image.Image) bool {
				now := maps.Clone(img.Settings[c.Broker])
				for _, name := range c.Delete {
					if _, left := now[name]; left {
						return false
					}
				}
				for key, value := range c.Set {
					if now[key] != value {
						return false
					}
				}
				return !c.Whole || len(now) == len(c.Set)
			}, func() { answer(perr.None, "") })
		case shell.Failed:
			answer(perr.RequestTimedOut, e.Text)
		default:
			panic("front: unknown answer to AlterBroker")
		}
	})
}
