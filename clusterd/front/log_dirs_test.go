package front

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol/perr"
)

// TestLogDirsTellWhatPartitionsTake: each broker tells of its own volume, in every version; what was deleted is gone.
func TestLogDirsTellWhatPartitionsTake(t *testing.T) {
	h := newHouse(t, 3)
	h.create("large", 2, 3, nil)
	h.create("empty", 1, 1, nil)
	const bytes = 40_000
	var records []*kgo.Record
	for range 10 {
		records = append(records, &kgo.Record{Value: make([]byte, bytes/10), Partition: 1})
	}
	h.produce("large", records, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()))
	adm := kadm.NewClient(h.client())
	waitFor(t, "every broker to hold the records", func() bool {
		all, err := adm.DescribeAllLogDirs(patient(t), nil)
		if err != nil || len(all) != 3 {
			t.Fatal(len(all), err)
		}
		for _, dirs := range all {
			if p, ok := dirs.LookupPartition("large", 1); !ok || p.Size < bytes {
				return false
			}
		}
		return true
	})
	found := 0
	for id, b := range h.cluster.Brokers() {
		r := kmsg.NewPtrDescribeLogDirsRequest()
		for version := int16(1); version <= 4; version++ {
			dir := h.raw(id+1, r, version).(*kmsg.DescribeLogDirsResponse).Dirs[0]
			if dir.Dir != b.Dir() || !filepath.IsAbs(dir.Dir) || dir.ErrorCode != 0 {
				t.Errorf("version %d of broker %d: %+v", version, id+1, dir)
			}
			if version == 4 && (dir.UsableBytes <= 0 || dir.TotalBytes < dir.UsableBytes) {
				t.Errorf("broker %d: %d of %d bytes are usable", id+1, dir.UsableBytes, dir.TotalBytes)
			}
			for _, rt := range dir.Topics {
				for _, p := range rt.Partitions {
					if rt.Topic == "empty" && version == 4 {
						found++
					}
					if large := rt.Topic == "large" && p.Partition == 1; (p.Size >= bytes) != large || !large && p.Size != 0 || p.Size > 2*bytes || p.OffsetLag != 0 {
						t.Errorf("broker %d, %s/%d takes %d bytes, lag %d", id+1, rt.Topic, p.Partition, p.Size, p.OffsetLag)
					}
				}
			}
		}
	}
	if found != 1 {
		t.Errorf("one replica of a topic was found %d times", found)
	}
	ask := kmsg.NewPtrDescribeLogDirsRequest()
	ask.Topics = []kmsg.DescribeLogDirsRequestTopic{{Topic: "large", Partitions: []int32{1, 7}}, {Topic: "nobody", Partitions: []int32{0}}}
	if got := h.raw(1, ask, 2).(*kmsg.DescribeLogDirsResponse).Dirs[0].Topics; len(got) != 1 || len(got[0].Partitions) != 1 || got[0].Partitions[0].Partition != 1 {
		t.Errorf("one partition asked for: %+v", got)
	}
	ask.Topics = []kmsg.DescribeLogDirsRequestTopic{}
	if got := h.raw(1, ask, 2).(*kmsg.DescribeLogDirsResponse).Dirs[0].Topics; len(got) != 0 {
		t.Errorf("nothing asked for: %+v", got)
	}
	if _, err := adm.DeleteTopics(patient(t), "large"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the deleted topic to go", func() bool {
		all, err := adm.DescribeAllLogDirs(patient(t), nil)
		return err == nil && !hasTopic(all, "large")
	})
}

func hasTopic(all kadm.DescribedAllLogDirs, name string) (found bool) {
	all.Each(func(d kadm.DescribedLogDir) { _, here := d.Topics[name]; found = found || here })
	return found
}

// TestALostVolumeIsAnOfflineDirectory, named, with nothing said of what may be in it.
func TestALostVolumeIsAnOfflineDirectory(t *testing.T) {
	h := newHouse(t, 3)
	h.create("t", 1, 3, nil)
	h.volumes[1].Poison(errors.New("the disk is gone"))
	h.produce("t", values("x", 3))
	waitFor(t, "the volume to be given up", func() bool { return h.cluster.Brokers()[1].Err() != nil })
	dir := h.raw(2, kmsg.NewPtrDescribeLogDirsRequest(), 4).(*kmsg.DescribeLogDirsResponse).Dirs[0]
	if perr.Code(dir.ErrorCode) != perr.KafkaStorageError || dir.Dir != h.cluster.Brokers()[1].Dir() || len(dir.Topics) != 0 || dir.TotalBytes != -1 {
		t.Errorf("%+v", dir)
	}
}
