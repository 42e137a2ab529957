package front

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core"
	"lockstep/actors/core/access"
	"lockstep/actors/core/image"
	"lockstep/protocol/perr"
)

// may asks the authorizer, which judges by the broker's own image: an ACL counts on a broker once it has heard of it, as in
// a KRaft Kafka. It is called for every topic of a produce, so it allocates nothing for who may. A denial is logged.
func (f *Front) may(from Client, op access.Operation, t access.ResourceType, name string) bool {
	if f.sees(from, op, t, name) {
		return true
	}
	f.denials.warn(f.log, "not allowed", "principal", string(from.Principal), "address", from.Addr, "operation", kmsg.ACLOperation(op).String(),
		"resource", kindOf(t), "name", name[:min(len(name), 100)])
	return false
}

// sees is may for what is left out where it is denied, or may be allowed otherwise: nobody is refused anything yet.
func (f *Front) sees(from Client, op access.Operation, t access.ResourceType, name string) bool {
	if !f.access.On {
		return true
	}
	return f.image().ACLs.Allowed(f.access, from.Principal, from.Host, op, t, name)
}

func (f *Front) seesCluster(from Client, op access.Operation) bool {
	return f.sees(from, op, access.Cluster, access.ClusterName)
}

// asker is somebody for whoever judges later.
func (f *Front) asker(from Client) access.Asker {
	if !f.access.On {
		return access.Asker{}
	}
	return access.Asker{Rules: f.image().ACLs, Settings: f.access, Principal: from.Principal, Host: from.Host}
}

// mayCluster is may for the cluster itself.
func (f *Front) mayCluster(from Client, op access.Operation) bool {
	return f.may(from, op, access.Cluster, access.ClusterName)
}

// mayAny is may for some resource of a type, whichever it is.
func (f *Front) mayAny(from Client, op access.Operation, t access.ResourceType) bool {
	if !f.access.On {
		return true
	}
	return f.image().ACLs.AllowedByType(f.access, from.Principal, from.Host, op, t)
}

// topicFor is findTopic for somebody who wants to do op. Whoever may not is told so of a name whether there is such a topic or
// not (compat-S08). Of an id everybody may learn whether it is known, as in Kafka: nobody guesses one.
func (f *Front) topicFor(from Client, op access.Operation, img *image.Image, name string, id core.TopicID, byID bool) (*image.Topic, perr.Code) {
	t, code := findTopic(img, name, id, byID)
	if byID {
		if code != perr.None {
			return nil, code
		}
		name = t.Name
	}
	if !f.may(from, op, access.Topic, name) {
		return nil, perr.TopicAuthorizationFailed
	}
	return t, code
}

// mayConfigure judges what is about the settings of a resource: those of brokers belong to the cluster.
func (f *Front) mayConfigure(from Client, op access.Operation, kind kmsg.ConfigResourceType, name string) (perr.Code, string) {
	var t access.ResourceType
	var denied perr.Code
	switch kind {
	case kmsg.ConfigResourceTypeTopic:
		t, denied = access.Topic, perr.TopicAuthorizationFailed
	case kmsg.ConfigResourceTypeGroupConfig:
		t, denied = access.Group, perr.GroupAuthorizationFailed
	case clusterMirror:
		t, denied = access.ClusterMirror, perr.ClusterMirrorAuthorizationFailed
	default:
		t, name, denied = access.Cluster, access.ClusterName, perr.ClusterAuthorizationFailed
	}
	if f.may(from, op, t, name) {
		return perr.None, ""
	}
	return denied, denial(from, op, t, name)
}

// denial tells who is denied what they lack, of a resource that they named themselves.
func denial(from Client, op access.Operation, t access.ResourceType, name string) string {
	return fmt.Sprintf("%s needs %s on %s %s, by an ACL or as one of super.users", from.Principal, kmsg.ACLOperation(op), kindOf(t), name)
}

// kindOf is Kafka's name of a type of resources.
func kindOf(t access.ResourceType) string {
	if t == access.ClusterMirror {
		return "CLUSTER_MIRROR"
	}
	return kmsg.ACLResourceType(t).String()
}
