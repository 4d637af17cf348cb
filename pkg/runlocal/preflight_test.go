package runlocal

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/access"
)

func TestPreflightLacking(t *testing.T) {
	read, write := access.Permission{Resource: "pods", Verb: "list"}, access.Permission{Resource: "pods",
		Verb: "create"}
	missing := []access.Need{need(read, false, "a"), need(write, false, "b"),
		need(access.Permission{Resource: "events", Verb: "create"}, true, "a")}
	for _, row := range []struct {
		reason string
		write  bool
		want   []access.Permission
	}{
		{"a dry run lacks what it cannot read", false, []access.Permission{read}},
		{"a run that writes lacks both, but Events are optional", true, []access.Permission{read, write}},
	} {
		p := &Preflight{Missing: missing}
		var got []access.Permission
		for _, n := range p.Lacking(row.write) {
			got = append(got, n.Permission)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

func TestLeaseNeeds(t *testing.T) {
	var got []string
	for _, n := range LeaseNeeds("shop", "m", true) {
		got = append(got, n.String())
	}
	want := []string{
		`create leases.coordination.k8s.io in shop`, `get leases.coordination.k8s.io m in shop`,
		`update leases.coordination.k8s.io m in shop`,
		`get leases.coordination.k8s.io kube-controller-manager in kube-system`,
		`list leases.coordination.k8s.io in shop`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if beside := LeaseNeeds("shop", "m", false); len(beside) != 3 {
		t.Errorf("without looking for other writers it needs %v", beside)
	}
}

func TestBlindControllers(t *testing.T) {
	incomplete := []cluster.Incomplete{{Group: "metrics.example.com", Version: "v1"}}
	var got []string
	for _, b := range blindControllers(known(t, "deployment", "namespace", "garbagecollector", "podgc"), incomplete) {
		got = append(got, b.Short)
	}
	if diff := cmp.Diff([]string{"namespace"}, got); diff != "" {
		t.Errorf("it acts on all kinds, and leaves none out (-want +got):\n%s", diff)
	}
}
