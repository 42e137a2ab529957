package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

type brokersCommand struct {
	List  brokersList  `cmd:"" default:"withargs" help:"Show every logical broker and whether it is live."`
	Stop  brokersStop  `cmd:"" help:"Stop one logical broker: it leaves every ISR, its leaderships move. Its data directory stays in use; to change that, stop clusterd."`
	Start brokersStart `cmd:"" help:"Start a stopped broker: it truncates and rejoins. A volume that was lost or refused is opened and checked again."`
}

type httpAddress struct {
	HTTP string `name:"http" default:"127.0.0.1:8080" help:"HTTP address of the clusterd (--http-listen)." env:"LOCKSTEP_HTTP"`
}

type brokersList struct {
	httpAddress
	JSON bool `name:"json" help:"As JSON."`
}

type brokersStop struct {
	httpAddress
	ID int32 `arg:"" help:"Broker id, from 1."`
}

type brokersStart brokersStop

// brokerRow is one element of GET /v1/brokers.
type brokerRow struct {
	ID      int32  `json:"id"`
	Live    bool   `json:"live"`
	Lossy   bool   `json:"lossy"`
	Address string `json:"address"`
	Text    string `json:"text"`
}

func (c *brokersList) Run(w io.Writer) error {
	body, err := c.call(http.MethodGet, "/v1/brokers")
	if err != nil {
		return err
	}
	var rows []brokerRow
	if err := json.Unmarshal(body, &rows); err != nil {
		return fmt.Errorf("answer of %s is not a broker list: %w", c.HTTP, err)
	}
	if c.JSON {
		return printJSON(w, rows)
	}
	t := table{heads: []string{"BROKER", "ADDRESS", "STATE", "REASON"}, names: []int{1}}
	for _, r := range rows {
		state := "live"
		switch {
		case !r.Live:
			state = "stopped"
		case r.Lossy:
			state = "lossy"
		}
		t.add(strconv.Itoa(int(r.ID)), r.Address, state, r.Text)
	}
	t.print(w)
	return nil
}

func (c *brokersStop) Run(w io.Writer) error {
	if _, err := c.call(http.MethodPost, fmt.Sprintf("/v1/brokers/%d/stop", c.ID)); err != nil {
		return err
	}
	fmt.Fprintf(w, "Stopped broker %d\n", c.ID)
	return nil
}

func (c *brokersStart) Run(w io.Writer) error {
	if _, err := c.call(http.MethodPost, fmt.Sprintf("/v1/brokers/%d/start", c.ID)); err != nil {
		return err
	}
	fmt.Fprintf(w, "Started broker %d\n", c.ID)
	return nil
}

func (a httpAddress) call(method, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+a.HTTP+path, nil)
	if err != nil {
		return nil, fmt.Errorf("--http %q is not an address: %w", a.HTTP, err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("no clusterd answers at --http %s, its --http-listen: %w; is it running there?", a.HTTP, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("read answer of %s: %w", a.HTTP, err)
	}
	if res.StatusCode >= 300 {
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, res.Status, strings.TrimSpace(string(body)))
	}
	return body, nil
}
