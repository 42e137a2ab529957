package transactions

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

// A short life; `testkit transactions` lives longer.
func TestTransactionsSurviveFaults(t *testing.T) {
	c := Command{Runs: 3, Load: time.Second, Producers: 4, Seed: 7}
	if err := c.run(); err != nil {
		t.Fatal(err)
	}
}

// C12: what was answered is at the mirror, whenever the source dies.
func TestAnsweredTransactionsSurviveTheirSource(t *testing.T) {
	c := Command{Runs: 1, Load: 2 * time.Second, Producers: 4, Seed: 7, Failover: true}
	if err := c.run(); err != nil {
		t.Fatal(err)
	}
}

// The judge must notice what it is there for.
func TestTheJudgeNotices(t *testing.T) {
	told := func(f fate) []*producer {
		return []*producer{{txns: []*txn{{name: "p.1.", values: 2, fate: f}}}}
	}
	half := map[string]int{"orders p.1.0": 1, "copies p.1.0": 1}
	whole := map[string]int{"orders p.1.0": 1, "copies p.1.0": 1, "payments p.1.1": 1}
	twice := map[string]int{"orders p.1.0": 2, "copies p.1.0": 1, "payments p.1.1": 1}
	for _, c := range []struct {
		name string
		fate fate
		seen map[string]int
		good bool
	}{
		{"committed", committed, whole, true}, {"committed, lost", committed, nil, false}, {"committed, half", committed, half, false},
		{"committed, twice", committed, twice, false}, {"aborted", aborted, nil, true}, {"aborted, read", aborted, whole, false},
		{"unknown, all", unknown, whole, true}, {"unknown, none", unknown, nil, true}, {"unknown, torn", unknown, half, false},
		{"not copied", committed, map[string]int{"orders p.1.0": 1, "payments p.1.1": 1}, false},
		{"copied twice", committed, map[string]int{"orders p.1.0": 1, "copies p.1.0": 2, "payments p.1.1": 1}, false},
	} {
		if v := judge(told(c.fate), c.seen, false); (len(v.wrong) == 0) != c.good {
			t.Errorf("%s: %v", c.name, v.wrong)
		}
	}
}
