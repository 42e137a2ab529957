// Package authorizer holds our judgement of who may do what against that of Kafka's own StandardAuthorizer.
package authorizer

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"time"

	"lockstep/actors/core/access"
	"lockstep/testkit/jvm"
	"lockstep/testkit/outcome"
)

//go:embed programs
var programs embed.FS

// Command is `testkit authorizer`.
type Command struct {
	Clusters int    `default:"300" help:"Sets of random ACLs."`
	ACLs     int    `name:"acls" default:"30" help:"Fewer ACLs than this in each."`
	Asks     int    `default:"200" help:"Questions about each."`
	Seed     uint64 `help:"Seed of the first set; 0 draws one."`
	JSON     string `name:"json" type:"path" help:"Write the table to this file as JSON; - is standard output."`
}

// result is the table.
type result struct {
	Seed      uint64 `json:"seed"`
	Clusters  int    `json:"clusters"`
	ACLs      int    `json:"acls"`
	Asks      int    `json:"asks"`
	Allowed   int    `json:"allowed"`
	Different int    `json:"different"`
}

// Run implements the command. It fails when an answer differs.
func (c *Command) Run() error {
	if c.Clusters < 1 || c.ACLs < 1 || c.Asks < 1 {
		return fmt.Errorf("--clusters %d --acls %d --asks %d: use 1 or more", c.Clusters, c.ACLs, c.Asks)
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	home, err := install(ctx)
	if err != nil {
		return err
	}
	var p play
	for i := range c.Clusters {
		p.cluster(rand.New(rand.NewPCG(c.Seed, uint64(i))), c.ACLs, c.Asks)
	}
	fmt.Printf("asking Kafka %d questions about %d sets of ACLs, seed %d\n", len(p.ours), c.Clusters, c.Seed)
	line := home.Args("Judge")
	judge := exec.CommandContext(ctx, line[0], line[1:]...)
	judge.Stdin = &p.script
	var said, complaint bytes.Buffer
	judge.Stdout, judge.Stderr = &said, &complaint
	if err := judge.Run(); err != nil {
		return fmt.Errorf("run Judge: %w\n%s", err, complaint.Bytes()[:min(2000, complaint.Len())])
	}
	theirs := strings.Fields(said.String())
	if len(theirs) != len(p.ours) {
		return fmt.Errorf("Kafka gave %d answers to %d questions", len(theirs), len(p.ours))
	}
	r := result{Seed: c.Seed, Clusters: c.Clusters, ACLs: p.acls, Asks: len(p.ours)}
	for i, o := range p.ours {
		if o.may {
			r.Allowed++
		}
		if o.may != (theirs[i] == "1") {
			if r.Different++; r.Different <= 5 {
				fmt.Printf("DIFFERENT: %s: Kafka says %s, we say %v, of\n%s", o.text, theirs[i], o.may, o.cluster)
			}
		}
	}
	fmt.Printf("\n%8s %8s %8s %8s %9s\n%8d %8d %8d %8d %9d\n", "CLUSTERS", "ACLS", "ASKS", "ALLOWED", "DIFFERENT", r.Clusters, r.ACLs, r.Asks, r.Allowed, r.Different)
	if err := outcome.Write(c.JSON, []result{r}); err != nil {
		return err
	}
	if r.Different > 0 {
		return fmt.Errorf("%d of %d answers differ; again with --seed %d", r.Different, r.Asks, c.Seed)
	}
	return nil
}

func install(ctx context.Context) (jvm.Home, error) {
	home, err := jvm.At("authorizer")
	if err != nil {
		return "", err
	}
	pom, err := programs.ReadFile("programs/pom.xml")
	if err != nil {
		return "", err
	}
	if err := home.Install(ctx, pom); err != nil {
		return "", err
	}
	source, err := programs.ReadFile("programs/Judge.java")
	if err != nil {
		return "", err
	}
	return home, home.Compile(ctx, "Judge.java", source)
}

// play is what both are asked.
type play struct {
	script bytes.Buffer
	acls   int
	ours   []answer
}

// answer is ours to one question.
type answer struct {
	text    string
	cluster string
	may     bool
}

// names are alike at their beginnings, at their ends, and odd. None but * begins with *: for those Kafka's authorizer steps over
// the ACLs of the literal *, allowing and denying ones.
var names = []string{"a", "ab", "abc", "abd", "b", "ba", "a-", "*", "a*", "ü", "üb", "群", "群组", "a:b", "a,b", "hardcode", "hard", "kafka-cluster"}

// principals that ask; of ACLs there is everybody as well, whose name makes Kafka's authorizer fail where a client has it.
var principals = []string{"User:a", "User:b", "User:a:b", "User:CN=x,OU=\"y z\"", "Group:a", "User:ANONYMOUS"}

var hosts = []string{"10.0.0.1", "10.0.0.2", "::1"}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func (p *play) cluster(r *rand.Rand, acls, asks int) {
	settings := access.Settings{On: true, OpenUnlessNamed: r.IntN(3) == 0, Super: map[access.Principal]bool{}}
	super := ""
	if r.IntN(3) == 0 {
		super = pick(r, principals)
		settings.Super[access.Principal(super)] = true
	}
	fmt.Fprintf(&p.script, "begin\t%s\t%v\n", super, settings.OpenUnlessNamed)
	var text strings.Builder
	fmt.Fprintf(&text, "super.users=%s allow.everyone.if.no.acl.found=%v\n", super, settings.OpenUnlessNamed)
	var list []access.Binding
	rules := access.Rules{}
	for range r.IntN(acls) {
		b := binding(r)
		if rules.Has(b) {
			continue // Kafka's controller keeps it from its authorizer, too
		}
		rules = rules.With(b)
		list = append(list, b)
		host := b.Host
		if host == "::1" {
			host = "0:0:0:0:0:0:0:1" // as Java writes an address, and as an ACL of Kafka must
		}
		fmt.Fprintf(&p.script, "acl\t%d\t%d\t%s\t%s\t%s\t%d\t%d\n", b.Pattern.Type, b.Pattern.Kind, b.Pattern.Name, b.Principal, host, b.Operation, b.Permission)
		fmt.Fprintf(&text, "  %+v\n", b)
	}
	p.acls += len(list)
	for range asks {
		who, host := access.Principal(pick(r, principals)), pick(r, hosts)
		op, kind, name := access.Read+access.Operation(r.IntN(int(access.TwoPhaseCommit-access.Read)+1)), access.Topic+access.ResourceType(r.IntN(3)), pick(r, names)
		a := answer{cluster: text.String()}
		if r.IntN(4) == 0 {
			fmt.Fprintf(&p.script, "any\t%s\t%s\t%d\t%d\n", who, host, op, kind)
			a.text, a.may = fmt.Sprintf("%s from %s, operation %d with some resource of type %d", who, host, op, kind), rules.AllowedByType(settings, who, host, op, kind)
		} else {
			fmt.Fprintf(&p.script, "ask\t%s\t%s\t%d\t%d\t%s\n", who, host, op, kind, name)
			a.text, a.may = fmt.Sprintf("%s from %s, operation %d with type %d %q", who, host, op, kind, name), rules.Allowed(settings, who, host, op, kind, name)
		}
		p.ours = append(p.ours, a)
	}
}

func binding(r *rand.Rand) access.Binding {
	b := access.Binding{Pattern: access.Pattern{Type: access.Topic + access.ResourceType(r.IntN(3)), Name: pick(r, names), Kind: access.Literal},
		Principal: access.Principal(pick(r, append(principals[:len(principals):len(principals)], string(access.Everybody)))), Host: pick(r, hosts), Operation: access.All + access.Operation(r.IntN(int(access.TwoPhaseCommit-access.All)+1)), Permission: access.Allow}
	if r.IntN(2) == 0 {
		b.Pattern.Kind = access.Prefixed
	}
	if r.IntN(4) == 0 {
		b.Permission = access.Deny
	}
	if r.IntN(2) == 0 {
		b.Host = access.Wildcard
	}
	if r.IntN(3) == 0 {
		b.Operation = access.All
	}
	return b
}
