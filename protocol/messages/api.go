// Package messages holds the messages of the Kafka port and of the bus: our own generated types for
// Fetch, CreateTopics and everything the mirroring KIPs add, franz-go's kmsg types for all else (D28).
// All of them satisfy kmsg's interfaces, so kgo can send them.
package messages

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// API is one request kind that this server speaks.
type API struct {
	Key  int16
	Name string
	// Min and Max are the versions served, both inclusive.
	Min, Max int16
	// ShownMin and ShownMax are what ApiVersions answers; librdkafka reads features out of them.
	ShownMin, ShownMax int16
	// Advertised is false for keys that only brokers use.
	Advertised bool
	// Own says that the types are ours, not kmsg's.
	Own bool
}

// APIs lists what this server speaks, by key. The caller must not change it.
func APIs() []API { return apis }

// APIOf finds an API by key.
func APIOf(key int16) (API, bool) {
	for _, a := range apis {
		if a.Key == key {
			return a, true
		}
	}
	return API{}, false
}

// Serves tells whether requests of this version are decoded and answered.
func (a API) Serves(version int16) bool { return a.Min <= version && version <= a.Max }

// NewRequest makes an empty request of a served API in a served version, of our type or kmsg's.
func NewRequest(key, version int16) (kmsg.Request, error) {
	a, ok := APIOf(key)
	switch {
	case !ok:
		return nil, fmt.Errorf("API key %d is not served here", key)
	case !a.Serves(version):
		return nil, fmt.Errorf("%s version %d is not served here: versions %d to %d are", a.Name, version, a.Min, a.Max)
	}
	req := ownRequest(key)
	if req == nil {
		req = kmsg.RequestForKey(key)
	}
	req.SetVersion(version)
	return req, nil
}
