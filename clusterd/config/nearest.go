package config

import (
	"fmt"

	"lockstep/actors/core/controller"
)

// nearest is the remedy for a misspelt setting: the known one that differs least, if it is close.
func nearest(name string) string {
	best, least := "", 4
	for _, s := range controller.Settings {
		if d := distance(name, s.Name); d < least {
			best, least = s.Name, d
		}
	}
	if best == "" {
		return "names are Kafka's; kafka-configs --entity-type brokers --describe --all lists those that exist"
	}
	return fmt.Sprintf("names are Kafka's, did you mean %s?", best)
}

// distance is how many characters must be put in, taken out or changed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
