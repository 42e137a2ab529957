package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// requests is what clients ask of the listeners, under the names of Kafka's BrokerTopicMetrics and RequestMetrics.
type requests struct{ Process }

const (
	topicMetrics = "kafka_server_brokertopicmetrics_"
	socketServer = "kafka_server_socket_server_metrics_"
)

var (
	recordsIn       = describe(topicMetrics+"messagesin_total", "Records that clients appended.", "topic")
	bytesIn         = describe(topicMetrics+"bytesin_total", "Bytes of batches that clients appended.", "topic")
	bytesOut        = describe(topicMetrics+"bytesout_total", "Bytes of batches that consumers were answered.", "topic")
	mirrorsOut      = describe(topicMetrics+"replicationbytesout_total", "Bytes of batches that mirrors in sync mode were answered.", "topic")
	requestCount    = describe("kafka_network_requestmetrics_requests_total", "Requests that were read.", "request")
	requestTime     = describe("kafka_network_requestmetrics_totaltimems", "From the whole request to its answer, in ms. A fetch may park for as long as its client allows.", "request")
	requestError    = describe("kafka_network_requestmetrics_errors_total", "Partitions that were answered with an error, by its own name also where the client's version gets another.", "request", "error")
	failedWrites    = describe(topicMetrics+"failedproducerequests_total", "Partitions of Produce requests that were answered with an error.")
	failedReads     = describe(topicMetrics+"failedfetchrequests_total", "Partitions of Fetch requests that were answered with an error.")
	connections     = describe(socketServer+"connection_count", "Clients connected now.", "broker")
	authenticated   = describe(socketServer+"successful_authentication_total", "Connections whose client showed who it is, or need not.", "listener")
	notAuthentic    = describe(socketServer+"failed_authentication_total", "Connections that ended because their client did not show who it is, handshakes of TLS included.", "listener")
	reauthenticated = describe(socketServer+"successful_reauthentication_total", "Sessions that were renewed in time.", "listener")
	notRenewed      = describe(socketServer+"failed_reauthentication_total", "Sessions whose renewal failed.", "listener")
	expired         = describe(socketServer+"expired_connections_killed_total", "Connections that ended because their session had.", "listener")
	certificateEnds = describe("kafka_server_listener_certificate_expires_seconds", "How long the certificate that clients are shown is still valid; negative when it is not.", "listener")
	fetchSessions   = describe("kafka_server_fetchsessioncache_numincrementalfetchsessions", "Incremental fetch sessions that the broker keeps.", "broker")
	sessionParts    = describe("kafka_server_fetchsessioncache_numincrementalfetchpartitionscached", "Partitions of incremental fetch sessions.", "broker")
	sessionsEvicted = describe("kafka_server_fetchsessioncache_incrementalfetchsessionevictions_total", "Fetch sessions that made room for others since the listener was opened.", "broker")
)

// Describe implements prometheus.Collector.
func (requests) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{recordsIn, bytesIn, bytesOut, mirrorsOut, requestCount, requestTime, requestError, failedWrites, failedReads, connections, authenticated, notAuthentic, reauthenticated, notRenewed, expired, certificateEnds, fetchSessions, sessionParts, sessionsEvicted} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (r requests) Collect(to chan<- prometheus.Metric) {
	for _, t := range r.Traffic.Topics() {
		name, known := r.topic(t.Topic)
		if !known {
			r.Traffic.Forget(t.Topic)
			continue
		}
		counter(to, recordsIn, t.RecordsIn, name)
		counter(to, bytesIn, t.BytesIn, name)
		counter(to, bytesOut, t.BytesOut, name)
		counter(to, mirrorsOut, t.MirrorsBytes, name)
	}
	for _, a := range r.Traffic.APIs() {
		counter(to, requestCount, a.Requests, a.Name)
		distribution(to, requestTime, a.Took, a.Name)
	}
	failed := map[string]int64{}
	for _, e := range r.Traffic.Errors() {
		counter(to, requestError, e.Count, e.API, e.Code.Name())
		failed[e.API] += e.Count
	}
	counter(to, failedWrites, failed["Produce"])
	counter(to, failedReads, failed["Fetch"])
	for _, a := range r.Traffic.Admissions() {
		counter(to, authenticated, a.Known, a.Listener)
		counter(to, notAuthentic, a.Failed, a.Listener)
		counter(to, reauthenticated, a.KnownAgain, a.Listener)
		counter(to, notRenewed, a.FailedAgain, a.Listener)
		counter(to, expired, a.Expired, a.Listener)
		if !a.CertificateEnds.IsZero() {
			gauge(to, certificateEnds, time.Until(a.CertificateEnds).Seconds(), a.Listener)
		}
	}
	for _, b := range r.Cluster.Brokers() {
		gauge(to, connections, float64(r.Traffic.Connections(b.ID())), number(int32(b.ID())))
		s := r.Traffic.Sessions(b.ID())
		gauge(to, fetchSessions, float64(s.Sessions), number(int32(b.ID())))
		gauge(to, sessionParts, float64(s.Partitions), number(int32(b.ID())))
		counter(to, sessionsEvicted, s.Evicted, number(int32(b.ID())))
	}
}
