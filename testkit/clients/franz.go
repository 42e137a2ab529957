package clients

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

func franzTransacts(ctx context.Context, _, bootstrap, topic, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read lines: %w", err)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(bootstrap, ",")...), kgo.DefaultProduceTopic(topic),
		kgo.ProducerBatchCompression(kgo.GzipCompression()), kgo.TransactionalID("franz-"+topic))
	if err != nil {
		return fmt.Errorf("make a transactional client: %w", err)
	}
	defer cl.Close()
	for lines := range slices.Chunk(strings.Split(strings.TrimSpace(string(text)), "\n"), linesPerTransaction) {
		for _, commit := range []bool{false, true} {
			if err := cl.BeginTransaction(); err != nil {
				return fmt.Errorf("begin: %w", err)
			}
			var first kgo.FirstErrPromise
			for _, line := range lines {
				if !commit {
					line = "aborted-" + line
				}
				cl.Produce(ctx, kgo.StringRecord(line), first.Promise())
			}
			if err := first.Err(); err != nil {
				return fmt.Errorf("produce: %w", err)
			}
			if err := cl.EndTransaction(ctx, kgo.TransactionEndTry(commit)); err != nil {
				return fmt.Errorf("end with commit %v: %w", commit, err)
			}
		}
	}
	return nil
}
