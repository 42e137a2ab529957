package controller

// Event is a fact of the cluster's metadata. All of them are durable: whatever the controller knows
// that it did not journal, brokers could have been told and then find unsaid.
//
//sumtype:decl
type Event interface{ isEvent() }

// DurableEvent is journaled on the control majority before anybody hears of it.
//
//sumtype:decl
type DurableEvent interface {
	Event
	isDurable()
}
