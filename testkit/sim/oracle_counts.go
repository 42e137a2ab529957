package sim

// Counts are what a run did.
type Counts struct {
	Acked, AckedSync, Consumed, Elections, Truncations, Promotions, Failovers, Releases, Switchovers, Grown, Deletions int
	Moved, HandedOver                                                                                                  int // replicas, leaders
	ClaimsChecked, Compared                                                                                            int
}

func (c *Counts) add(o Counts) {
	c.Acked += o.Acked
	c.AckedSync += o.AckedSync
	c.Consumed += o.Consumed
	c.Elections += o.Elections
	c.Truncations += o.Truncations
	c.Promotions += o.Promotions
	c.Failovers += o.Failovers
	c.Releases += o.Releases
	c.Switchovers += o.Switchovers
	c.Grown += o.Grown
	c.Deletions += o.Deletions
	c.Moved += o.Moved
	c.HandedOver += o.HandedOver
	c.ClaimsChecked += o.ClaimsChecked
	c.Compared += o.Compared
}
