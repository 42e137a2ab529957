package front

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/controller"
	"lockstep/actors/core/mirror"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

// CreateClusterMirror v0: makes a mirror with this cluster as its destination. The source's cluster id is
// asked from the source unless the settings name it; an unreachable source is then an error, because
// nothing could tell later whether the right cluster answers.

const (
	bootstrapServers = "bootstrap.servers"
	sourceClusterID  = "source.cluster.id"
)

// sourcePatience bounds questions to the source that an administrator waits for.
const sourcePatience = 10 * time.Second

// Source asks the source cluster of a mirror. Its methods block: they run on goroutines of their own.
type Source interface {
	// Check says what is wrong with the settings of a mirror, "" if nothing is. It asks nobody.
	Check(config map[string]string) string
	// Identify returns the id of the cluster at the mirror's bootstrap servers.
	Identify(ctx context.Context, config map[string]string) (core.ClusterID, error)
	// Topics returns the topics whose names are in names or match one of include as a whole, without those
	// that match one of exclude, with the settings that are copied (D22).
	Topics(ctx context.Context, config map[string]string, names, include, exclude []string) ([]mirror.SourceTopic, error)
}

var mirrorNames = regexp.MustCompile(`^[A-Za-z0-9._-]{1,249}$`)

func (f *Front) createClusterMirror(r *messages.CreateClusterMirrorRequest, from Client, slot *Slot) {
	resp := r.ResponseKind().(*messages.CreateClusterMirrorResponse)
	refuse := func(code perr.Code, why string) {
		resp.ErrorCode, resp.ErrorMessage = int16(code), text(why)
		slot.Reply(resp)
	}
	if !f.may(from, access.Create, access.ClusterMirror, r.MirrorName) {
		refuse(perr.ClusterMirrorAuthorizationFailed, denial(from, access.Create, access.ClusterMirror, r.MirrorName))
		return
	}
	config := map[string]string{}
	for _, c := range r.Configs {
		if c.Value == nil {
			refuse(perr.InvalidConfig, "setting "+c.Name+" has no value; leave it out to get the default")
			return
		}
		config[c.Name] = *c.Value
	}
	if class, given := config[mirror.MinClassSetting]; given {
		if why := controller.CheckTopicSetting(mirror.MinClassSetting, class); why != "" {
			refuse(perr.InvalidConfig, why)
			return
		}
	}
	switch {
	case !mirrorNames.MatchString(r.MirrorName) || r.MirrorName == "." || r.MirrorName == "..":
		refuse(perr.InvalidRequest, fmt.Sprintf("mirror name %q; use 1 to 249 of A-Z a-z 0-9 . _ -", r.MirrorName))
		return
	case config[bootstrapServers] == "":
		refuse(perr.InvalidRequest, "the mirror's settings need bootstrap.servers: host:port of brokers of the source")
		return
	}
	if why := f.source.Check(config); why != "" {
		refuse(perr.InvalidConfig, why)
		return
	}
	f.detached(slot, func(ctx context.Context) {
		source := core.ClusterID(config[sourceClusterID])
		asked := maps.Clone(config)
		delete(asked, sourceClusterID) // who answers is the question
		found, err := f.source.Identify(ctx, asked)
		switch {
		case err != nil && source == "":
			refuse(perr.InvalidRequest, fmt.Sprintf("the source at %s did not say which cluster it is (%v); start it, or add source.cluster.id to the mirror's settings", config[bootstrapServers], err))
			return
		case err == nil && source != "" && found != source:
			refuse(perr.InvalidConfig, fmt.Sprintf("source.cluster.id is %s, but %s answers as cluster %s", source, config[bootstrapServers], found))
			return
		case err == nil:
			source = found
		}
		if source == f.cluster.ID() {
			refuse(perr.InvalidConfig, fmt.Sprintf("%s is this cluster, %s: a mirror's source must be another one", config[bootstrapServers], source))
			return
		}
		config[sourceClusterID] = string(source)
		resp.SourceClusterId = string(source)
		f.cluster.Mirror(core.MirrorName(r.MirrorName), func(ref core.RequestID) mirror.Command {
			return mirror.CreateMirror{Ref: ref, Mirror: core.MirrorName(r.MirrorName), SourceCluster: source, Config: config}
		}, func(reply any) {
			code, why := mirrorAnswer(reply)
			refuse(code, why)
		})
	})
}

// detached runs work that blocks, beside the connection, for at most sourcePatience; it ends early when
// the client goes away.
func (f *Front) detached(slot *Slot, work func(context.Context)) {
	ctx, cancel := context.WithTimeout(context.Background(), sourcePatience)
	slot.OnClose(cancel)
	f.live.Add(1)
	go func() {
		defer f.live.Done()
		defer cancel()
		work(ctx)
	}()
}
