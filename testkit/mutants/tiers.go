package mutants

import (
	"fmt"
	"slices"
	"strings"
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
	// A *rules.BrokenError says that this tier can tell nothing of the rule now.
	Kill(rules.Rule) (by string, took time.Duration, err error)
	Close()
}

// Tiers are the kinds of proof, the cheapest first. A new one is added here.
func Tiers(root string) []Tier {
	hunt := &lazyHunt{root: root}
	return []Tier{&unit{root: root}, &explored{hunt}, &simulated{hunt}}
}

// unit is the tests of the package that carries the rule.
type unit struct {
	root  string
	trial *rules.Trial
}

func (*unit) Name() string { return "unit" }

func (*unit) Knows(rules.Rule) bool { return true }

func (u *unit) Kill(r rules.Rule) (string, time.Duration, error) {
	if u.trial == nil {
		trial, err := rules.NewTrial(u.root)
		if err != nil {
			return "", 0, err
		}
		u.trial = trial
	}
	return u.trial.Try(r)
}

func (u *unit) Close() {
	if u.trial != nil {
		u.trial.Close()
	}
}

// lazyHunt is this program with switches, built when a tier first needs it.
type lazyHunt struct {
	root string
	hunt *model.Hunt
}

func (l *lazyHunt) get() (*model.Hunt, error) {
	if l.hunt == nil {
		hunt, err := model.NewHunt(l.root)
		if err != nil {
			return nil, err
		}
		l.hunt = hunt
	}
	return l.hunt, nil
}

func (l *lazyHunt) Close() {
	if l.hunt != nil {
		l.hunt.Close()
	}
}

// explored is the search through every schedule of a small mirrored partition and of its registration.
type explored struct{ *lazyHunt }

func (*explored) Name() string { return "model" }

func (*explored) Knows(r rules.Rule) bool { return model.Counterexamples[r.Switch] != "" }

func (e *explored) Kill(r rules.Rule) (string, time.Duration, error) {
	hunt, err := e.get()
	if err != nil {
		return "", 0, err
	}
	began := time.Now()
	by, _, err := hunt.Without(r.Switch, model.Counterexamples[r.Switch])
	return by, time.Since(began), err
}

// simulated is whole clusters under one seed.
type simulated struct{ *lazyHunt }

// bySeeds are rules that the first seeds of the simulation notice when they are off.
var bySeeds = []string{
	"confirmPastLastOffset", "duplicateWaitsForOriginal", "freezeUnderMinISR", "removalCountsWhenCommitted", "reportOnlyDurable",
	"requireExactSourceEpoch", "syncFetchWhileGated", "unknownBlocks",
}

func (*simulated) Name() string { return "sim" }

func (*simulated) Knows(r rules.Rule) bool { return slices.Contains(bySeeds, r.Switch) }

func (s *simulated) Kill(r rules.Rule) (string, time.Duration, error) {
	hunt, err := s.get()
	if err != nil {
		return "", 0, err
	}
	began := time.Now()
	out, err := hunt.Run("sim", "smoke", "--off", r.Switch, "--for", "2m")
	by := strings.TrimSpace(string(out))
	if _, noticed, ok := strings.Cut(by, "noticed by "); ok && err == nil {
		return noticed, time.Since(began), nil
	}
	if strings.Contains(by, "seeds noticed in") {
		return "", time.Since(began), nil
	}
	return "", 0, fmt.Errorf("simulate without %s: %w\n%s", r.Switch, err, out)
}
