package pair

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockstep/clusterd/process"
)

// explanation is what journal dump --json says of one record, as far as it matters here.
type explanation struct {
	Verdict string
	Mode    string
	Entry   *struct {
		From, To int64
		Mode     int8
		Replicas []struct {
			Replica int32
			LEO     int64
		}
		Gates []struct {
			Cluster, Mirror string
			Floor           int64
		}
	}
	Holders []struct {
		Cluster string
		Broker  int32
	}
}

// A copy of a dead source's directory says who had a record when it was acknowledged, and any change to
// it shows.
func TestADeadSourcesCopiedJournalSaysWhoHadTheRecord(t *testing.T) {
	t.Parallel()
	source, _ := mirroredPair(t, process.Spec{Cluster: "dc1"}, process.Spec{Cluster: "dc2"}, 1)
	for i := range 20 {
		source.mustProduce(t, "orders", 0, fmt.Sprintf("before %d", i))
	}
	chosen := source.mustProduce(t, "orders", 0, "the chosen one")
	for i := range 5 {
		source.mustProduce(t, "orders", 0, fmt.Sprintf("after %d", i))
	}
	source.Kill()

	root := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(root, os.DirFS(source.Dir)); err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for i := 1; i <= source.Brokers; i++ {
		dirs = append(dirs, "--data-dir", filepath.Join(root, fmt.Sprintf("broker-%d", i)))
	}
	out, code := clusterctl(t, append([]string{"journal", "dump", "--json", "--topic", "orders", "--partition", "0", "--offset", fmt.Sprint(chosen)}, dirs...)...)
	var said explanation
	if err := json.Unmarshal([]byte(out), &said); err != nil || code != 0 {
		t.Fatalf("dump ends with %d, %v:\n%s", code, err, out)
	}
	if said.Entry == nil || said.Mode != "SYNC" || !strings.Contains(said.Verdict, "SYNC") {
		t.Fatalf("the entry that released offset %d: %s", chosen, out)
	}
	if e := said.Entry; e.From > chosen || e.To <= chosen {
		t.Errorf("the entry moved HW from %d to %d, which does not release %d", e.From, e.To, chosen)
	}
	durable := 0
	for _, r := range said.Entry.Replicas {
		if r.LEO >= said.Entry.To {
			durable++
		}
	}
	if durable != len(said.Entry.Replicas) || durable < 2 {
		t.Errorf("of the local ISR %v, not all were durable up to %d", said.Entry.Replicas, said.Entry.To)
	}
	if g := said.Entry.Gates; len(g) != 1 || g[0].Cluster != "dc2" || g[0].Mirror != "dr" || g[0].Floor < said.Entry.To {
		t.Errorf("the gating set is %v, up to %d", g, said.Entry.To)
	}
	if len(said.Holders) != 3 {
		t.Errorf("the record is on %v", said.Holders)
	}

	if out, code = clusterctl(t, append([]string{"journal", "verify"}, dirs...)...); code != 0 {
		t.Errorf("verify of the copy ends with %d:\n%s", code, out)
	}
	place := flip(t, dirs[1], "the chosen one")
	if out, code = clusterctl(t, append([]string{"journal", "verify"}, dirs...)...); code != 2 || !strings.Contains(out, place) {
		t.Errorf("verify with a flipped byte in %s ends with %d:\n%s", place, code, out)
	}
}

// flip changes one bit of a record in the segments of a directory and returns the segment's name.
func flip(t *testing.T, dir, record string) string {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(dir, "log", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range segments {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		at := strings.Index(string(data), record)
		if at < 0 {
			continue
		}
		data[at] ^= 1
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return filepath.Base(name)
	}
	t.Fatalf("no segment under %s holds %q", dir, record)
	return ""
}
