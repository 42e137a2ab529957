package faults

import (
	"fmt"
	"regexp"
	"slices"

	"lockstep/protocol/perr"
	dc "lockstep/testkit/datacenter"
)

// What a refusal says, and of whom. A text that none of these is, is wrong.
var (
	mirrorBehind = regexp.MustCompile(`^appended at offset (\d+), not yet durable on ([a-z]+)$`)
	mirrorUnder  = regexp.MustCompile(`^(appended, not committed: )?mirror ([a-z]+) of cluster \S+ has \d+ in-sync replicas and needs \d+; it recovers by itself or must be released$`)
	oursBehind   = regexp.MustCompile(`^appended at offset \d+, not yet durable on the in-sync replicas \[[\d ]+\]$`)
	oursUnder    = regexp.MustCompile(`^appended at offset \d+, not committed: in-sync replicas \[[\d ]*\] are fewer than min\.insync\.replicas \d+$`)
	oursRefused  = regexp.MustCompile(`^in-sync replicas \[[\d ]*\] are fewer than min\.insync\.replicas \d+$`)
)

// judge holds an answer to acks=all against what may hold acknowledgements now (R9, R10). why is "" when the answer is
// right; verdict is the class it is counted under.
func judge(version int16, a dc.Answer, s situation) (verdict, why string) {
	if a.Err != nil {
		if s.source {
			return "no answer", "" // the connection went with a stopped broker; the record may be there or not
		}
		return "no answer", "nothing happened to the source, and it did not answer"
	}
	name := a.Code.Name()
	switch a.Code {
	case perr.None:
		if len(s.deaf) > 0 {
			return name, fmt.Sprintf("acknowledged, and mirror %v cannot have it", s.deaf)
		}
		return name, ""
	case perr.MirrorSyncReplicationTimeout:
		if version < 14 {
			return name, "Produce below 14 does not know the code"
		}
		return behind(name, a.Text, s)
	case perr.NotEnoughRemoteReplicasAfterAppend:
		if version < 14 {
			return name, "Produce below 14 does not know the code"
		}
		return under(name, a.Text, s, true)
	case perr.NotEnoughReplicasAfterAppend: // what older clients get for both; nothing else is answered with it
		if version >= 14 {
			return name, "Produce 14 has a code of its own for each"
		}
		if mirrorUnder.MatchString(a.Text) {
			return under(name, a.Text, s, true)
		}
		return behind(name, a.Text, s)
	case perr.NotEnoughReplicas:
		if !oursRefused.MatchString(a.Text) {
			return under(name, a.Text, s, false)
		}
		if !s.source {
			return name, "all replicas of the source are in sync"
		}
		return name + " of our own", ""
	case perr.RequestTimedOut: // our own disks, which may be slow at any time; our own ISR only when brokers are stopped
		if oursBehind.MatchString(a.Text) || (s.source && oursUnder.MatchString(a.Text)) {
			return name, ""
		}
		return name, "it says nothing of our own replicas"
	case perr.NotLeaderOrFollower, perr.LeaderNotAvailable, perr.NotController:
		if !s.source {
			return name, "no leader has moved"
		}
		return name, ""
	default:
		return name, "no rule says so"
	}
}

// behind is the answer of R10 that names the slowest mirror.
func behind(name, text string, s situation) (verdict, why string) {
	m := mirrorBehind.FindStringSubmatch(text)
	if m == nil {
		return name, "it does not say which mirror lacks which offset"
	}
	verdict = name + " naming " + m[2]
	switch {
	case !slices.Contains(s.hit, m[2]):
		return verdict, m[2] + " holds nothing"
	case len(s.deaf) > 0 && !s.source && !slices.Contains(s.deaf, m[2]):
		return verdict, fmt.Sprintf("%v holds it, not %s", s.deaf, m[2])
	}
	return verdict, ""
}

// under is the answer of R9.
func under(name, text string, s situation, appended bool) (verdict, why string) {
	m := mirrorUnder.FindStringSubmatch(text)
	if m == nil {
		return name, "it does not say which mirror has too few replicas"
	}
	verdict = name + " naming " + m[2]
	switch {
	case appended != (m[1] != ""):
		return verdict, "the text does not fit the code: was it appended or not?"
	case !slices.Contains(s.under, m[2]):
		return verdict, "all replicas of " + m[2] + " are in sync"
	}
	return verdict, ""
}
