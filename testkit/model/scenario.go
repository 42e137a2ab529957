package model

// Scenario is a set of bounds with a name. Small scenarios are explored to the end within seconds; they
// are what a switched-off rule is shown to the search in.
type Scenario struct {
	Name   string
	Quick  bool // ends within seconds
	Bounds Bounds
	Pact   *PactBounds // set: of the control plane, and Bounds are not
}

// Search explores the scenario.
func (s Scenario) Search(limits Limits) Result {
	if s.Pact == nil {
		return Search(s.Bounds, limits)
	}
	return explore(func(log func(string, ...any)) *pact { return newPact(s.Pact, log) }, limits)
}

func (s Scenario) bounds() string {
	if s.Pact != nil {
		return s.Pact.String()
	}
	return s.Bounds.String()
}

// Scenarios lists them. Each allows what one kind of rule is about.
func Scenarios() []Scenario {
	of := func(name string, quick bool, change func(*Bounds)) Scenario {
		b := Bounds{Destinations: 1, Records: 1, MinISR: 1, Floors: 2, Answers: 1, Start: quiet}
		change(&b)
		return Scenario{Name: name, Quick: quick, Bounds: b}
	}
	pact := func(name string, quick bool, b PactBounds) Scenario {
		return Scenario{Name: name, Quick: quick, Pact: &b}
	}
	return []Scenario{
		of("quiet", true, func(b *Bounds) { b.Records, b.SrcSync, b.DstSync = 2, true, true }),
		of("retry", true, func(b *Bounds) { b.Retries, b.SrcElections, b.SrcSync = 1, 1, true }),
		of("source-election", true, func(b *Bounds) { b.SrcElections, b.DstSync, b.Lag = 1, true, true }),
		of("release", true, func(b *Bounds) { b.Releases, b.Lag = 1, true }),
		of("destination-election", true, func(b *Bounds) { b.DstElections, b.Lag, b.Graceful = 1, true, true }),
		of("joining", true, func(b *Bounds) { b.DstElections, b.Outside, b.Lag = 1, true, true }),
		of("rejoining", true, func(b *Bounds) { b.DstElections, b.Outside, b.Fenced = 1, true, true }),
		of("rejoining-late", false, func(b *Bounds) {
			b.Start, b.SrcElections, b.DstCrashes, b.Outside, b.Fenced, b.DstSync = restart, 1, 1, true, true, true
		}),
		of("source-crash", true, func(b *Bounds) { b.SrcCrashes, b.SrcSync = 1, true }),
		of("destination-crash", true, func(b *Bounds) { b.DstCrashes, b.DstSync = 1, true }),
		of("source-loss", true, func(b *Bounds) { b.Losses = 1 }),
		of("in-place", false, func(b *Bounds) { b.SrcCrashes, b.SrcSync, b.Records, b.Floors = 1, true, 2, 1 }),
		of("zombie-source", false, func(b *Bounds) { b.SrcElections, b.Answers, b.Records, b.Floors, b.Lag = 1, 2, 2, 1, true }),
		of("lagging", false, func(b *Bounds) { b.Ticks, b.DstElections, b.Floors = 1, 1, 1 }),
		of("two-records", false, func(b *Bounds) { b.SrcElections, b.Records, b.Floors = 1, 2, 1 }),
		of("removal", true, func(b *Bounds) { b.Start, b.DstElections, b.Lag = removal, 1, true }),
		of("late-joiner", false, func(b *Bounds) { b.Start, b.SrcElections, b.Records, b.Floors = removal, 1, 2, 1 }),
		of("under-min-isr", false, func(b *Bounds) { b.Start, b.MinISR, b.Records, b.Floors = removal, 2, 2, 1 }),
		of("source-under-min-isr", true, func(b *Bounds) { b.Ticks, b.MinISR, b.Floors = 1, 2, 1 }),
		of("unclean", true, func(b *Bounds) { b.Ticks, b.Unclean = 1, 1 }),
		of("both-elections", false, func(b *Bounds) { b.SrcElections, b.DstElections = 1, 1 }),
		of("two-answers", false, func(b *Bounds) { b.SrcElections, b.Answers, b.Records = 1, 2, 2 }),
		of("re-elected", false, func(b *Bounds) { b.SrcElections, b.Floors, b.Lag, b.Graceful = 2, 1, true, true }),
		of("two-destinations", false, func(b *Bounds) { b.Destinations, b.SrcElections = 2, 1 }),
		pact("claim", true, PactBounds{Records: 2, Messages: 2, Evidence: 2, Elections: 1, Commands: 2}),
		pact("claim-lags", true, PactBounds{Records: 1, Messages: 2, Evidence: 1, Elections: 1, Commands: 2, Lag: true}),
		pact("released", false, PactBounds{Records: 1, Messages: 2, Evidence: 1, Releases: 1, Ticks: 1, Commands: 3, Rest: true}),
		pact("released-twice", true, PactBounds{Messages: 2, Evidence: 1, Releases: 2, Ticks: 1, Commands: 4, StartsClaimed: true}),
		pact("change-of-mind", true, PactBounds{Records: 1, Messages: 2, Evidence: 1, Changes: 1, Commands: 4, StartsClaimed: true, Rest: true}),
		pact("early-changes", true, PactBounds{Messages: 3, Evidence: 1, Changes: 2, Commands: 3}),
		pact("changes-of-mind", true, PactBounds{Records: 1, Messages: 3, Evidence: 1, Changes: 2, Commands: 4, StartsClaimed: true, Rest: true}),
		pact("restarts", true, PactBounds{Records: 1, Messages: 2, Evidence: 1, Changes: 2, SrcRestarts: 1, DstRestarts: 1, Commands: 4, StartsClaimed: true}),
		pact("torn", true, PactBounds{Records: 1, Messages: 2, Evidence: 1, Changes: 2, DstRestarts: 1, Commands: 3, Torn: true}),
		pact("torn-rest", true, PactBounds{Records: 1, Messages: 2, Evidence: 1, Changes: 1, DstRestarts: 1, Commands: 3, StartsClaimed: true, Torn: true, Rest: true}),
		pact("restored", true, PactBounds{Messages: 2, Evidence: 1, Changes: 2, Restores: 1, Commands: 5, StartsClaimed: true, Rest: true}),
		pact("restored-early", true, PactBounds{Messages: 2, Evidence: 1, Changes: 1, Restores: 1, Commands: 4, Rest: true}),
		pact("released-restarts", false, PactBounds{Records: 1, Messages: 2, Evidence: 1, Releases: 1, Ticks: 1, SrcRestarts: 1, DstRestarts: 1, Commands: 4, StartsClaimed: true}),
		pact("released-elections", false, PactBounds{Records: 2, Messages: 2, Evidence: 2, Releases: 1, Ticks: 1, Elections: 1, Commands: 3, StartsClaimed: true, Lag: true}),
		pact("whole-releases", false, PactBounds{Records: 1, Messages: 3, Evidence: 1, Releases: 2, Ticks: 1, Changes: 1, Commands: 4, StartsClaimed: true, Whole: true}),
		pact("after-lease", true, PactBounds{Records: 1, Messages: 2, Evidence: 1, Releases: 1, Ticks: 1, LongTicks: 1, SrcRestarts: 1, Commands: 3, StartsClaimed: true, AfterLease: true}),
		pact("silence", true, PactBounds{Records: 1, Messages: 2, Evidence: 1, Releases: 1, LongTicks: 1, Commands: 2, StartsClaimed: true, Lag: true}),
	}
}
