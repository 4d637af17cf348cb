package tap

import (
	"reflect"
	"testing"

	"k8s.io/client-go/util/workqueue"
)

// TestInterfacesOfKeysOfOneLayoutAreAlike looks at each method, as the program does not: see keyOf.
func TestInterfacesOfKeysOfOneLayoutAreAlike(t *testing.T) {
	for _, test := range []struct{ got, want reflect.Type }{
		{reflect.TypeFor[workqueue.TypedInterface[pod]](), reflect.TypeFor[workqueue.TypedInterface[podKey]]()},
		{reflect.TypeFor[workqueue.TypedDelayingInterface[pod]](),
			reflect.TypeFor[workqueue.TypedDelayingInterface[podKey]]()},
		{reflect.TypeFor[workqueue.TypedRateLimitingInterface[pod]](),
			reflect.TypeFor[workqueue.TypedRateLimitingInterface[podKey]]()},
		{reflect.TypeFor[workqueue.TypedRateLimitingInterface[*pod]](), reflect.TypeFor[opaqueQueue]()},
		{reflect.TypeFor[workqueue.TypedRateLimiter[pod]](), reflect.TypeFor[workqueue.TypedRateLimiter[podKey]]()},
	} {
		if !sameGeneric(test.got, test.want) || test.got.NumMethod() != test.want.NumMethod() {
			t.Errorf("%v is no interface like %v", test.got, test.want)
			continue
		}
		gotKey, wantKey := keyOf(test.got), keyOf(test.want)
		same := func(got, want reflect.Type) bool { return got == want || got == gotKey && want == wantKey }
		for n := range test.want.NumMethod() {
			g, w := test.got.Method(n), test.want.Method(n)
			alike := g.Name == w.Name && g.Type.NumIn() == w.Type.NumIn() && g.Type.NumOut() == w.Type.NumOut()
			for n := 0; alike && n < w.Type.NumIn(); n++ {
				alike = same(g.Type.In(n), w.Type.In(n))
			}
			for n := 0; alike && n < w.Type.NumOut(); n++ {
				alike = same(g.Type.Out(n), w.Type.Out(n))
			}
			if !alike {
				t.Errorf("%v has %s%v, %v has %s%v", test.got, g.Name, g.Type, test.want, w.Name, w.Type)
			}
		}
	}
}

// TestOnlyInstancesOfOneInterfaceAreTheSame has what has the same methods, or the same name, and is another interface.
func TestOnlyInstancesOfOneInterfaceAreTheSame(t *testing.T) {
	type TypedInterface interface{ Done(string) }
	type renamed workqueue.TypedInterface[string]
	queue := reflect.TypeFor[workqueue.TypedInterface[string]]()
	for _, test := range []struct {
		reason string
		got    reflect.Type
		want   bool
	}{
		{"the same", queue, true},
		{"of other keys", reflect.TypeFor[workqueue.TypedInterface[int]](), true},
		{"with more methods", reflect.TypeFor[workqueue.TypedDelayingInterface[string]](), false},
		{"of this name in another package", reflect.TypeFor[TypedInterface](), false},
		{"of the same methods by another name", reflect.TypeFor[renamed](), false},
		{"a struct", reflect.TypeFor[workqueue.Typed[string]](), false},
		{"without a name", reflect.TypeFor[interface{ Done(string) }](), false},
	} {
		if got := sameGeneric(test.got, queue); got != test.want {
			t.Errorf("%s: got %t", test.reason, got)
		}
	}
}
