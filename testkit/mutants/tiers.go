package mutants

import (
	"errors"
	"fmt"
	"os"
	"time"

	"lockstep/testkit/model"
	"lockstep/testkit/rules"
)

// Tier is one kind of proof that can notice a rule that is off. A tier that builds something does so at
// its first use.
type Tier interface {
	Name() string
	// Knows reports whether this tier has something to say about the rule: an absent rule that it knows and
	// does not notice has survived.
	Knows(rules.Rule) bool
	// Kill runs the tier with the rule off. by names what noticed, "" if nothing did; took does not count builds.
	Kill(rules.Rule) (by string, took time.Duration, err error)
	Close()
}

// Tiers are the kinds of proof, the cheapest first. A new one is added here.
func Tiers(root string) []Tier {
	return []Tier{&unit{root: root}, &explored{root: root}}
}

// unit is the tests of the package that carries the rule.
type unit struct{ root, dir string }

func (*unit) Name() string { return "unit" }

func (*unit) Knows(rules.Rule) bool { return true }

func (u *unit) Kill(r rules.Rule) (string, time.Duration, error) {
	if u.dir == "" {
		dir, err := os.MkdirTemp("", "lockstep-mutants-")
		if err != nil {
			return "", 0, fmt.Errorf("make directory: %w", err)
		}
		u.dir = dir
	}
	by, took, err := rules.Try(u.root, u.dir, r)
	var broken *rules.BrokenError
	if errors.As(err, &broken) && broken.Output != nil {
		return "", 0, fmt.Errorf("%w\n%s", err, broken.Output)
	}
	return by, took, err
}

func (u *unit) Close() {
	if u.dir != "" {
		_ = os.RemoveAll(u.dir)
	}
}

// explored is the search through every schedule of a small mirrored partition.
type explored struct {
	root string
	hunt *model.Hunt
}

func (*explored) Name() string { return "model" }

func (*explored) Knows(r rules.Rule) bool { return model.Counterexamples[r.Switch] != "" }

func (e *explored) Kill(r rules.Rule) (string, time.Duration, error) {
	if e.hunt == nil {
		hunt, err := model.NewHunt(e.root)
		if err != nil {
			return "", 0, err
		}
		e.hunt = hunt
	}
	began := time.Now()
	by, _, err := e.hunt.Without(r.Switch, model.Counterexamples[r.Switch])
	return by, time.Since(began), err
}

func (e *explored) Close() {
	if e.hunt != nil {
		e.hunt.Close()
	}
}
