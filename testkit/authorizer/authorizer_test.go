package authorizer

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestEachQuestionIsAskedAndAnswered(t *testing.T) {
	var p play
	for i := range uint64(20) {
		p.cluster(rand.New(rand.NewPCG(1, i)), 30, 50)
	}
	asked, acls, allowed := 0, 0, 0
	for line := range strings.Lines(p.script.String()) {
		switch what, _, _ := strings.Cut(line, "\t"); what {
		case "ask", "any":
			asked++
		case "acl":
			acls++
		}
	}
	for _, a := range p.ours {
		if a.may {
			allowed++
		}
	}
	if asked != 1000 || len(p.ours) != asked || acls != p.acls || allowed == 0 || allowed == asked {
		t.Errorf("%d questions, %d answers, %d of them yes, %d ACLs of %d", asked, len(p.ours), allowed, acls, p.acls)
	}
}
