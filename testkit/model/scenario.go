package model

// Scenario is a set of bounds with a name. Small scenarios are explored to the end within seconds; they
// are what a switched-off rule is shown to the search in.
type Scenario struct {
	Name   string
	Bounds Bounds
}

// Scenarios lists them, the cheapest first. Each allows what one kind of rule is about.
func Scenarios() []Scenario {
	of := func(name string, change func(*Bounds)) Scenario {
		b := Bounds{Destinations: 1, Records: 1, MinISR: 1, Floors: 2, Answers: 1}
		change(&b)
		return Scenario{name, b}
	}
	return []Scenario{
		of("quiet", func(b *Bounds) { b.Records, b.SrcSync, b.DstSync = 2, true, true }),
		of("source-election", func(b *Bounds) { b.SrcElections, b.DstSync, b.Lag = 1, true, true }),
		of("release", func(b *Bounds) { b.Releases, b.Lag = 1, true }),
		of("destination-election", func(b *Bounds) { b.DstElections, b.Lag, b.Graceful = 1, true, true }),
		of("joining", func(b *Bounds) { b.DstElections, b.Outside, b.Lag = 1, true, true }),
		of("source-crash", func(b *Bounds) { b.Crashes, b.SrcSync = 1, true }),
		of("destination-crash", func(b *Bounds) { b.Crashes, b.DstSync = 1, true }),
		of("lagging", func(b *Bounds) { b.Ticks, b.DstElections, b.Floors = 1, 1, 1 }),
		of("two-records", func(b *Bounds) { b.SrcElections, b.Records, b.Floors = 1, 2, 1 }),
		of("removal", func(b *Bounds) { b.Shrinking, b.DstElections, b.Lag = true, 1, true }),
		of("late-joiner", func(b *Bounds) { b.Shrinking, b.SrcElections, b.Records, b.Floors = true, 1, 2, 1 }),
		of("under-min-isr", func(b *Bounds) { b.Shrinking, b.MinISR, b.Records, b.Floors = true, 2, 2, 1 }),
		of("source-under-min-isr", func(b *Bounds) { b.Ticks, b.MinISR, b.Floors = 1, 2, 1 }),
		of("unclean", func(b *Bounds) { b.Ticks, b.Unclean = 1, 1 }),
		of("both-elections", func(b *Bounds) { b.SrcElections, b.DstElections = 1, 1 }),
		of("two-answers", func(b *Bounds) { b.SrcElections, b.Answers, b.Records = 1, 2, 2 }),
		of("re-elected", func(b *Bounds) { b.SrcElections, b.Floors, b.Lag = 2, 1, true }),
		of("two-destinations", func(b *Bounds) { b.Destinations, b.SrcElections = 2, 1 }),
	}
}
