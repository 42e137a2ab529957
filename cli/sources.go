package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"lockstep/protocol/admin"
	"lockstep/protocol/messages"
)

// sourceRow is one topic of this cluster that mirrors of others gate or have taken over, as JSON.
type sourceRow struct {
	Topic            string            `json:"topic"`
	Standing         string            `json:"standing"`
	Era              int64             `json:"era"`
	SuccessorCluster string            `json:"successorCluster"`
	SuccessorMirror  string            `json:"successorMirror"`
	SuccessorEra     int64             `json:"successorEra"`
	Planned          bool              `json:"planned"`
	Note             string            `json:"note"`
	IgnoredClaims    int64             `json:"ignoredClaims"`
	Registrations    []registrationRow `json:"registrations"`
}

type registrationRow struct {
	Cluster    string `json:"cluster"`
	Mirror     string `json:"mirror"`
	Registered bool   `json:"registered"`
	Epoch      int64  `json:"registrationEpoch"`
	Release    int64  `json:"releaseNumber"`
	Leaving    bool   `json:"leaving"`
	LeaveMs    int64  `json:"leaveMs"`
	SilentMs   int64  `json:"silentMs"`
	HoldsMs    int64  `json:"holdsMs"`
}

// describeSources shows this cluster as a source. Without --sources an empty table is left out.
func (c *mirrorsCommand) describeSources(ctx context.Context, w io.Writer, cl *admin.Client) error {
	sources, err := cl.Sources(ctx)
	if err != nil {
		return err
	}
	rows := []sourceRow{}
	t := sourcesTable()
	for _, s := range sources {
		if !c.matches(s.TopicName) {
			continue
		}
		row := sourceRow{Topic: s.TopicName, Standing: s.Standing, Era: s.Era, SuccessorCluster: s.SuccessorCluster, SuccessorMirror: s.SuccessorMirror,
			SuccessorEra: s.SuccessorEra, Planned: s.Planned, Note: s.Text, IgnoredClaims: s.IgnoredClaims, Registrations: []registrationRow{}}
		for _, r := range s.Registrations {
			row.Registrations = append(row.Registrations, registrationRow{r.ClusterId, r.MirrorName, r.Registered, r.RegistrationEpoch, r.ReleaseNumber, r.Leaving, r.LeaveMs, r.SilentMs, r.HoldsMs})
		}
		rows = append(rows, row)
		addSource(&t, s)
	}
	switch {
	case c.JSON:
		return printJSON(w, rows)
	case len(rows) > 0:
		fmt.Fprintln(w, "\nTopics of this cluster that other clusters mirror synchronously:")
		t.print(w)
	case c.Sources:
		fmt.Fprintln(w, "No topic of this cluster is mirrored synchronously")
	}
	return nil
}

// sourcesTable shows what a mirror says of itself whole: a remedy without its beginning names no mirror.
func sourcesTable() table {
	return table{heads: []string{"TOPIC", "STANDING", "ERA", "MIRRORS", "NOTE"}, limits: []int{40, 10, 6}, names: []int{0}, texts: 2}
}

func addSource(t *table, s messages.DescribeClusterMirrorsResponseSourceTopic) {
	var mirrors []string
	for _, r := range s.Registrations {
		if s.Standing == "SUPERSEDED" {
			r.HoldsMs = -1 // producers are refused here, whoever waited: a plain release would be refused as well
		}
		mirrors = append(mirrors, registrationText(r))
	}
	t.add(s.TopicName, s.Standing, number(s.Era), strings.Join(mirrors, ", "), sourceNote(s))
}

func registrationText(r messages.DescribeClusterMirrorsResponseRegistration) string {
	name := r.ClusterId + "/" + r.MirrorName
	switch {
	case r.Registered && r.HoldsMs >= 0:
		return name + " gated, " + holding(r)
	case r.Registered:
		return name + " gated"
	case r.Leaving && r.LeaveMs >= 0:
		return fmt.Sprintf("%s released (%d), acks wait for it for %s at most", name, r.ReleaseNumber, ago(r.LeaveMs))
	case r.Leaving:
		return fmt.Sprintf("%s released (%d), acks wait for it for its claim lease at most", name, r.ReleaseNumber)
	case r.ReleaseNumber != 0:
		return fmt.Sprintf("%s released (%d)", name, r.ReleaseNumber)
	default:
		return name + " left"
	}
}

// silentMs is how long a mirror that holds acks may be unheard before it is called silent: a third of the default lease,
// which is how often an idle one repeats itself.
const silentMs = 3400

// holding says since when producers wait for a mirror, how long it has been silent, and the remedy.
func holding(r messages.DescribeClusterMirrorsResponseRegistration) string {
	heard := "never heard by its leaders"
	if r.SilentMs >= 0 {
		heard = "silent for " + ago(r.SilentMs)
	}
	if r.SilentMs >= 0 && r.SilentMs < silentMs {
		return "holds acks for " + ago(r.HoldsMs) + ", heard a moment ago"
	}
	return fmt.Sprintf("holds acks for %s, %s: repair cluster %s, or --release-sync --mirror %s (ends zero RPO)", ago(r.HoldsMs), heard, r.ClusterId, r.MirrorName)
}

func ago(ms int64) string {
	return (time.Duration(ms) * time.Millisecond).Round(100 * time.Millisecond).String()
}

// sourceNote says in a sentence who takes the writes.
func sourceNote(s messages.DescribeClusterMirrorsResponseSourceTopic) string {
	note := s.Text
	if note != "" && s.Standing == "PRIMARY" {
		note = "not switched over: " + note
	}
	switch s.Standing {
	case "FENCED":
		note = strings.TrimSuffix(fmt.Sprintf("producers wait while cluster %s takes over as era %d: %s", s.SuccessorCluster, s.SuccessorEra, note), ": ")
	case "SUPERSEDED":
		verb := "failover"
		if s.Planned {
			verb = "switchover"
		}
		note = fmt.Sprintf("cluster %s took over by a %s (era %d); --release-sync --force takes the writes back", s.SuccessorCluster, verb, s.SuccessorEra)
	}
	if s.IgnoredClaims > 0 {
		note = strings.TrimPrefix(fmt.Sprintf("%s; %d claims of an era by clusters that may not make them were ignored", note, s.IgnoredClaims), "; ")
	}
	return note
}
