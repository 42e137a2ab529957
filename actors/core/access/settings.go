package access

import (
	"fmt"
	"strings"
)

// The settings of the authorizer, by Kafka's names.
const (
	AuthorizerClass    = "authorizer.class.name"
	SuperUsers         = "super.users"
	AllowIfNoACL       = "allow.everyone.if.no.acl.found"
	StandardAuthorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
)

// ReadSettings makes Settings of what an operator gave, by Kafka's names; other names are stepped over. The error is that of
// ParseSuperUsers.
func ReadSettings(given map[string]string) (Settings, error) {
	super, err := ParseSuperUsers(given[SuperUsers])
	if err != nil {
		return Settings{}, err
	}
	return Settings{On: given[AuthorizerClass] != "", Super: super, OpenUnlessNamed: given[AllowIfNoACL] == "true"}, nil
}

// ParseSuperUsers reads super.users: principals with a semicolon between them, because their names may hold commas.
func ParseSuperUsers(list string) (map[Principal]bool, error) {
	super := map[Principal]bool{}
	for item := range strings.SplitSeq(list, ";") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		if !Principal(item).valid() {
			return nil, fmt.Errorf("%s=%q: %q is no principal; use type:name, as User:admin, and a semicolon between two", SuperUsers, list, item)
		}
		super[Principal(item)] = true
	}
	return super, nil
}

// valid reports whether the principal has a type and a name.
func (p Principal) valid() bool {
	kind, name, colon := strings.Cut(string(p), ":")
	return colon && kind != "" && name != ""
}
