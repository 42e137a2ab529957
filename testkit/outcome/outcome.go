// Package outcome writes what a proof measured for programs to read.
package outcome

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Write puts v as JSON where a --json flag says: nowhere for "", on standard output for "-", else into that file.
func Write(to string, v any) error {
	if to == "" {
		return nil
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if to == "-" {
		fmt.Println(string(text))
		return nil
	}
	if err := os.WriteFile(filepath.Clean(to), append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
