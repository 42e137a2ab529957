package storm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"lockstep/clusterd/process"
	"lockstep/protocol/admin"
	"lockstep/protocol/messages"
)

// patience bounds what an operator's command and a start may take.
const patience = 30 * time.Second

// site is one clusterd with its admin client.
type site struct {
	*process.Process
	admin *admin.Client
}

func startSite(binary, dir, cluster string) (*site, error) {
	s := &site{Process: &process.Process{Spec: process.Spec{Binary: binary, Cluster: cluster, Dir: filepath.Join(dir, cluster),
		Args: []string{"--segment-bytes", "4194304", "--set", "lockstep.superseded.rebootstrap=true"}}}}
	if err := s.start(); err != nil {
		return nil, err
	}
	var err error
	s.admin, err = admin.New(s.Bootstrap())
	return s, err
}

// start runs the data of the site, on the ports it had before.
func (s *site) start() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p, err := process.Start(ctx, s.Spec)
	if err == nil {
		s.Process = p
	}
	return err
}

func (s *site) broker(ctx context.Context, id int, verb string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("http://%s/v1/brokers/%d/%s", s.HTTP, id, verb), nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	res.Body.Close()
	if res.StatusCode >= 300 {
		return fmt.Errorf("%s broker %d of %s: %s", verb, id, s.Cluster, res.Status)
	}
	return nil
}

// sites is the pair, and the line between the destination and the source's NATS.
type sites struct {
	source, destination *site
	line                *line
}

func startSites(binary, dir string) (*sites, error) {
	s := &sites{}
	err := func() (err error) {
		if s.source, err = startSite(binary, dir, "dc1"); err != nil {
			return err
		}
		if s.destination, err = startSite(binary, dir, "dc2"); err != nil {
			return err
		}
		if s.line, err = newLine(strings.TrimPrefix(s.source.NATS, "nats://")); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		created, err := kadm.NewClient(s.source.admin.Kafka).CreateTopic(ctx, partitions, 3, nil, topic)
		if err := errors.Join(err, created.Err); err != nil {
			return err
		}
		config := map[string]string{"bootstrap.servers": strings.Join(s.source.Bootstrap(), ","), "lockstep.nats.url": "nats://" + s.line.address()}
		if _, err := s.destination.admin.CreateMirror(ctx, mirror, config); err != nil {
			return err
		}
		results, err := s.destination.admin.StartTopics(ctx, mirror, []string{topic}, nil, admin.Sync)
		return failure(results, err)
	}()
	if err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

func (s *sites) end() {
	for _, each := range []*site{s.source, s.destination} {
		if each != nil {
			if each.admin != nil {
				each.admin.Close()
			}
			each.Kill()
		}
	}
	if s.line != nil {
		s.line.cut()
	}
}

func (s *sites) either(r *rand.Rand) *site {
	if r.IntN(2) == 0 {
		return s.source
	}
	return s.destination
}

func failure(results []admin.TopicResult, err error) error {
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	return err
}

func (s *sites) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := s.source.admin.ReleaseSync(ctx, mirror, nil, false)
	return err
}

func (s *sites) alter(ctx context.Context, kind int8) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	results, err := s.destination.admin.AlterType(ctx, mirror, []string{topic}, kind)
	return failure(results, err)
}

func (s *sites) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	results, err := s.destination.admin.StopTopics(ctx, mirror, []string{topic})
	return failure(results, err)
}

// look is what the destination says of the topic.
func (s *sites) look(ctx context.Context) (messages.DescribeClusterMirrorsResponseTopic, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	mirrors, err := s.destination.admin.Describe(ctx, mirror)
	if err == nil && len(mirrors) == 1 && len(mirrors[0].Topics) == 1 {
		return mirrors[0].Topics[0], nil
	}
	return messages.DescribeClusterMirrorsResponseTopic{}, errors.Join(err, errors.New("the mirror is not described"))
}
