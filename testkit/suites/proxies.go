package suites

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"time"

	"lockstep/clusterd/process"
	"lockstep/testkit/fetched"
)

const toxiproxy = "github.com/Shopify/toxiproxy/v2"

// proxies are a Toxiproxy server with one proxy for each broker of a site, kafka1 and so on, at 127.0.0.1:29091 and the
// next ports: what sarama's own docker-compose.yml has.
type proxies struct {
	address string
	server  *exec.Cmd
}

func startProxies(ctx context.Context, site Site) (*proxies, error) {
	dir, err := fetched.Dir(filepath.Join("suites", "toxiproxy-v2.5.0"))
	if err != nil {
		return nil, err
	}
	if err := fetched.Module(ctx, dir, toxiproxy, "v2.5.0"); err != nil {
		return nil, err
	}
	binary := filepath.Join(site.Work, "toxiproxy")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/server")
	build.Dir = dir
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build Toxiproxy: %w\n%s", err, text)
	}
	port, err := process.FreePorts(1)
	if err != nil {
		return nil, err
	}
	p := &proxies{address: fmt.Sprintf("127.0.0.1:%d", port), server: exec.Command(binary, "-host", "127.0.0.1", "-port", fmt.Sprint(port))}
	if err := p.server.Start(); err != nil {
		return nil, err
	}
	for i, broker := range site.Bootstrap {
		body, err := json.Marshal(map[string]any{
			"name": fmt.Sprint("kafka", i+1), "listen": fmt.Sprintf("127.0.0.1:%d", 29091+i), "upstream": broker, "enabled": true,
		})
		if err == nil {
			err = p.post(ctx, body)
		}
		if err != nil {
			p.stop()
			return nil, err
		}
	}
	return p, nil
}

// post makes a proxy, and waits for the server first if it has only just begun.
func (p *proxies) post(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for again := time.NewTicker(50 * time.Millisecond); ; {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.address+"/proxies", bytes.NewReader(body))
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode != http.StatusCreated {
				return fmt.Errorf("make a proxy of %s: %s", body, resp.Status)
			}
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("Toxiproxy does not answer: %w", err)
		}
	}
}

func (p *proxies) stop() {
	_ = p.server.Process.Kill()
	_ = p.server.Wait()
}
