package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"lockstep/actors/core"
	"lockstep/clusterd/metrics"
)

// httpServer serves /livez, /readyz, /health/mirrors, /metrics and /v1/brokers (D27). Kafka and KIP APIs stay on the Kafka
// port.
type httpServer struct {
	daemon   *Daemon
	server   *http.Server
	listener net.Listener
	ready    atomic.Bool
	ended    chan struct{}
}

func serveHTTP(d *Daemon) (*httpServer, error) {
	l, err := net.Listen("tcp", d.config.HTTPListen)
	if err != nil {
		return nil, fmt.Errorf("--http-listen %s: %w; %s", d.config.HTTPListen, err, listenRemedy)
	}
	h := &httpServer{daemon: d, listener: l, ended: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", h.readyz)
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics.Registry(d.exposed()), promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /health/mirrors", h.mirrors)
	mux.HandleFunc("GET /v1/brokers", h.brokers)
	mux.HandleFunc("POST /v1/brokers/{id}/stop", h.change(d.stopBroker))
	mux.HandleFunc("POST /v1/brokers/{id}/start", h.change(d.startBroker))
	h.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10}
	go func() {
		defer close(h.ended)
		if err := h.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			d.log.Error("http listener ended", "err", err)
		}
	}()
	return h, nil
}

func (h *httpServer) address() string { return h.listener.Addr().String() }

func (h *httpServer) readyz(w http.ResponseWriter, _ *http.Request) {
	if !h.ready.Load() {
		http.Error(w, "starting or closing", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// brokerStatus is one line of GET /v1/brokers.
type brokerStatus struct {
	ID      int32  `json:"id"`
	Live    bool   `json:"live"`
	Lossy   bool   `json:"lossy"`
	Address string `json:"address"`
	Text    string `json:"text"`
}

func (h *httpServer) brokers(w http.ResponseWriter, _ *http.Request) {
	img := h.daemon.cluster.Newest()
	list := []brokerStatus{}
	for _, b := range h.daemon.cluster.Brokers() {
		known := img.Brokers[b.ID()]
		list = append(list, brokerStatus{
			ID: int32(b.ID()), Live: known.Live, Lossy: known.Lossy, Text: known.Text,
			Address: net.JoinHostPort(known.Host, strconv.Itoa(int(known.Port))),
		})
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(list); err != nil {
		h.daemon.log.Debug("answer not read", "err", err)
	}
}

// change guards what alters the cluster: only from this machine, and not by a web page in a browser.
func (h *httpServer) change(do func(context.Context, core.ReplicaID) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() || r.Header.Get("Origin") != "" {
			http.Error(w, "brokers are stopped and started from the machine that runs them: run clusterctl there", http.StatusForbidden)
			return
		}
		id, err := strconv.ParseInt(r.PathValue("id"), 10, 32)
		if _, known := h.daemon.cluster.Broker(core.ReplicaID(id)); err != nil || !known {
			http.Error(w, fmt.Sprintf("no broker %q; GET /v1/brokers lists them", r.PathValue("id")), http.StatusNotFound)
			return
		}
		if err := do(r.Context(), core.ReplicaID(id)); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		fmt.Fprintln(w, "ok")
	}
}

func (h *httpServer) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := h.server.Shutdown(ctx); err != nil {
		h.server.Close()
	}
	<-h.ended
}
