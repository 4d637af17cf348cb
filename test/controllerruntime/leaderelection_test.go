package controllerruntime

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
)

// withLeaderElection elects one manager among all, and hands over at once when it ends.
func withLeaderElection(o *ctrl.Options) {
	o.LeaderElection = true
	o.LeaderElectionID = "website-operator"
	o.LeaderElectionNamespace = namespace
	o.LeaderElectionReleaseOnCancel = true
	o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = new(patience), new(patience/2), new(50*time.Millisecond)
}

// TestLeaderElection: of two managers one reconciles; the other begins when it ends.
func TestLeaderElection(t *testing.T) {
	t.Parallel()
	config := startSandbox(t, apiAlone()...)
	c := newClient(t, config)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "website-operator", Namespace: namespace}}

	first := startOperator(t, config, withLeaderElection)
	awaitElection(t, first)
	get(t, c, lease)
	firstHolder := *lease.Spec.HolderIdentity
	second := startOperator(t, config, withLeaderElection)
	if !second.GetCache().WaitForCacheSync(t.Context()) {
		t.Fatal("the cache of the second manager does not fill")
	}
	one := newSite("one")
	create(t, c, one)
	eventuallyObject(t, c, one, wantReady("ContentMissing"))
	if got := second.reconciles("one"); got > 0 {
		t.Errorf("%d reconciles by the manager that does not lead", got)
	}
	select {
	case <-second.Elected():
		t.Error("both managers are elected")
	default:
	}

	first.stop()
	awaitElection(t, second)
	get(t, c, lease)
	if *lease.Spec.HolderIdentity == firstHolder || *lease.Spec.LeaseTransitions == 0 {
		t.Errorf("the lease is held by %q after %d transitions; %q held it before", *lease.Spec.HolderIdentity, *lease.Spec.LeaseTransitions, firstHolder)
	}
	two := newSite("two")
	create(t, c, two)
	eventuallyObject(t, c, two, wantReady("ContentMissing"))
	if got := first.reconciles("two"); got > 0 {
		t.Errorf("%d reconciles by the manager that has ended", got)
	}
}

func awaitElection(t *testing.T, o *operator) {
	t.Helper()
	select {
	case <-o.Elected():
	case <-time.After(patience):
		t.Fatal("the manager is not elected")
	}
}
