package controllers

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/controller-manager/app"
)

func namesOf(cs []Controller) []string {
	var out []string
	for _, c := range cs {
		out = append(out, c.Name)
	}
	return out
}

// allNames are the names of what "*" stands for, without some.
func allNames(without ...string) []string {
	return namesOf(slices.DeleteFunc(running(), func(c Controller) bool { return c.OffByDefault || slices.Contains(without, c.Name) }))
}

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
		{"the short name of one that has no alias", []string{"podcertificaterequest-cleaner"}, []string{"podcertificaterequest-cleaner-controller"}},
		{"the order is that of starting, not of asking", []string{"replicaset", "deployment"}, both},
		{"name and alias are one controller", []string{"deployment", "deployment-controller"}, both[:1]},
		{"all that run, and are not off by default", []string{"*"}, allNames()},
		{"all but two", []string{"*", "-replicaset", "-garbagecollector"}, allNames("replicaset-controller", "garbage-collector-controller")},
		{"the star counts wherever it stands", []string{"-replicaset", "*"}, allNames("replicaset-controller")},
		{"the first of two counts: left out", []string{"-deployment", "deployment", "replicaset"}, both[1:]},
		{"the first of two counts: run", []string{"deployment", "-deployment-controller", "replicaset"}, both},
		{"leaving out what does not run anyway", []string{"*", "-nodeipam"}, allNames()},
		{"leaving out alone chooses nothing, as in kube-controller-manager", []string{"-replicaset"}, nil},
	} {
		chosen, err := Select(test.args)
		if err != nil {
			t.Errorf("%s: %v", test.reason, err)
		}
		if diff := cmp.Diff(test.want, namesOf(chosen)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

// TestSelectIsUpstreams compares what is chosen with kube-controller-manager's own decision, for every list of up to three
// of some arguments.
func TestSelectIsUpstreams(t *testing.T) {
	off := sets.NewString()
	for _, c := range running() {
		if c.OffByDefault {
			off.Insert(c.Name)
		}
	}
	words := []string{
		"", "*", "deployment-controller", "-deployment-controller", "token-cleaner-controller", "-token-cleaner-controller",
	}
	for _, first := range words {
		for _, second := range words {
			for _, third := range words {
				args := slices.DeleteFunc([]string{first, second, third}, func(s string) bool { return s == "" })
				chosen, err := Select(args)
				if err != nil {
					t.Fatalf("%q: %v", args, err)
				}
				want := namesOf(slices.DeleteFunc(running(), func(c Controller) bool { return !app.IsControllerEnabled(c.Name, off, args) }))
				if diff := cmp.Diff(want, namesOf(chosen)); diff != "" {
					t.Errorf("%s (-upstream +here):\n%s", strings.Join(args, ","), diff)
				}
			}
		}
	}
}

func TestSelectFor(t *testing.T) {
	signing := Authority{SigningCertFile: "ca.crt", SigningKeyFile: "ca.key"}
	withKeys := allNames("root-ca-certificate-publisher-controller", "serviceaccount-token-controller",
		"kube-apiserver-serving-clustertrustbundle-publisher-controller")
	for _, test := range []struct {
		reason    string
		authority Authority
		args      []string
		want      []string
		left      map[string]string
		refused   string // the name of one that is named and cannot run
	}{
		{
			"of all, those that lack something are left out", signing, []string{"*"}, withKeys,
			map[string]string{
				"root-ca-cert-publisher": LacksRootCA, "kube-apiserver-serving-clustertrustbundle-publisher": LacksRootCA,
				"serviceaccount-token": LacksServiceAccountKey,
			}, "",
		},
		{"one that was left out lacks nothing", signing, []string{"deployment", "-serviceaccount-token"}, []string{"deployment-controller"}, nil, ""},
		{"one that is named and has all", signing, []string{"csrsigning"}, []string{"certificatesigningrequest-signing-controller"}, nil, ""},
		{"one that is named is not left out silently", Authority{}, []string{"*", "csrsigning"}, nil, nil, "certificatesigningrequest-signing-controller"},
		{"half of what signs is none", Authority{SigningCertFile: "ca.crt"}, []string{"csrsigning"}, nil, nil, "certificatesigningrequest-signing-controller"},
	} {
		chosen, left, err := SelectFor(test.authority, test.args)
		refused, ok := errors.AsType[*NotRunError](err)
		if (err != nil) != (test.refused != "") || ok && refused.Name != test.refused {
			t.Errorf("%s: %v", test.reason, err)
		}
		if diff := cmp.Diff(test.want, namesOf(chosen)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
		var lacks map[string]string
		for _, c := range left {
			if lacks == nil {
				lacks = map[string]string{}
			}
			lacks[c.Short] = c.Lack
		}
		if diff := cmp.Diff(test.left, lacks); diff != "" {
			t.Errorf("%s: left out (-want +got):\n%s", test.reason, diff)
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
	_, err := Select([]string{"nodeipam"})
	var refused *NotRunError
	if !errors.As(err, &refused) {
		t.Fatalf("want a *NotRunError, got %v", err)
	}
	want := NotRunError{Name: "node-ipam-controller", Reason: needsRanges}
	if diff := cmp.Diff(want, *refused); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

// TestWithout: what is left selects what was selected, but for what is to go.
func TestWithout(t *testing.T) {
	words := []string{"", "*", "deployment-controller", "-job", "replicaset", "tokencleaner"}
	for _, out := range [][]string{{"deployment"}, {"tokencleaner"}, {"replicaset", "job"}} {
		gone, err := Select(out)
		if err != nil {
			t.Fatal(err)
		}
		for _, first := range words {
			for _, second := range words {
				args := slices.DeleteFunc([]string{first, second}, func(s string) bool { return s == "" })
				before, err := Select(args)
				if err != nil {
					t.Fatalf("%q: %v", args, err)
				}
				want := slices.DeleteFunc(before, func(c Controller) bool { return c.Named(out) })
				left := Without(args, gone)
				got, err := Select(left)
				if err != nil {
					t.Fatalf("%q without %q is %q: %v", args, out, left, err)
				}
				if diff := cmp.Diff(namesOf(want), namesOf(got)); diff != "" {
					t.Errorf("%q without %q is %q (-want +got):\n%s", args, out, left, diff)
				}
			}
		}
	}
}
