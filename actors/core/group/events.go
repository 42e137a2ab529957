package group

// Event is a fact of a shard of groups.
//
//sumtype:decl
type Event interface{ isEvent() }

// DurableEvent is on the control majority before anybody is answered by it (D25).
//
//sumtype:decl
type DurableEvent interface {
	Event
	isDurable()
}

// VolatileEvent is applied and forgotten: who is in the middle of joining, and until when. A crash
// sends the members back to join again, as a coordinator move does in Kafka.
//
//sumtype:decl
type VolatileEvent interface {
	Event
	isVolatile()
}

type (
	// SettingsChanged replaces the settings.
	SettingsChanged struct{ Settings Settings }
	// MembershipChanged replaces what is live of a group; nil: nobody is there.
	MembershipChanged struct {
		Group string
		live  *live
	}
	// MemberSeen extends a session.
	MemberSeen struct {
		Group, Member string
		Deadline      int64
	}
	// ConsumerHeard extends the session of a member of the consumer protocol, and says until when it has to give up what
	// it is to (0: nothing).
	ConsumerHeard struct {
		Group, Member      string
		Session, Rebalance int64
	}
	// TopicsLooked says that the topics of a group were looked up.
	TopicsLooked struct {
		Group  string
		looked looked
	}
	// RetentionLooked says that offsets were looked through at At (mono ns), when the shard had lived Age ms.
	RetentionLooked struct{ At, Age int64 }
	// TimerArmed says that a Tick will come at At; 0: none is outstanding.
	TimerArmed struct{ At int64 }
)

func (SettingsChanged) isEvent()      {}
func (MembershipChanged) isEvent()    {}
func (MemberSeen) isEvent()           {}
func (TopicsLooked) isEvent()         {}
func (ConsumerHeard) isEvent()        {}
func (RetentionLooked) isEvent()      {}
func (TimerArmed) isEvent()           {}
func (SettingsChanged) isVolatile()   {}
func (MembershipChanged) isVolatile() {}
func (MemberSeen) isVolatile()        {}
func (TopicsLooked) isVolatile()      {}
func (ConsumerHeard) isVolatile()     {}
func (RetentionLooked) isVolatile()   {}
func (TimerArmed) isVolatile()        {}
