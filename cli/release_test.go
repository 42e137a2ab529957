package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"lockstep/protocol/admin"
	"lockstep/protocol/perr"
)

func TestAReleaseIsOneJSONValue(t *testing.T) {
	c := mirrorsCommand{Mirror: "dr", DryRun: true}
	var w bytes.Buffer
	if err := printJSON(&w, c.releaseRow(admin.Release{Number: 3, Cluster: "dc2", Wait: 11 * time.Second, Topics: []admin.TopicResult{
		{Topic: "orders"}, {Topic: "pays", Err: errors.New("taken over")},
	}})); err != nil {
		t.Fatal(err)
	}
	var got releaseRow
	if err := json.Unmarshal(w.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Mirror != "dr" || got.Cluster != "dc2" || got.Release != 3 || !got.DryRun || got.WaitMs != 11_000 || len(got.Topics) != 2 ||
		got.Topics[0].Error != "" || got.Topics[1].Error != "taken over" {
		t.Errorf("%s", w.String())
	}
	w.Reset()
	if err := printJSON(&w, c.releaseRow(admin.Release{})); err != nil || !strings.Contains(w.String(), `"topics": []`) {
		t.Errorf("no topics are %s, %v", w.String(), err)
	}
}

// A release that was refused for every topic released nothing: to say what is acknowledged "from now on" would be false.
func TestARefusedReleaseReleasesNothing(t *testing.T) {
	refused := []admin.TopicResult{{Topic: "orders", Err: errors.New("taken over")}}
	for _, row := range []struct {
		name    string
		command mirrorsCommand
		topics  []admin.TopicResult
		want    string // empty: nothing but the error
	}{
		{"all refused", mirrorsCommand{}, refused, ""},
		{"all refused, JSON", mirrorsCommand{JSON: true}, refused, `"error": "taken over"`},
		{"one refused", mirrorsCommand{}, append(refused, admin.TopicResult{Topic: "pays"}), "Released 1 topic(s)"},
		{"a mirror without topics", mirrorsCommand{Forget: true}, nil, "no longer belongs to dc2"},
	} {
		var w bytes.Buffer
		_, err := row.command.outcome(&w, admin.Release{Number: 1, Cluster: "dc2", Topics: row.topics})
		if (err == nil) != (row.topics == nil) || !strings.Contains(w.String(), row.want) || row.want == "" && w.Len() > 0 {
			t.Errorf("%s: %q, %v", row.name, w.String(), err)
		}
	}
}

// A dead destination is released although it has taken another topic over: were that an error, its remedy, --force, would
// let two clusters take the writes of a topic that waits for nobody.
func TestAReleaseOfAMirrorLeavesWhatItTookOverAlone(t *testing.T) {
	taken := admin.TopicResult{Topic: "orders", Err: &admin.Error{Code: perr.InvalidClusterMirrorState, Text: "taken over; --force"}}
	other := admin.TopicResult{Topic: "cash", Err: &admin.Error{Code: perr.InvalidSyncRegistration}}
	pays := admin.TopicResult{Topic: "pays"}
	for _, row := range []struct {
		name    string
		command mirrorsCommand
		topics  []admin.TopicResult
		refused bool
		want    string
	}{
		{"the whole mirror", mirrorsCommand{}, []admin.TopicResult{taken, pays}, false, "Left alone: 1 topic(s) that dc2 has taken over: [orders]"},
		{"by name", mirrorsCommand{Topics: []string{"orders", "pays"}}, []admin.TopicResult{taken, pays}, true, "Released 1 topic(s)"},
		{"nothing else", mirrorsCommand{}, []admin.TopicResult{taken}, true, ""},
		{"another refusal", mirrorsCommand{}, []admin.TopicResult{taken, other, pays}, true, "Left alone: 1 topic(s)"},
		{"JSON", mirrorsCommand{JSON: true}, []admin.TopicResult{taken, pays}, false, `"error": "INVALID_CLUSTER_MIRROR_STATE: taken over; --force"`},
	} {
		var w bytes.Buffer
		_, err := row.command.outcome(&w, admin.Release{Number: 1, Cluster: "dc2", Topics: row.topics})
		if (err != nil) != row.refused || !strings.Contains(w.String(), row.want) || row.want == "" && w.Len() > 0 {
			t.Errorf("%s: %q, %v", row.name, w.String(), err)
		}
	}
}

func TestAWarningNamesItsTopicOnce(t *testing.T) {
	var w bytes.Buffer
	if _, err := report(&w, []admin.TopicResult{{Topic: "orders", Warning: `topic "orders" becomes SYNC once its lag is zero`}}); err != nil {
		t.Fatal(err)
	}
	if got, want := w.String(), "Warning: topic orders: becomes SYNC once its lag is zero\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
