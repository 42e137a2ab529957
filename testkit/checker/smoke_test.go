package checker

import (
	"os"
	"testing"
	"time"

	"lockstep/testkit/binaries"
)

func TestMain(m *testing.M) {
	code := m.Run()
	binaries.Remove()
	os.Exit(code)
}

func TestAShortHistoryOfAClusterKeepsEveryPromise(t *testing.T) {
	c := &Command{Rate: 20, Every: 500 * time.Millisecond, Seed: 1}
	h := c.play(t, newRecorder(), 4*time.Second)
	v := Judge(h)
	for _, broken := range v.Violations {
		t.Errorf("%s: %s", broken.Rule, broken.Text)
	}
	if out := summary(h, v); out.Acked == 0 || out.Polled == 0 || out.Commits == 0 || out.Register == 0 || out.Ends == 0 || out.Txns[Committed] == 0 || len(out.Faults) == 0 {
		t.Errorf("little was done: %+v", out)
	}
	if t.Failed() {
		if path, err := c.file(); err == nil {
			t.Logf("the history is in %s (%v)", path, h.Save(path))
		}
	}
}
