package front

import (
	"regexp"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core/controller"
	"lockstep/actors/core/image"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// ApiVersions v0–5. v3 brings the client's software name, v5 the cluster and node it believes to talk
// to. The list is the same on every broker of a cluster (compat §1.3 rule 9).

// Features are finalized at their highest level unless an operator said otherwise (UpdateFeatures), or the process
// was started with the setting of the same name at 0 (metadata.version has one level and no setting); mirror.sync.version is what a source must show before a
// destination asks it to gate.

// unstable says from which version on an API is part of the early access to mirroring. Every key of our own is.
var unstable = map[int16]int16{messages.KeyProduce: 14, messages.KeyFetch: 19, messages.KeyCreateTopics: 8}

// offered is the API as far as this cluster offers it: without unstable.api.versions.enable, peers see and reach
// what Kafka has and nothing of ours (early access).
func (f *Front) offered(a messages.API) (messages.API, bool) {
	if f.enabled("unstable.api.versions.enable") {
		return a, true
	}
	if from, some := unstable[a.Key]; some {
		a.Max, a.ShownMax = min(a.Max, from-1), min(a.ShownMax, from-1)
	}
	return a, !a.Own || a.Key < firstMirrorKey
}

func (f *Front) serves(a messages.API, version int16) bool {
	o, some := f.offered(a)
	return some && o.Serves(version)
}

// firstMirrorKey is where the keys of the mirroring KIPs begin.
const firstMirrorKey = messages.KeyAddTopicsToMirror

func (f *Front) enabled(name string) bool { return f.brokerWord(name) == "true" }

var softwareName = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)

func (f *Front) apiVersions(r *kmsg.ApiVersionsRequest, _ Client, slot *Slot) {
	resp := r.ResponseKind().(*kmsg.ApiVersionsResponse)
	resp.ErrorCode = int16(f.judgeHandshake(r))
	for _, a := range messages.APIs() {
		if o, some := f.offered(a); some && a.Advertised {
			resp.ApiKeys = append(resp.ApiKeys, shown(o))
		}
	}
	img := f.broker.Image()
	resp.FinalizedFeaturesEpoch = img.Version
	for _, feature := range controller.Features {
		if feature.Unstable && !f.enabled("unstable.feature.versions.enable") {
			continue
		}
		if feature.Lowest > 0 || r.Version >= 4 { // Java clients of v3 fail on a level that begins at 0
			resp.SupportedFeatures = append(resp.SupportedFeatures, kmsg.ApiVersionsResponseSupportedFeature{Name: feature.Name, MinVersion: feature.Lowest, MaxVersion: feature.Highest})
		}
		level := f.finalized(img, feature.Name)
		if feature.Needs != "" {
			level = min(level, f.finalized(img, feature.Needs)) // no sync mirror without mirrors
		}
		if level > 0 { // a level of 0 is shown by leaving the feature out
			resp.FinalizedFeatures = append(resp.FinalizedFeatures, kmsg.ApiVersionsResponseFinalizedFeature{Name: feature.Name, MinVersionLevel: level, MaxVersionLevel: level})
		}
	}
	slot.Reply(resp)
}

// finalized is the level of a feature: the lower of what is finalized and what the process was started with.
func (f *Front) finalized(img *image.Image, feature string) int16 {
	if feature == image.MetadataVersion { // which is no setting
		return img.Feature(feature)
	}
	return min(int16(f.brokerNumber(feature)), img.Feature(feature))
}

func (f *Front) judgeHandshake(r *kmsg.ApiVersionsRequest) perr.Code {
	if r.Version >= 3 && !(softwareName.MatchString(r.ClientSoftwareName) && softwareName.MatchString(r.ClientSoftwareVersion)) {
		return perr.InvalidRequest
	}
	if r.Version < 5 || r.ClusterID == nil && r.NodeID == -1 {
		return perr.None
	}
	if r.ClusterID == nil || r.NodeID == -1 {
		return perr.InvalidRequest
	}
	// A client that reached a node of the other datacenter through a reused address learns it here
	// instead of mixing the two (compat §1.3 rule 6).
	if *r.ClusterID != string(f.cluster.ID()) || r.NodeID != int32(f.broker.ID()) {
		return perr.RebootstrapRequired
	}
	return perr.None
}

// unsupportedApiVersions answers a version we do not know: error 35, the layout of v0, and only the
// range of this api, so that the client asks again (compat §1.3 rule 3).
func unsupportedApiVersions() *kmsg.ApiVersionsResponse {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = int16(perr.UnsupportedVersion)
	resp.ApiKeys = []kmsg.ApiVersionsResponseApiKey{shown(apis[messages.KeyApiVersions].API)}
	return resp
}

func shown(a messages.API) kmsg.ApiVersionsResponseApiKey {
	return kmsg.ApiVersionsResponseApiKey{ApiKey: a.Key, MinVersion: a.ShownMin, MaxVersion: a.ShownMax}
}
