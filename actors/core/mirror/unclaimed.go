package mirror

// Released reports whether the claim ended because the source said that it was released.
func (e TopicUnclaimed) Released() bool { return e.Reason == reasonReleased }

// Failing reports whether the claim ended because every partition was refused for the time-out (C5).
func (e TopicUnclaimed) Failing() bool { return e.Reason == reasonFailing }
