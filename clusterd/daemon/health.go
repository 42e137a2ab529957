package daemon

import (
	"encoding/json"
	"net/http"
	"time"

	"lockstep/actors/core"
	"lockstep/actors/core/mirror"
	"lockstep/actors/shell"
)

// describeWait bounds how long /health/mirrors waits for one mirror.
const describeWait = time.Second

// mirrorsHealth is the body of GET /health/mirrors. Topics that are as wanted are not listed.
type mirrorsHealth struct {
	Healthy bool          `json:"healthy"`
	Sync    int           `json:"sync"` // topics that are SYNC, complete and confirmed now
	Topics  []unprotected `json:"topics"`
}

// unprotected is one topic that should be SYNC and is not known to be so now. Topic is empty when the
// whole mirror does not answer.
type unprotected struct {
	Mirror string `json:"mirror"`
	Topic  string `json:"topic"`
	State  string `json:"state"`
	Reason string `json:"reason"`
}

// mirrors answers 200 while every topic that an operator wants SYNC is SYNC and confirmed, else 503. It
// is about protection, not about this process: orchestrators restart on /livez, never on this.
func (h *httpServer) mirrors(w http.ResponseWriter, _ *http.Request) {
	all := mirrorsHealth{Topics: []unprotected{}}
	for _, name := range h.daemon.cluster.Mirrors() {
		m, reason := h.describe(name)
		if reason != "" {
			all.Topics = append(all.Topics, unprotected{Mirror: string(name), State: "UNKNOWN", Reason: reason})
			continue
		}
		if !m.Exists {
			continue
		}
		for _, t := range m.Topics {
			reason, wanted := missing(t)
			switch {
			case !wanted:
			case reason == "":
				all.Sync++
			default:
				all.Topics = append(all.Topics, unprotected{Mirror: string(name), Topic: t.Name, State: t.State, Reason: reason})
			}
		}
	}
	all.Healthy = len(all.Topics) == 0
	w.Header().Set("Content-Type", "application/json")
	if !all.Healthy {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	if err := json.NewEncoder(w).Encode(all); err != nil {
		h.daemon.log.Debug("answer not read", "err", err)
	}
}

// missing says why a topic that should be SYNC is not known to be so, "" if it is. Topics that nobody
// wants SYNC, and those that were stopped, are not wanted.
func missing(t mirror.TopicDescription) (reason string, wanted bool) {
	switch {
	case t.Desired != mirror.TypeSync || t.Phase == mirror.Stopped || t.Phase == mirror.Stopping:
		return "", false
	case t.Phase != mirror.Sync && t.ErrorMessage != "":
		return t.ErrorMessage, true
	case t.Phase != mirror.Sync && t.Recovery:
		return "released or demoted, on its way back", true
	case t.Phase != mirror.Sync:
		return "not yet admitted and armed at the source", true
	case t.Partial && t.ErrorMessage != "":
		return t.ErrorMessage, true
	case t.Partial:
		return "a partition is not gated by the source", true
	case t.Unconfirmed:
		return "the source has not confirmed every partition within the claim lease", true
	default:
		return "", true
	}
}

func (h *httpServer) describe(name core.MirrorName) (m mirror.Description, reason string) {
	answer := make(chan any, 1)
	h.daemon.cluster.Mirror(name, func(ref core.RequestID) mirror.Command { return mirror.Describe{Ref: ref} }, func(a any) { answer <- a })
	select {
	case a := <-answer:
		switch a := a.(type) {
		case mirror.Described:
			return a.Mirror, ""
		case shell.Failed:
			return m, a.Text
		default:
			return m, "the mirror gave no description"
		}
	case <-time.After(describeWait):
		return m, "the mirror did not answer within " + describeWait.String()
	}
}
