package frameworks

import (
	"errors"
	"fmt"

	"lockstep/testkit/outcome"
)

// tell prints the table and writes it to a file when one is named.
func tell(file string, results []result, failed error) error {
	fmt.Printf("\n%-10s %8s %8s %8s %9s %8s %6s %6s %8s %9s\n", "FRAMEWORK", "MINUTES", "FAULTS", "FED", "RECORDS", "MISSING", "WRONG", "TWICE", "RETAKEN", "STALL s")
	for _, r := range results {
		n := 0
		for _, times := range r.Faults {
			n += times
		}
		fmt.Printf("%-10s %8g %8d %8d %9d %8d %6d %6d %8d %9.1f  %v\n", r.Framework, r.Minutes, n, r.Fed, r.Records, r.Missing, r.Wrong, r.Twice, r.Retaken, r.Longest, r.Faults)
		for _, note := range r.Notes {
			fmt.Printf("           %s\n", note)
		}
	}
	return errors.Join(failed, outcome.Write(file, results))
}
