package bus

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/protocol"
	"lockstep/protocol/messages"
	"lockstep/testkit/decoding"
)

// A command over NATS holds a request of the Kafka port, of the few that are taken there.
func FuzzControl(f *testing.F) {
	for _, key := range []int16{messages.KeyRegisterMirrorSyncTopic, messages.KeyUnregisterMirrorSyncTopic, messages.KeySupersedeMirrorTopics, messages.KeyFetch} {
		req, err := messages.NewRequest(key, 0)
		if key == messages.KeyFetch {
			req, err = messages.NewRequest(key, 17)
		}
		if err != nil {
			f.Fatal(err)
		}
		decoding.Fill(rand.New(rand.NewPCG(1, uint64(key))), req)
		f.Add(key, req.GetVersion(), req.AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		read := func(body []byte) (req kmsg.Request, err error) {
			decoding.Bound{PerByte: protocol.Growth, Spare: 4 << 10}.Check(t, len(body), func() {
				req, err = controlRequest(&messages.ControlRequest{ApiKey: key, ApiVersion: version, Body: body})
			})
			return req, err
		}
		req, err := read(body)
		if err != nil {
			return
		}
		once := req.AppendTo(nil)
		if back, err := read(once); err != nil || !bytes.Equal(back.AppendTo(nil), once) {
			t.Fatalf("%T is written as %x and does not read back: %v", req, once, err)
		}
	})
}
