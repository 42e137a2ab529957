package main

import (
	"slices"
	"strings"
	"testing"
)

// A client library takes port 9092 where none is given: a verb would go to whatever cluster listens there.
func TestAnAddressHasAPort(t *testing.T) {
	got, err := addresses("127.0.0.1:9092, [::1]:9093")
	if err != nil || !slices.Equal(got, []string{"127.0.0.1:9092", "[::1]:9093"}) {
		t.Errorf("%q, %v", got, err)
	}
	for _, s := range []string{"", "localhost", "localhost:", ":9092", "a:9092,", "a:9092,b", "PLAINTEXT://a", "a:kafka", "a:99999", "a:0"} {
		if got, err := addresses(s); err == nil || !strings.Contains(err.Error(), "--bootstrap-server "+s) || !strings.Contains(err.Error(), "host:port") {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
}
