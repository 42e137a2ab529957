package front

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"lockstep/actors/core/access"
	"lockstep/protocol/messages"
)

// odd fills requests of every kind with what no client should send: numbers at the ends of their ranges, nulls, names that
// cannot be, items named twice, ids and names of what is there and what is not.
type odd struct {
	rng    *rand.Rand
	topics [][16]byte
	batch  []byte
}

var oddNames = []string{"", "t", "t", "u", "u", "g", "g", "nobody", ".", "..", "__consumer_offsets", "__cluster_metadata", "snow☃", "a b", "nul\x00",
	"\xff\xfe", "1", "2", "-1", "+1", "9999999999", "retention.ms", "cleanup.policy", "compact", "min.insync.replicas", "user", "client-id", "ip",
	"producer_byte_rate", "group.version", "metadata.version", "range", "consumer", "uniform", "User:a", "User:*", "*", "kafka-cluster", "10.0.0.1", "t.", "t_", "consumer.session.timeout.ms",
	strings.Repeat("a", 249), strings.Repeat("b", 300)}

func pick[T any](rng *rand.Rand, list ...T) T { return list[rng.IntN(len(list))] }

// fill is called with the name of the field that v is, or is an item of.
func (o *odd) fill(v reflect.Value, field string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "Version" && f.Name != "UnknownTags" {
				o.fill(v.Field(i), f.Name)
			}
		}
	case reflect.Pointer:
		if v.SetZero(); o.rng.IntN(3) > 0 {
			v.Set(o.made(v.Type().Elem(), field))
		}
	case reflect.String:
		v.SetString(pick(o.rng, oddNames...))
	case reflect.Bool:
		v.SetBool(o.rng.IntN(2) == 0)
	case reflect.Int8:
		v.SetInt(pick[int64](o.rng, -128, -1, 0, 0, 1, 1, 2, 3, 4, 16, 32, 64, 127))
	case reflect.Int16:
		v.SetInt(pick[int64](o.rng, math.MinInt16, -2, -1, -1, 0, 1, 1, 2, 3, math.MaxInt16))
	case reflect.Int32:
		if waits(field) {
			v.SetInt(pick[int64](o.rng, math.MinInt32, -1, 0, 1, 10))
			break
		}
		v.SetInt(pick[int64](o.rng, math.MinInt32, -2, -1, -1, 0, 0, 0, 1, 1, 2, 3, 4, 30, math.MaxInt32))
	case reflect.Int64:
		v.SetInt(pick[int64](o.rng, math.MinInt64, -7, -6, -5, -4, -3, -2, -1, 0, 0, 1, 2, 3, 1<<40, math.MaxInt64))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		v.SetUint(pick[uint64](o.rng, 0, 1, 255))
	case reflect.Float64:
		v.SetFloat(pick(o.rng, math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1, 1e300, 1000))
	case reflect.Array:
		v.SetZero()
		for i, b := range pick(o.rng, [16]byte{}, [16]byte{1}, pick(o.rng, o.topics...)) {
			v.Index(i).SetUint(uint64(b))
		}
	case reflect.Slice:
		o.list(v, field)
	default:
		panic(fmt.Sprintf("%s is of kind %s", field, v.Kind()))
	}
}

// made is a pointer to a new value.
func (o *odd) made(of reflect.Type, field string) reflect.Value {
	p := reflect.New(of)
	if d, ok := p.Interface().(interface{ Default() }); ok {
		d.Default()
	}
	o.fill(p.Elem(), field)
	return p
}

func (o *odd) list(v reflect.Value, field string) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		garbage := make([]byte, o.rng.IntN(100))
		for i := range garbage {
			garbage[i] = byte(o.rng.Uint32())
		}
		v.SetBytes(pick(o.rng, nil, []byte{}, append([]byte{}, o.batch...), garbage))
		return
	}
	n := o.rng.IntN(5) - 1
	if v.SetZero(); n < 0 {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, n))
	for i := range n {
		item := o.made(v.Type().Elem(), field).Elem()
		if i > 0 && o.rng.IntN(3) == 0 {
			item = v.Index(i - 1)
		}
		v.Set(reflect.Append(v, item))
	}
}

// waits tells fields that make an answer late.
func waits(field string) bool {
	field = strings.ToLower(field)
	return strings.Contains(field, "timeout") || strings.Contains(field, "wait") || strings.Contains(field, "minbytes")
}

// Every request, in every version, is answered in the form of its version whatever it says, and the cluster goes on.
func TestOddRequestsAreAnswered(t *testing.T) {
	const rounds = 12
	h := newHouse(t, 2)
	h.withSettings(map[string]string{access.AuthorizerClass: access.StandardAuthorizer, access.SuperUsers: string(access.Anonymous)})
	o := &odd{batch: oneRecord(plain, "v")}
	for _, name := range []string{"t", "u"} {
		o.topics = append(o.topics, h.create(name, 3, 2, nil).ID)
	}
	asking := ""
	defer func() {
		if t.Failed() {
			t.Log(asking)
		}
	}()
	for round := range uint64(rounds) {
		c := dial(t, h.addrs[round%2])
		for _, a := range messages.APIs() {
			if a.Key == messages.KeyCreateClusterMirror {
				continue // asks the source that it names
			}
			for version := a.Min; version <= a.Max; version++ {
				o.rng = rand.New(rand.NewPCG(round, uint64(a.Key)<<16|uint64(version)))
				r, err := messages.NewRequest(a.Key, version)
				if err != nil {
					t.Fatal(err)
				}
				o.fill(reflect.ValueOf(r).Elem(), "")
				if p, ok := r.(*kmsg.ProduceRequest); ok && p.Acks == 0 {
					p.Acks = -1 // else nothing is answered
				}
				asking = fmt.Sprintf("round %d, %s v%d: %+v", round, a.Name, version, r)
				answerOn(t, c, r, version)
			}
		}
	}
	asking = "nothing more"
	h.create("after", 3, 2, nil)
	records := values("v", 10)
	h.produce("after", records)
	wantEqual(t, "records", h.consume("after", 10), sortedValues(records))
}
