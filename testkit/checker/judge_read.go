package checker

import "slices"

func vanished(j *judging) {
	for i := range j.Polls {
		p := &j.Polls[i]
		for k, offset := range p.Offsets {
			now, there := j.at[p.Partition][offset]
			switch {
			case !there:
				j.wrong("%s saw %s at offset %d of %s at %s, and the log has nothing there", j.Readers[p.Reader].Name, j.name(p.Values[k]), offset, j.Partitions[p.Partition], instant(p.At))
			case now != p.Values[k]:
				j.wrong("%s saw %s at offset %d of %s at %s, where the log has %s", j.Readers[p.Reader].Name, j.name(p.Values[k]), offset, j.Partitions[p.Partition], instant(p.At), now)
			}
		}
	}
}

// visible is what a reader can see of a partition at the end.
func (j *judging) visible(reader, partition int) []Entry {
	if j.Readers[reader].Committed {
		return j.Stable[partition]
	}
	return j.Final[partition]
}

// between are the records of a log from one offset, inclusive, to another, exclusive.
func between(log []Entry, from, to int64) []Entry {
	at := func(offset int64) int {
		i, _ := slices.BinarySearchFunc(log, offset, func(e Entry, o int64) int { return int(min(max(e.Offset-o, -1), 1)) })
		return i
	}
	if from >= to {
		return nil
	}
	return log[at(from):at(to)]
}

func skipped(j *judging) {
	for k, polls := range j.polls {
		reader, partition := k[0], k[2]
		next := int64(-1) // the lowest offset that the session may see now; not known before its first record
		for _, p := range polls {
			for _, offset := range p.Offsets {
				switch missed := between(j.visible(reader, partition), next, offset); {
				case next >= 0 && offset < next:
					j.wrong("%s saw offset %d of %s at %s after it had seen %d, in one session", j.Readers[reader].Name, offset, j.Partitions[partition], instant(p.At), next-1)
				case next >= 0 && len(missed) > 0:
					j.wrong("%s went from offset %d of %s to %d at %s past %d records, of which %s is the first",
						j.Readers[reader].Name, next-1, j.Partitions[partition], offset, instant(p.At), len(missed), j.name(missed[0].Value))
				}
				next = offset + 1
			}
		}
	}
}

func unseen(j *judging) {
	if j.Mirrored {
		return
	}
	type who struct{ reader, partition int } // reader -1: the group together
	seen := map[who]map[int64]bool{}
	note := func(w who, offsets []int64) {
		if seen[w] == nil {
			seen[w] = map[int64]bool{}
		}
		for _, o := range offsets {
			seen[w][o] = true
		}
	}
	group := -1
	for r, reader := range j.Readers {
		if reader.Group {
			group = r
		}
		for p := range j.Partitions {
			if reader.ToEnd {
				note(who{r, p}, nil)
			}
			if reader.Group {
				note(who{-1, p}, nil)
			}
		}
	}
	for _, p := range j.Polls {
		switch reader := j.Readers[p.Reader]; {
		case reader.Group:
			note(who{-1, p.Partition}, p.Offsets)
		case reader.ToEnd:
			note(who{p.Reader, p.Partition}, p.Offsets)
		}
	}
	for w, offsets := range seen {
		name, as := "the group", group
		if w.reader >= 0 {
			name, as = j.Readers[w.reader].Name, w.reader
		}
		for _, e := range j.visible(as, w.partition) {
			if !offsets[e.Offset] {
				j.wrong("%s never saw offset %d of %s, %s", name, e.Offset, j.Partitions[w.partition], j.name(e.Value))
			}
		}
	}
}

func above(j *judging) {
	for i := range j.Polls {
		p := &j.Polls[i]
		if len(p.Offsets) == 0 {
			continue
		}
		newest, reader := p.Offsets[len(p.Offsets)-1], j.Readers[p.Reader]
		switch {
		case newest >= p.HW:
			j.wrong("%s saw offset %d of %s at %s, where HW is %d", reader.Name, newest, j.Partitions[p.Partition], instant(p.At), p.HW)
		case reader.Committed && newest >= p.LSO:
			j.wrong("%s saw offset %d of %s at %s as committed, where the LSO is %d", reader.Name, newest, j.Partitions[p.Partition], instant(p.At), p.LSO)
		}
	}
}
