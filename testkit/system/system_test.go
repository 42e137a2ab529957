package system

import "testing"

func TestGrowthIsToldFromNoise(t *testing.T) {
	if below(0) != "" || below(10_000_000) != "5" || below(11_000_000) != "10" {
		t.Errorf("bounds below a round trip: %q %q %q", below(0), below(10_000_000), below(11_000_000))
	}
}
