package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"lockstep/actors/core"
	"lockstep/journal"
	"lockstep/journal/audit"
	"lockstep/journal/log"
	"lockstep/journal/quorum"
	"lockstep/journal/vfs"
	"lockstep/journal/volume"
)

type journalCommand struct {
	Dump       journalDump       `cmd:"" help:"Show entries. Safe on a live or copied directory. With --topic --partition --offset: who had the record, and what released its ack."`
	Verify     journalVerify     `cmd:"" help:"Check every CRC, the hash chain, pins and witnesses. Safe on a live or copied directory. Exit code 2 when something is wrong."`
	Rebuild    journalRebuild    `cmd:"" help:"Make the index of a stopped volume again from its commit log."`
	Quarantine journalQuarantine `cmd:"" help:"List what truncations cut out of mirrored logs, and check it. Exit code 2 when a file is not what was cut."`
	Forget     journalForget     `cmd:"" name:"forget-volume" help:"Drop a lost volume from the control quorum of a stopped cluster."`
}

type dataDirs struct {
	DataDir []string `name:"data-dir" required:"" sep:"none" help:"Data directory of a logical broker; repeat for each."`
}

type journalVerify struct {
	dataDirs
	JSON bool `name:"json" help:"As JSON."`
}

// verifyRow is one volume as JSON.
type verifyRow struct {
	DataDir  string   `json:"dataDir"`
	Cluster  string   `json:"cluster"`
	Broker   int32    `json:"broker"`
	Segments int      `json:"segments"`
	Entries  uint64   `json:"entries"`
	Bytes    int64    `json:"bytes"`
	First    uint64   `json:"firstIndex"`
	Last     uint64   `json:"lastIndex"`
	Hash     string   `json:"hash"`
	Torn     string   `json:"torn"`
	Problems []string `json:"problems"`
}

func (c *journalVerify) Run(w io.Writer) error {
	report, err := audit.Verify(c.DataDir...)
	if err != nil {
		return err
	}
	rows := []verifyRow{}
	t := table{heads: []string{"BROKER", "DATA-DIR", "SEGMENTS", "ENTRIES", "LAST-INDEX", "CHAIN", "RESULT"}, limits: []int{0, 40}, names: []int{1, 0}, spare: []int{2, 5}}
	for _, v := range report.Volumes {
		row := verifyRow{DataDir: v.Path, Cluster: string(v.Meta.Cluster), Broker: int32(v.Meta.Broker), Segments: v.Segments, Entries: v.Frames,
			Bytes: v.Bytes, First: v.First, Last: v.Last, Hash: hex.EncodeToString(v.Hash[:]), Torn: v.Torn, Problems: []string{}}
		result := "clean"
		if v.Torn != "" {
			result = "clean; unacknowledged tail: " + v.Torn
		}
		for _, p := range v.Problems {
			row.Problems = append(row.Problems, p.String())
			result = fmt.Sprintf("%d PROBLEMS", len(v.Problems))
		}
		rows = append(rows, row)
		t.add(fmt.Sprintf("%s/%d", row.Cluster, row.Broker), v.Path, fmt.Sprint(v.Segments), fmt.Sprint(v.Frames), fmt.Sprint(v.Last), row.Hash[:12], result)
	}
	if c.JSON {
		err = printJSON(w, rows)
	} else {
		t.print(w)
		for _, r := range rows {
			for _, p := range r.Problems {
				fmt.Fprintln(w, p)
			}
		}
	}
	if err == nil && !report.OK() {
		err = fmt.Errorf("journal is %w: see the problems listed", errUnwanted)
	}
	return err
}

type journalRebuild struct{ dataDirs }

func (c *journalRebuild) Run(w io.Writer) error {
	for _, dir := range c.DataDir {
		report, err := audit.Rebuild(dir)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "Rebuilt the index of %s up to entry %d\n", dir, report.Last)
	}
	return nil
}

type journalForget struct {
	dataDirs
	Broker []int32 `required:"" help:"Broker id of the lost volume; --data-dir names the ones that are left."`
}

// Run opens the remaining volumes as the daemon would, which a running one refuses, and writes the
// smaller membership to all of them.
func (c *journalForget) Run(w io.Writer) error {
	var options []volume.Options
	for _, dir := range c.DataDir {
		d, err := vfs.OpenReal(filepath.Join(dir, "log"))
		if err != nil {
			return fmt.Errorf("--data-dir %s: %w", dir, err)
		}
		meta, err := log.ReadMeta(d)
		if err != nil {
			return fmt.Errorf("--data-dir %s is not a journal: %w", dir, err)
		}
		options = append(options, volume.Options{Dir: dir, Cluster: meta.Cluster, Broker: meta.Broker})
	}
	var forget []core.ReplicaID
	for _, id := range c.Broker {
		forget = append(forget, core.ReplicaID(id))
	}
	volumes, err := volume.OpenAll(options, nil)
	if err != nil {
		return err
	}
	var members []quorum.Member
	for i, v := range volumes {
		members = append(members, quorum.Member{ID: options[i].Broker, Journal: v})
	}
	q, err := quorum.Open(members, quorum.Options{Forget: forget})
	if err == nil {
		err = q.Close()
	}
	for _, v := range volumes {
		err = errors.Join(err, v.Close())
	}
	if err == nil {
		fmt.Fprintf(w, "Broker %v is no longer a member of the control quorum; %d volumes are\n", c.Broker, len(volumes))
	}
	return err
}

type journalDump struct {
	dataDirs
	Stream    string `help:"Only streams that begin with this, as in ledger/ or control/mirror/."`
	Topic     string `help:"Only this topic, by name or id."`
	Partition int32  `default:"-1" help:"Only this partition."`
	Offset    int64  `default:"-1" help:"With --topic and --partition: this record, and what released its ack."`
	JSON      bool   `name:"json" help:"One JSON object per line."`
}

// Run ends with exit code 2 where the journal is damaged: it was looked at and is not as it should be.
func (c *journalDump) Run(w io.Writer) error {
	err := c.dump(w)
	var damage *log.Damage
	if errors.As(err, &damage) {
		err = fmt.Errorf("journal is %w: %w", errUnwanted, err)
	}
	return err
}

func (c *journalDump) dump(w io.Writer) error {
	topic, err := c.topicID()
	if err != nil {
		return err
	}
	if c.Offset >= 0 {
		if topic == "" || c.Partition < 0 {
			return errors.New("--offset needs --topic and --partition")
		}
		return c.explain(w, topic)
	}
	for _, dir := range c.DataDir {
		if !c.JSON {
			fmt.Fprintf(w, "# %s\n", dir)
		}
		if err := audit.Dump(dir, c.Stream, func(e audit.Entry) error {
			if !c.wants(e.Stream, topic) {
				return nil
			}
			row, err := render(e)
			if err != nil {
				return fmt.Errorf("%s, entry %d of %s: %w", dir, e.Seq, e.Stream, err)
			}
			return row.print(w, c.JSON)
		}); err != nil {
			return err
		}
	}
	return nil
}

// wants matches partition/<topic>/<p>/… and ledger/<topic>/<p>/….
func (c *journalDump) wants(s journal.Stream, topic string) bool {
	if topic == "" && c.Partition < 0 {
		return true
	}
	parts := strings.Split(string(s), "/")
	if len(parts) < 3 || (parts[0] != "partition" && parts[0] != "ledger") {
		return false
	}
	return (topic == "" || parts[1] == topic) && (c.Partition < 0 || parts[2] == fmt.Sprint(c.Partition))
}
