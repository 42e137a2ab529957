package suites

import (
	"errors"
	"strings"
	"testing"
)

func TestToolsAreJudgedByWhatTheyPrint(t *testing.T) {
	fill := strings.NewReplacer("REPLICAS", "3")
	u := use{wants: []string{"Factor: REPLICAS"}, never: []string{"Topic: x"}, seen: offsetsSum("v", 5)}
	for said, right := range map[string]bool{
		"Factor: 3\nv:0:2\nv:1:3\n":                  true,
		"Factor: 1\nv:0:5\n":                         false,
		"Factor: 3\nv:0:2\n":                         false,
		"Factor: 3\nv:0:5\nTopic: x\n":               false,
		"Factor: 3\nv:0:5\nTimeoutException: late\n": false,
	} {
		if wrong := u.judge(said, fill, nil); (wrong == "") != right {
			t.Errorf("%q: %q", said, wrong)
		}
	}
	if (use{}).judge("", fill, errors.New("exit status 1")) == "" {
		t.Error("a tool that failed passed")
	}
	refused := use{refused: "no.such.setting"}
	if refused.judge("no.such.setting", fill, nil) == "" || refused.judge("no.such.setting", fill, errors.New("exit status 1")) != "" {
		t.Error("a tool that must fail is judged wrongly")
	}
}

func TestEachUseOfAToolHasItsName(t *testing.T) {
	names := map[string]bool{}
	for _, u := range javaUses {
		if u.name == "" || names[u.name] {
			t.Errorf("%q names two uses, or none", u.name)
		}
		names[u.name] = true
	}
}
