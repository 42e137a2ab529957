package access

// Asker is somebody with the rules that stood when they asked, for who has to judge elsewhere than where the request came in.
// The zero value may do everything: there is no authorizer.
type Asker struct {
	Rules     Rules
	Settings  Settings
	Principal Principal
	Host      string // the address without its port
}

// May judges as Rules.Allowed does.
func (a Asker) May(op Operation, t ResourceType, name string) bool {
	return a.Rules.Allowed(a.Settings, a.Principal, a.Host, op, t, name)
}
