// Command gen turns protocol/schemas into Go: journal events, Kafka and KIP messages, bus messages,
// records, error codes and the table of APIs. Output depends on the schemas alone.
//
//	go run ./protocol/gen                        everything
//	go run ./protocol/gen journal/registration   one machine's events
//	go run ./protocol/gen messages               one part: journal, messages, errors, apis
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

// idBlocks keeps ids of durable events unique over all machines.
var idBlocks = map[string]struct{ first, last int16 }{
	"highwater":    {100, 119},
	"partition":    {120, 149},
	"controller":   {150, 179},
	"registration": {200, 229},
	"transaction":  {180, 199},
	"mirror":       {230, 269},
	"group":        {270, 299},
}

// moreIDs is a second block for a machine whose first one is full.
var moreIDs = map[string]struct{ first, last int16 }{
	"mirror": {400, 429},
}

func main() {
	root, err := moduleRoot()
	if err == nil {
		err = generate(root, os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "protocol/gen:", err)
		os.Exit(1)
	}
}

func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}

// generate makes the named parts, or all of them.
func generate(root string, parts []string) error {
	if len(parts) == 0 {
		parts = []string{"errors", "apis", "messages", "journal"}
	}
	ids := map[int16]string{}
	for _, part := range parts {
		kind, machine, one := strings.Cut(strings.TrimSuffix(part, ".json"), "/")
		var err error
		switch {
		case part == "errors":
			err = errorCodes(root)
		case part == "apis":
			err = apiTable(root)
		case part == "messages":
			err = messageFiles(root)
		case kind == "journal" && one:
			err = journal(root, machine, ids)
		case kind == "journal":
			err = journals(root, ids)
		default:
			err = fmt.Errorf("unknown part %q: want journal, journal/<machine>, messages, errors or apis", part)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func journals(root string, ids map[int16]string) error {
	files, err := filepath.Glob(filepath.Join(root, "protocol/schemas/journal/*.json"))
	if err != nil {
		return err
	}
	sort.Strings(files)
	for _, f := range files {
		if err := journal(root, strings.TrimSuffix(filepath.Base(f), ".json"), ids); err != nil {
			return err
		}
	}
	return nil
}
