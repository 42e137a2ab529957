package datacenter

import "context"

// T is what the harness needs of a test. *testing.T is one; a Job makes one of a command.
type T interface {
	Helper()
	Context() context.Context
	Cleanup(func())
	TempDir() string
	Failed() bool
	Log(...any)
	Logf(string, ...any)
	Error(...any)
	Errorf(string, ...any)
	Fatal(...any)
	Fatalf(string, ...any)
}
