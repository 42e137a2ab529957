package front

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core/access"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
	"lockstep/actors/shell"
	"lockstep/protocol/perr"
)

// UpdateFeatures v0–2: finalizes group.version, mirror.version, mirror.sync.version and transaction.version; metadata.version
// has one level. v1 brings the kind of the update and dry runs; up to v1 each feature is named in a success. A level of 0
// turns a feature off.

// What an update may do, since v1.
const (
	upgradeOnly     int8 = 1
	downgradeSafe   int8 = 2
	downgradeUnsafe int8 = 3
)

func (f *Front) updateFeatures(r *kmsg.UpdateFeaturesRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.UpdateFeaturesResponse)
	if !f.mayCluster(from, access.Alter) {
		resp.ErrorCode, resp.ErrorMessage = int16(perr.ClusterAuthorizationFailed), text(denial(from, access.Alter, access.Cluster, access.ClusterName))
		slot.Reply(resp)
		return
	}
	cmd := controller.UpdateFeatures{DryRun: r.ValidateOnly}
	named := map[string]bool{}
	for _, u := range r.FeatureUpdates {
		down := u.AllowDowngrade
		if r.Version >= 1 {
			down = u.UpgradeType == downgradeSafe || u.UpgradeType == downgradeUnsafe
			if u.UpgradeType < upgradeOnly || u.UpgradeType > downgradeUnsafe {
				resp.ErrorCode = int16(perr.InvalidRequest)
				resp.ErrorMessage = text(fmt.Sprintf("feature %s: update type %d; 1 is an upgrade, 2 a safe and 3 an unsafe downgrade", u.Feature, u.UpgradeType))
				slot.Reply(resp)
				return
			}
		}
		known := slices.ContainsFunc(controller.Features, func(f controller.Feature) bool { return f.Name == u.Feature })
		if s, some := controller.FindSetting(u.Feature); known && some && u.MaxVersionLevel > 0 && f.brokerSetting(s).value == "0" {
			resp.ErrorCode = int16(perr.FeatureUpdateFailed)
			resp.ErrorMessage = text(fmt.Sprintf("clusterd was started with %s=0: start it without that setting first", u.Feature))
			slot.Reply(resp)
			return
		}
		cmd.Updates = append(cmd.Updates, controller.FeatureUpdate{Feature: u.Feature, Level: u.MaxVersionLevel, Downgrade: down})
		if named[u.Feature] || !known {
			break // one that is wrong fails all: what stands behind it is not the controller's to compare
		}
		named[u.Feature] = true
	}
	f.cluster.UpdateFeatures(cmd, func(reply any) {
		switch e := reply.(type) {
		case controller.FeaturesAnswered:
			for _, result := range e.Results {
				out := kmsg.NewUpdateFeaturesResponseResult()
				out.Feature, out.ErrorCode, out.ErrorMessage = result.Feature, int16(result.Code), text(result.Text)
				if result.Code != perr.None {
					// One that is wrong fails all, in every version, and none is named then, as in Kafka.
					resp.ErrorCode, resp.Results = int16(result.Code), nil
					resp.ErrorMessage = text("The update failed for all features since the following feature had an error: " + result.Text)
					break
				}
				if r.Version < 2 {
					resp.Results = append(resp.Results, out)
				}
			}
		case shell.Failed:
			resp.ErrorCode, resp.ErrorMessage = int16(perr.RequestTimedOut), text(e.Text)
		default:
			panic("front: unknown answer to UpdateFeatures")
		}
		if resp.ErrorCode != 0 {
			slot.Reply(resp)
			return
		}
		// Clients look at another broker's ApiVersions at once.
		f.whenFeatures(cmd, func() { slot.Reply(resp) })
	})
}

// whenFeatures calls done when this broker's image has the levels of cmd, or after a second.
func (f *Front) whenFeatures(cmd controller.UpdateFeatures, done func()) {
	f.whenSeen(func(img *image.Image) bool {
		for _, u := range cmd.Updates {
			if img.Feature(u.Feature) != u.Level {
				return cmd.DryRun
			}
		}
		return true
	}, done)
}
