package transaction

// Event is a fact of a shard of the transaction coordinator.
//
//sumtype:decl
type Event interface{ isEvent() }

// DurableEvent is on the control majority before anybody is told of it.
//
//sumtype:decl
type DurableEvent interface {
	Event
	isDurable()
}

// VolatileEvent is applied and forgotten: deadlines, who waits, which markers are on their way.
//
//sumtype:decl
type VolatileEvent interface {
	Event
	isVolatile()
}

type (
	// SettingsChanged replaces the settings.
	SettingsChanged struct{ Settings Settings }
	// LiveChanged replaces what is live of a transactional id; nil: the id is gone.
	LiveChanged struct {
		ID   string
		live *live
	}
	// MarkerNoted says what became of one marker: it is due again, or the transaction has ended there.
	MarkerNoted struct {
		ID     string
		Target Target
		due    due
		ended  bool
	}
	// TimerArmed says that a Tick will come at At; 0: none is outstanding.
	TimerArmed struct{ At int64 }
)

func (SettingsChanged) isEvent()    {}
func (LiveChanged) isEvent()        {}
func (MarkerNoted) isEvent()        {}
func (TimerArmed) isEvent()         {}
func (SettingsChanged) isVolatile() {}
func (LiveChanged) isVolatile()     {}
func (MarkerNoted) isVolatile()     {}
func (TimerArmed) isVolatile()      {}
