package mirror

// Class says what a claim rests on (R14).
type Class int8

const (
	// ClassProven: floors and evidence, both fenced by epochs and numbers.
	ClassProven Class = 0
	// ClassReported: the word of a source that speaks only the KIP. It is never called zero RPO.
	ClassReported Class = 1
)

// MinClassSetting is the setting, of a mirror or a topic, that names the lowest class that may become SYNC.
const MinClassSetting = "lockstep.sync.min.class"

// String is the word people read.
func (c Class) String() string {
	if c == ClassReported {
		return "REPORTED"
	}
	return "PROVEN"
}

// Setting is the value of MinClassSetting that asks for the class.
func (c Class) Setting() string {
	if c == ClassReported {
		return "reported"
	}
	return "proven"
}
