package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"lockstep/actors/core"
	"lockstep/actors/core/image"
)

// cluster is what Kafka's own metrics say of brokers and controller. The brokers of a process share its page, so
// what Kafka has once per broker has the label broker here.
type cluster struct{ Process }

const (
	replicaManager = "kafka_server_replicamanager_"
	controllerName = "kafka_controller_kafkacontroller_"
)

var (
	live            = describe("kafka_server_broker_live", "1 while the broker is not fenced.", "broker")
	lossy           = describe("kafka_server_broker_lossy", "1 while the broker's volume ends below a witness, or was replaced, and is being refilled.", "broker")
	offlineDirs     = describe("kafka_log_logmanager_offlinelogdirectorycount", "1 while the broker's volume is lost.", "broker")
	partitionCount  = describe(replicaManager+"partitioncount", "Replicas on the broker.", "broker")
	leaderCount     = describe(replicaManager+"leadercount", "Partitions that the broker leads.", "broker")
	underReplicated = describe(replicaManager+"underreplicatedpartitions", "Partitions led by the broker whose ISR is smaller than their replica set.", "broker")
	underMinISR     = describe(replicaManager+"underminisrpartitioncount", "Partitions led by the broker whose ISR is smaller than min.insync.replicas.", "broker")
	atMinISR        = describe(replicaManager+"atminisrpartitioncount", "Partitions led by the broker whose ISR is exactly min.insync.replicas.", "broker")
	offlineReplicas = describe(replicaManager+"offlinereplicacount", "Replicas on the broker that nobody can use because it is fenced.", "broker")
	isrShrinks      = describe(replicaManager+"isrshrinks_total", "Times a committed ISR became smaller.")
	isrExpands      = describe(replicaManager+"isrexpands_total", "Times a committed ISR became larger.")
	leaderElections = describe("kafka_controller_controllerstats_leaderelections_total", "Partitions that got another leader.")
	unclean         = describe("kafka_controller_controllerstats_uncleanleaderelections_total", "Partitions that may have lost records: unclean elections, LOSSY leaders and losses that an operator accepted.")
	active          = describe(controllerName+"activecontrollercount", "1: the controller of a cluster lives in its process, and ends with it when the control quorum is lost.")
	offline         = describe(controllerName+"offlinepartitionscount", "Partitions without a leader.")
	globalTopics    = describe(controllerName+"globaltopiccount", "Topics of the cluster.")
	globalParts     = describe(controllerName+"globalpartitioncount", "Partitions of the cluster.")
	fencedBrokers   = describe(controllerName+"fencedbrokercount", "Brokers that are fenced.")
	logEnd          = describe("kafka_log_log_logendoffset", "Durable log end of a partition at its leader, exclusive.", "topic", "partition")
	logStart        = describe("kafka_log_log_logstartoffset", "First offset of a partition at its leader.", "topic", "partition")
	highWatermark   = describe("kafka_cluster_partition_highwatermark", "High watermark of a partition at its leader, exclusive.", "topic", "partition")
)

// Describe implements prometheus.Collector.
func (cluster) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{live, lossy, offlineDirs, partitionCount, leaderCount, underReplicated, underMinISR, atMinISR, offlineReplicas, isrShrinks,
		isrExpands, leaderElections, unclean, active, offline, globalTopics, globalParts, fencedBrokers, logEnd, logStart, highWatermark} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c cluster) Collect(to chan<- prometheus.Metric) {
	img := c.Cluster.Newest()
	fenced := 0
	for id, b := range img.Brokers {
		gauge(to, live, one(b.Live), number(int32(id)))
		gauge(to, lossy, one(b.Lossy), number(int32(id)))
		if !b.Live {
			fenced++
		}
	}
	for _, b := range c.Cluster.Brokers() {
		gauge(to, offlineDirs, one(b.Err() != nil), number(int32(b.ID())))
	}
	c.partitions(to, img)
	e := c.Cluster.Elections()
	counter(to, isrShrinks, e.ISRShrinks)
	counter(to, isrExpands, e.ISRExpands)
	counter(to, leaderElections, e.NewLeaders)
	counter(to, unclean, e.Unclean)
	gauge(to, active, 1)
	gauge(to, fencedBrokers, float64(fenced))
	if c.single() {
		c.logs(to, img)
	}
}

func (c cluster) partitions(to chan<- prometheus.Metric, img *image.Image) {
	perBroker := map[*prometheus.Desc]map[string]int{}
	for _, d := range []*prometheus.Desc{partitionCount, leaderCount, underReplicated, underMinISR, atMinISR, offlineReplicas} {
		perBroker[d] = map[string]int{}
		for id := range img.Brokers {
			perBroker[d][number(int32(id))] = 0
		}
	}
	leaderless, all := 0, 0
	for _, t := range img.Topics {
		for _, p := range t.Partitions {
			all++
			for _, id := range p.Replicas {
				perBroker[partitionCount][number(int32(id))]++
				if !img.Brokers[id].Live {
					perBroker[offlineReplicas][number(int32(id))]++
				}
			}
			if p.Leader == core.NoReplica {
				leaderless++
				continue
			}
			leader := number(int32(p.Leader))
			perBroker[leaderCount][leader]++
			if len(p.ISR) < len(p.Replicas) {
				perBroker[underReplicated][leader]++
			}
			switch n := int32(len(p.ISR)); {
			case n < p.MinISR:
				perBroker[underMinISR][leader]++
			case n == p.MinISR:
				perBroker[atMinISR][leader]++
			}
		}
	}
	for d, values := range perBroker {
		each(to, d, values)
	}
	gauge(to, offline, float64(leaderless))
	gauge(to, globalTopics, float64(len(img.Topics)))
	gauge(to, globalParts, float64(all))
}

// logs shows only leaders that serve: nobody else knows the high watermark now.
func (c cluster) logs(to chan<- prometheus.Metric, img *image.Image) {
	for _, t := range img.Topics {
		for i := range t.Partitions {
			r, ok := c.Cluster.Leader(core.PartitionID{Topic: t.ID, Index: int32(i)})
			if !ok {
				continue
			}
			v := r.View()
			if !v.IsLeader {
				continue
			}
			gauge(to, logEnd, float64(v.LEO), t.Name, number(int32(i)))
			gauge(to, logStart, float64(v.LogStart), t.Name, number(int32(i)))
			gauge(to, highWatermark, float64(v.HW), t.Name, number(int32(i)))
		}
	}
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
