package mirror

// ByOperator reports whether an operator of this cluster ended the claim.
func (e TopicUnclaimed) ByOperator() bool { return e.Reason == reasonOperator }

// DataReset reports whether the claim ended because the data began anew (R2, R11).
func (e TopicUnclaimed) DataReset() bool { return e.Reason == reasonReset }
