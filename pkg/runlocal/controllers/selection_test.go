package controllers

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSelect(t *testing.T) {
	both := []string{"deployment-controller", "replicaset-controller"}
	for _, test := range []struct {
		reason string
		args   []string
		want   []string
	}{
		{"nothing asked for is nothing run", nil, nil},
		{"a name", []string{"replicaset-controller"}, both[1:]},
		{"an alias, as kube-controller-manager takes it", []string{"deployment"}, both[:1]},
		{"the order is that of starting, not of asking", []string{"replicaset", "deployment"}, both},
		{"name and alias are one controller", []string{"deployment", "deployment-controller"}, both[:1]},
		{"all that run", []string{"*"}, append(slices.Clone(both), "garbage-collector-controller")},
		{"all but two", []string{"*", "-replicaset", "-garbagecollector"}, both[:1]},
		{"leaving out wins, wherever it stands", []string{"-deployment", "deployment", "replicaset"}, both[1:]},
		{"leaving out what does not run anyway", []string{"*", "-garbagecollector", "-job"}, both},
		{"leaving out alone chooses nothing, as in kube-controller-manager", []string{"-replicaset"}, nil},
	} {
		chosen, err := Select(test.args)
		if err != nil {
			t.Errorf("%s: %v", test.reason, err)
		}
		var got []string
		for _, c := range chosen {
			got = append(got, c.Name)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestSelectRefusesUnknownNames(t *testing.T) {
	for _, arg := range []string{"deploymnt", "-deploymnt", "", "-*"} {
		_, err := Select([]string{"replicaset", arg})
		var unknown *UnknownError
		if !errors.As(err, &unknown) {
			t.Fatalf("%q: want an *UnknownError, got %v", arg, err)
		}
		if want := map[string]string{"deploymnt": "deploymnt", "-deploymnt": "deploymnt", "": "", "-*": "*"}[arg]; unknown.Name != want {
			t.Errorf("%q: the error names %q, want %q", arg, unknown.Name, want)
		}
		for _, name := range []string{"deployment", "deployment-controller", "job"} {
			if !slices.Contains(unknown.Known, name) {
				t.Errorf("the known names lack %q: nothing near to it can be proposed", name)
			}
		}
	}
}

func TestSelectSaysWhyAControllerDoesNotRun(t *testing.T) {
	_, err := Select([]string{"csrsigning"})
	var refused *NotRunError
	if !errors.As(err, &refused) {
		t.Fatalf("want a *NotRunError, got %v", err)
	}
	want := NotRunError{Name: "certificatesigningrequest-signing-controller", Reason: needsKey}
	if diff := cmp.Diff(want, *refused); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}
