package front

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/clusterd/security"
	"lockstep/protocol/perr"
)

// setPassword gives a user a password by both mechanisms, as a tool does, and returns a code for each.
func (h *house) setPassword(broker int, user, password string) (codes []perr.Code) {
	h.t.Helper()
	salt := []byte("salt of " + user)
	small, err := pbkdf2.Key(sha256.New, password, salt, 4096, 32)
	if err != nil {
		h.t.Fatal(err)
	}
	large, err := pbkdf2.Key(sha512.New, password, salt, 8192, 64)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, u := range []kmsg.AlterUserSCRAMCredentialsRequestUpsertion{
		{Name: user, Mechanism: 1, Iterations: 4096, Salt: salt, SaltedPassword: small},
		{Name: user, Mechanism: 2, Iterations: 8192, Salt: salt, SaltedPassword: large}} {
		r := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
		r.Upsertions = []kmsg.AlterUserSCRAMCredentialsRequestUpsertion{u}
		for _, result := range h.raw(broker, r, 0).(*kmsg.AlterUserSCRAMCredentialsResponse).Results {
			codes = append(codes, perr.Code(result.ErrorCode))
		}
	}
	return codes
}

// TestUsersLogInWithTheirPasswords, which an operator sets, changes and takes away while clients come and go; they outlive the
// process.
func TestUsersLogInWithTheirPasswords(t *testing.T) {
	h := newHouse(t, 1)
	log := func(user, password string) (works []string) {
		h.asking(nil)
		h.restart()
		for name, m := range mechanisms(user, password) {
			if name == security.Plain {
				continue
			}
			c := h.client(kgo.SASL(m))
			err := c.Ping(patient(t))
			c.Close()
			if err == nil {
				works = append(works, name)
			}
		}
		h.listener = Listener{}
		h.restart()
		slices.Sort(works)
		return works
	}
	if codes := h.setPassword(1, "zoë", "first"); !slices.Equal(codes, []perr.Code{perr.None, perr.None}) {
		t.Fatal(codes)
	}
	if got := log("zoë", "first"); len(got) != 2 {
		t.Errorf("the password is good for %v", got)
	}
	h.setPassword(1, "zoë", "second")
	if got := log("zoë", "first"); len(got) != 0 {
		t.Errorf("a password of before is good for %v", got)
	}
	if got := log("zoë", "second"); len(got) != 2 {
		t.Errorf("the new one is good for %v", got)
	}
	r := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	r.Deletions = []kmsg.AlterUserSCRAMCredentialsRequestDeletion{{Name: "zoë", Mechanism: 2}}
	if got := h.raw(1, r, 0).(*kmsg.AlterUserSCRAMCredentialsResponse).Results; len(got) != 1 || got[0].ErrorCode != 0 {
		t.Fatalf("%+v", got)
	}
	if got := log("zoë", "second"); !slices.Equal(got, []string{security.ScramSHA256}) {
		t.Errorf("what is left is good for %v", got)
	}
}

// TestStockToolsKeepUsers: what kadm sets it describes, and nothing more of it.
func TestStockToolsKeepUsers(t *testing.T) {
	h := newHouse(t, 1)
	adm := kadm.NewClient(h.client())
	set, err := adm.AlterUserSCRAMs(patient(t), nil, []kadm.UpsertSCRAM{
		{User: "a", Mechanism: kadm.ScramSha256, Iterations: 4096, Password: "p"}, {User: "b", Mechanism: kadm.ScramSha512, Iterations: 16384, Password: "p"}})
	if err != nil || set["a"].Err != nil || set["b"].Err != nil {
		t.Fatalf("%+v, %v", set, err)
	}
	all, err := adm.DescribeUserSCRAMs(patient(t))
	if err != nil || len(all) != 2 || len(all["b"].CredInfos) != 1 || all["b"].CredInfos[0] != (kadm.CredInfo{Mechanism: kadm.ScramSha512, Iterations: 16384}) {
		t.Errorf("%+v, %v", all, err)
	}
	gone, err := adm.AlterUserSCRAMs(patient(t), []kadm.DeleteSCRAM{{User: "b", Mechanism: kadm.ScramSha512}, {User: "a", Mechanism: kadm.ScramSha512}}, nil)
	if err != nil || gone["b"].Err != nil || gone["a"].Err == nil {
		t.Errorf("%+v, %v", gone, err)
	}
	if all, err = adm.DescribeUserSCRAMs(patient(t)); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestManyUsersAreRefusedAtOnce(t *testing.T) {
	h := newHouse(t, 1)
	r := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	r.Deletions = slices.Repeat([]kmsg.AlterUserSCRAMCredentialsRequestDeletion{{Name: "a", Mechanism: 1}}, 60_000)
	r.Upsertions = slices.Repeat([]kmsg.AlterUserSCRAMCredentialsRequestUpsertion{{Name: "b", Mechanism: 1, Iterations: 4096, Salt: []byte("s")}}, 60_000)
	began := worked(t)
	got := h.raw(1, r, 0).(*kmsg.AlterUserSCRAMCredentialsResponse).Results
	if took := worked(t) - began; took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	if len(got) != 2 || perr.Code(got[0].ErrorCode) != perr.ResourceNotFound || perr.Code(got[1].ErrorCode) != perr.PolicyViolation {
		t.Errorf("%+v", got)
	}
}
