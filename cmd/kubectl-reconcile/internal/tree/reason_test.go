package tree

import (
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

func TestReasons(t *testing.T) {
	bad := status(inspect.Failed, "0/1", "ImagePullBackOff: nginx:nope")
	for _, tt := range []struct {
		name   string
		build  func(g *testTree) *ownertree.Branch
		want   string
		reason string
	}{
		{"own", func(g *testTree) *ownertree.Branch { return g.object("Pod/a", bad) }, "ImagePullBackOff: nginx:nope", "nothing below explains it better"},
		{"counted", func(g *testTree) *ownertree.Branch {
			return g.object("Deployment/a", status(inspect.InProgress, "2/3", "2 of 3 updated pods available"), owning(g.object("Pod/x", bad)))
		}, "2 of 3 updated pods available: ImagePullBackOff on x", "the words are those of status"},
		{"counted otherwise", func(g *testTree) *ownertree.Branch {
			return g.object("Deployment/a", status(inspect.InProgress, "3/3", "1 of 3 pods updated"), owning(g.object("Pod/x", bad)))
		}, "1 of 3 pods updated: ImagePullBackOff on x", "another count is shown"},
		{"no reason", func(g *testTree) *ownertree.Branch {
			return g.object("Deployment/a", status(inspect.InProgress, "", ""), owning(g.object("Pod/x", bad)))
		}, "ImagePullBackOff on x", "the only one"},
		{"deep", func(g *testTree) *ownertree.Branch {
			rs := g.object("ReplicaSet/r", status(inspect.InProgress, "0/1", "0 of 1 pods ready"), owning(g.object("Pod/x", bad)))
			return g.object("Deployment/a", status(inspect.InProgress, "0/1", "0 of 1 updated pods available"), owning(rs))
		}, "0 of 1 updated pods available: ImagePullBackOff on x", "the cause is what nothing below explains"},
		{"worst", func(g *testTree) *ownertree.Branch {
			return g.object("Job/a", status(inspect.InProgress, "", ""), owning(g.object("Pod/new", status(inspect.InProgress, "", "ContainerCreating")), g.object("Pod/x", bad), g.object("Pod/y", bad)))
		}, "ImagePullBackOff on x and 2 more", "the worst is named, the others are counted"},
		{"well above", func(g *testTree) *ownertree.Branch {
			return g.object("Site/a", owning(g.object("Pod/x", bad)))
		}, "ImagePullBackOff on x", "a kind that does not look at its dependents"},
		{"on its way below", func(g *testTree) *ownertree.Branch {
			return g.object("Site/a", owning(g.object("Pod/x", status(inspect.Terminating, "", ""))))
		}, "", "what only changes below is no reason for an object that is well"},
		{"no reason below", func(g *testTree) *ownertree.Branch {
			return g.object("Site/a", owning(g.object("Pod/x", status(inspect.Failed, "", ""))))
		}, "Failed on x", "the status stands in"},
		{"a relation", func(g *testTree) *ownertree.Branch {
			return g.object("Pod/a", owning(g.object("Node/n", status(inspect.Failed, "", "KubeletStopped"), relatedBy("runs on"))))
		}, "", "what is related explains nothing by itself"},
		{"owners below", func(g *testTree) *ownertree.Branch {
			return g.object("Site/a", owning(g.object("ConfigMap/x", withOwner(ownertree.OwnerMissing, ownertree.GCOutcome{Action: ownertree.ReferencesStripped}))))
		}, "", "an object that is well but for one of its owners explains nothing"},
		{"doomed below", func(g *testTree) *ownertree.Branch {
			return g.object("Site/a", owning(g.object("ConfigMap/x", withOwner(ownertree.OwnerMissing, deletedOutcome))))
		}, "Dangling on x", "one that will go does"},
		{"leaving before", func(g *testTree) *ownertree.Branch {
			return g.object("Site/a", deleting("x/y"), status(inspect.Terminating, "", "waiting for finalizer x/y"), owning(g.object("Pod/x", bad)))
		}, "waiting for finalizer x/y", "what goes before its dependents does not wait for them"},
		{"leaving after", func(g *testTree) *ownertree.Branch {
			return g.object("Site/a", deleting("foregroundDeletion"), status(inspect.Terminating, "", "waiting"), owning(g.object("Pod/x", bad)))
		}, "waiting: ImagePullBackOff on x", "in the foreground it does"},
		{"the same below", func(g *testTree) *ownertree.Branch {
			forbidden := status(inspect.Failed, "", "FailedCreate: no quota")
			return g.object("Deployment/a", forbidden, owning(g.object("ReplicaSet/x", forbidden)))
		}, "FailedCreate: no quota (on x)", "nothing is said twice"},
		{"going with it", func(g *testTree) *ownertree.Branch {
			goes := ownertree.GCOutcome{Action: ownertree.DeletedWithOwner, Why: "it goes when its owner Site a has gone"}
			return g.object("Site/a", owning(g.object("ConfigMap/x", withOwner(ownertree.Solid, goes))))
		}, "", "what goes with its owner is no trouble of it"},
		{"a quota", func(g *testTree) *ownertree.Branch {
			return g.object("StatefulSet/a", status(inspect.InProgress, "1/3", "1 of 3 pods created"), reported("Warning", "FailedCreate", "exceeded quota", 3))
		}, "1 of 3 pods created: FailedCreate", "a Warning is the reason"},
		{"a quota, and a pod", func(g *testTree) *ownertree.Branch {
			return g.object("StatefulSet/a", status(inspect.InProgress, "1/3", "1 of 3 pods created"), reported("Warning", "FailedCreate", "exceeded quota", 3), owning(g.object("Pod/x", bad)))
		}, "1 of 3 pods created: FailedCreate; ImagePullBackOff on x", "what is below is another cause"},
		{"what is missing", func(g *testTree) *ownertree.Branch {
			return g.object("Pod/a", status(inspect.InProgress, "0/1", "waiting to be scheduled"), needing("StorageClass/fast", "PersistentVolumeClaim/data"), reported("Warning", "FailedScheduling", "unbound", 3))
		}, "waiting to be scheduled: StorageClass/fast does not exist", "it says more than a Warning"},
		{"much that is missing", func(g *testTree) *ownertree.Branch {
			return g.object("Pod/a", status(inspect.InProgress, "0/1", ""), needing("Secret/a", ""), needing("Secret/b", ""))
		}, "Secret/a does not exist, nor 1 more", "the first is named"},
		{"a reason with its cause", func(g *testTree) *ownertree.Branch {
			return g.object("Pod/a", bad, reported("Warning", "Failed", "not found", 3))
		}, "ImagePullBackOff: nginx:nope", "it explains itself"},
		{"Events of what is well", func(g *testTree) *ownertree.Branch {
			return g.object("Pod/a", status(inspect.Current, "1/1", ""), reported("Warning", "Unhealthy", "once", 1))
		}, "", "with --events there may be some, of the past"},
		{"no controller reports", func(g *testTree) *ownertree.Branch {
			return g.object("Site/a", status(inspect.InProgress, "", "waiting"), owning(g.object("Cache/x", status(inspect.Unknown, "", "no status reported"))))
		}, "waiting", "a kind without a controller is no cause"},
	} {
		g := newTestTree()
		if got := reasonOf(g.nodes(tt.build(g))[0]); got != tt.want {
			t.Errorf("%s: %q, want %q: %s", tt.name, got, tt.want, tt.reason)
		}
	}
}

// TestStatusOfOwned: an object is Dangling only if none of its owners is there.
func TestStatusOfOwned(t *testing.T) {
	for _, tt := range []struct {
		with                []objectOption
		status, reason, why string
		worst               int
	}{
		{nil, inspect.Current, "", "no owner", 0},
		{[]objectOption{withOwner(ownertree.OwnerMissing, deletedOutcome)}, "Dangling", "its owner Deployment old does not exist", "the owner is gone", treestatus.SeverityDegraded},
		{[]objectOption{ownedByDeleting("Deployment/web")}, inspect.Current, "its owner Deployment web is being deleted", "the owner is there, and waits for it", 0},
		{
			[]objectOption{status(inspect.Failed, "0/1", "Error"), ownedByDeleting("Deployment/web")}, inspect.Failed, "Error", "its own state comes first",
			inspect.Status{Status: inspect.Failed}.Severity(),
		},
	} {
		g := newTestTree()
		n := g.nodes(g.object("Pod/a", tt.with...))[0]
		if n.Status != tt.status || rowReason(n) != tt.reason || n.Severity != tt.worst {
			t.Errorf("%s: %s, %q, severity %d; want %s, %q, %d", tt.why, n.Status, rowReason(n), n.Severity, tt.status, tt.reason, tt.worst)
		}
	}
}
