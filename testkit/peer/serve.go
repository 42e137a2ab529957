package peer

import (
	"maps"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol"
	"lockstep/protocol/messages"
	"lockstep/protocol/perr"
)

func (s *Source) accept(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[c] = true
		s.mu.Unlock()
		s.serving.Go(func() {
			s.serve(c)
			c.Close()
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
		})
	}
}

// serve answers one request after the other, as a broker does for one connection.
func (s *Source) serve(c net.Conn) {
	for {
		frame, err := protocol.ReadFrame(c, 1<<24)
		if err != nil {
			return
		}
		h, rest, err := protocol.ParseHeader(frame)
		if err != nil {
			return
		}
		req, err := protocol.DecodeRequest(h, rest)
		if err != nil {
			return // a call that the draft does not have
		}
		resp := s.answer(c, req)
		if resp == nil {
			return
		}
		resp.SetVersion(h.Version)
		if _, err := c.Write(protocol.AppendResponse(nil, h.Correlation, resp)); err != nil {
			return
		}
	}
}

// tags reports whether a request carries fields that the draft does not have.
func tags(req kmsg.Request) bool {
	switch r := req.(type) {
	case *messages.FetchRequest:
		return r.MirrorReplicaInfo.Floors != nil
	case *messages.RegisterMirrorSyncTopicRequest:
		return r.ClusterId != "" || r.ProducerIdPrefix != -1 || len(r.Topics) > 0 && r.Topics[0].Generation != 0
	case *messages.UnregisterMirrorSyncTopicRequest:
		return r.ClusterId != "" || r.Mode != 0 || len(r.Topics) > 0 && r.Topics[0].Generation != 0
	default:
		return false
	}
}

func (s *Source) answer(c net.Conn, req kmsg.Request) kmsg.Response {
	if tags(req) {
		s.change(func() { s.tagged++ })
	}
	switch r := req.(type) {
	case *kmsg.ApiVersionsRequest:
		return s.versions()
	case *kmsg.MetadataRequest:
		return s.metadata(r)
	case *kmsg.DescribeConfigsRequest:
		return s.configs(r)
	case *kmsg.OffsetForLeaderEpochRequest:
		return s.ends(r)
	case *kmsg.ListOffsetsRequest:
		return s.offsets(r)
	case *messages.FetchRequest:
		return s.fetched(c, r)
	case *messages.RegisterMirrorSyncTopicRequest:
		return s.registered(r)
	case *messages.UnregisterMirrorSyncTopicRequest:
		s.change(func() {
			if m := s.mirrors[r.MirrorName]; m != nil {
				m.registered = false // a marker stays
			}
		})
		return r.ResponseKind()
	default:
		return nil
	}
}

func (s *Source) versions() kmsg.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	resp := kmsg.NewPtrApiVersionsResponse()
	serves := map[int16]int16{messages.KeyFetch: s.fetch, 2: 7, 3: 12, 18: 3, 23: 4, 32: 4}
	if s.fetch >= 20 {
		serves[messages.KeyRegisterMirrorSyncTopic], serves[messages.KeyUnregisterMirrorSyncTopic] = 0, 0
	}
	for key, newest := range serves {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MaxVersion = key, newest
		resp.ApiKeys = append(resp.ApiKeys, k)
	}
	return resp
}

func (s *Source) metadata(r *kmsg.MetadataRequest) kmsg.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	resp := kmsg.NewPtrMetadataResponse()
	resp.ClusterID = &s.Cluster
	b := kmsg.NewMetadataResponseBroker()
	b.NodeID, b.Host, b.Port = 1, "127.0.0.1", int32(s.ln.Addr().(*net.TCPAddr).Port)
	resp.Brokers = append(resp.Brokers, b)
	t := kmsg.NewMetadataResponseTopic()
	t.Topic, t.TopicID = &s.Topic, s.id
	p := kmsg.NewMetadataResponseTopicPartition()
	p.Leader, p.LeaderEpoch, p.Replicas, p.ISR = 1, s.epoch, []int32{1}, []int32{1}
	t.Partitions = append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
	return resp
}

func (s *Source) configs(r *kmsg.DescribeConfigsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeConfigsResponse()
	for _, asked := range r.Resources {
		out := kmsg.NewDescribeConfigsResponseResource()
		out.ResourceType, out.ResourceName = asked.ResourceType, asked.ResourceName
		resp.Resources = append(resp.Resources, out)
	}
	return resp
}

// fence compares the epoch that a request names with the leader's.
func (s *Source) fence(epoch int32) perr.Code {
	switch {
	case epoch < 0 || epoch == s.epoch:
		return perr.None
	case epoch < s.epoch:
		return perr.FencedLeaderEpoch
	default:
		return perr.UnknownLeaderEpoch
	}
}

func (s *Source) ends(r *kmsg.OffsetForLeaderEpochRequest) kmsg.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	for _, t := range r.Topics {
		out := kmsg.NewOffsetForLeaderEpochResponseTopic()
		out.Topic = t.Topic
		for _, p := range t.Partitions {
			at := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			at.Partition = p.Partition
			if at.ErrorCode = int16(s.fence(p.CurrentLeaderEpoch)); at.ErrorCode == 0 {
				at.LeaderEpoch, at.EndOffset = s.log.EndOf(p.LeaderEpoch)
			}
			out.Partitions = append(out.Partitions, at)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

func (s *Source) offsets(r *kmsg.ListOffsetsRequest) kmsg.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	resp := kmsg.NewPtrListOffsetsResponse()
	for _, t := range r.Topics {
		out := kmsg.NewListOffsetsResponseTopic()
		out.Topic = t.Topic
		for _, p := range t.Partitions {
			at := kmsg.NewListOffsetsResponseTopicPartition()
			at.Partition, at.ErrorCode, at.LeaderEpoch = p.Partition, int16(s.fence(p.CurrentLeaderEpoch)), s.epoch
			if at.Offset = 0; p.Timestamp != -2 {
				at.Offset = s.hw
			}
			out.Partitions = append(out.Partitions, at)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

func (s *Source) registered(r *messages.RegisterMirrorSyncTopicRequest) kmsg.Response {
	resp := r.ResponseKind().(*messages.RegisterMirrorSyncTopicResponse)
	s.change(func() {
		for _, t := range r.Topics {
			out := messages.NewRegisterMirrorSyncTopicResponseTopicResult()
			out.TopicName = t.TopicName
			if t.TopicId != s.id {
				out.ErrorCode = int16(perr.UnknownTopicId)
			} else {
				out.ErrorCode = int16(s.register(r.MirrorName, t.RecoveryPromotion))
			}
			resp.Topics = append(resp.Topics, out)
		}
	})
	return resp
}

// fetched takes the list, parks until there is something to say, and answers.
func (s *Source) fetched(c net.Conn, r *messages.FetchRequest) kmsg.Response {
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return nil
	}
	asked := &r.Topics[0].Partitions[0]
	var list *messages.FetchRequestMirroredTopicPartition
	for i := range r.MirrorReplicaInfo.Topics {
		for j := range r.MirrorReplicaInfo.Topics[i].Partitions {
			list = &r.MirrorReplicaInfo.Topics[i].Partitions[j]
		}
	}
	late := time.Now().Add(time.Duration(r.MaxWaitMs) * time.Millisecond)
	defer time.AfterFunc(time.Until(late), func() { s.change(func() {}) }).Stop()
	if list != nil {
		s.change(func() { s.takeList(r.MirrorReplicaInfo.MirrorName, asked, list) })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		out, urgent := s.compose(r.MirrorReplicaInfo.MirrorName, asked, list != nil)
		if urgent || len(out.Records) > 0 || !time.Now().Before(late) {
			resp := r.ResponseKind().(*messages.FetchResponse)
			resp.Responses = []messages.FetchResponseTopic{{TopicId: s.id, Partitions: []messages.FetchResponsePartition{out}}}
			return resp
		}
		if !s.conns[c] {
			return nil
		}
		s.moved.Wait()
	}
}

func (s *Source) takeList(mirror string, asked *messages.FetchRequestPartition, list *messages.FetchRequestMirroredTopicPartition) {
	m := s.mirrors[mirror]
	if m == nil || !m.registered || s.refuse != 0 || s.fence(asked.CurrentLeaderEpoch) != perr.None {
		return
	}
	s.report(m, list)
	s.lists = append(s.lists, List{Epoch: asked.CurrentLeaderEpoch, Offset: asked.FetchOffset, Ends: maps.Clone(m.ends), ISR: list.ISR, MinISR: list.MinISR})
}

func (s *Source) compose(mirror string, asked *messages.FetchRequestPartition, sync bool) (out messages.FetchResponsePartition, urgent bool) {
	out = messages.NewFetchResponsePartition()
	out.PartitionIndex, out.Records = asked.Partition, []byte{}
	fail := func(code perr.Code) (messages.FetchResponsePartition, bool) {
		out.ErrorCode, out.HighWatermark = int16(code), -1
		return out, true
	}
	if code := s.fence(asked.CurrentLeaderEpoch); code != perr.None {
		return fail(code)
	}
	m := s.mirrors[mirror]
	if sync && s.refuse != 0 {
		return fail(s.refuse)
	}
	if sync && (m == nil || !m.registered) {
		return fail(perr.InvalidSyncRegistration)
	}
	out.HighWatermark, out.LastStableOffset, out.LogStartOffset = s.hw, s.hw, 0
	if asked.FetchOffset > s.log.End() {
		return fail(perr.OffsetOutOfRange)
	}
	if asked.LastFetchedEpoch >= 0 {
		if epoch, end := s.log.EndOf(asked.LastFetchedEpoch); epoch < asked.LastFetchedEpoch || end < asked.FetchOffset {
			out.DivergingEpoch.Epoch, out.DivergingEpoch.EndOffset = epoch, end
			return out, true
		}
	}
	below := s.hw
	if sync {
		below = s.log.End()
	}
	out.Records = s.log.From(asked.FetchOffset, below, int(asked.PartitionMaxBytes))
	return out, false
}
