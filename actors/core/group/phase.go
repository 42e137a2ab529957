package group

// Phase is where a group stands between two generations.
type Phase int8

const (
	Empty      Phase = iota // no members; offsets may be stored
	Preparing               // waiting for members to join the next generation
	Completing              // waiting for the leader's assignment
	Stable
	Dead // only ever told of a group that does not exist
)

// String is the name on the wire (ListGroups, DescribeGroups, G08).
func (p Phase) String() string {
	switch p {
	case Empty:
		return "Empty"
	case Preparing:
		return "PreparingRebalance"
	case Completing:
		return "CompletingRebalance"
	case Stable:
		return "Stable"
	case Dead:
		return "Dead"
	default:
		panic("group: unknown phase")
	}
}
