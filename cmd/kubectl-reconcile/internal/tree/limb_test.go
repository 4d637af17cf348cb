package tree

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// treeTime is when trees of tests are drawn; their objects are an hour old.
var treeTime = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// grove makes trees by hand: objects and what they own, the facts of each, and what the garbage collector makes of them.
type grove struct {
	facts factsByUID
	fates map[types.UID]ownertree.GCOutcome
	kinds map[string]*cluster.Kind
	nodes map[string]*ownertree.Node // by KIND/NAME
	found *allFindings               // nil until something is found
}

func newGrove() *grove {
	return &grove{factsByUID{}, map[types.UID]ownertree.GCOutcome{}, map[string]*cluster.Kind{}, map[string]*ownertree.Node{}, nil}
}

// kind is one of the kinds of test objects, which share theirs as those of a graph do.
func (g *grove) kind(name string) *cluster.Kind {
	if g.kinds[name] == nil {
		g.kinds[name] = testKind(name)
	}
	return g.kinds[name]
}

func testKind(name string) *cluster.Kind {
	name, group, _ := strings.Cut(name, ".")
	if group == "" {
		group = map[string]string{"Deployment": "apps", "ReplicaSet": "apps"}[name]
	}
	return &cluster.Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: group, Version: "v1", Kind: name},
		Resource:         strings.ToLower(name) + "s", Namespaced: true, HasStatus: name != "ConfigMap",
		Verbs: []string{"delete", "get", "list", "watch"},
	}
}

// grown changes a branch, or what is known of it.
type grown func(*grove, *ownertree.Branch, *objectFacts)

// object is KIND/NAME that is Current, with one container or replica ready, an hour old and of generation 1.
func (g *grove) object(name string, with ...grown) *ownertree.Branch {
	kind, name, _ := strings.Cut(name, "/")
	b := &ownertree.Branch{Node: &ownertree.Node{
		Kind: g.kind(kind), Namespace: "shop", Name: name, UID: types.UID(kind + "-" + name), Generation: 1,
		Created: metav1.NewTime(treeTime.Add(-time.Hour)),
	}}
	g.nodes[kind+"/"+name] = b.Node
	one := int64(1)
	f := &objectFacts{Report: inspect.Report{
		Status: inspect.Status{Status: inspect.Current, Kstatus: inspect.Current},
		Drift:  inspect.Drift{Generation: 1, Observed: &one, State: inspect.InSync},
	}}
	g.facts[b.Node.UID] = f
	for _, change := range with {
		change(g, b, f)
	}
	return b
}

func owning(children ...*ownertree.Branch) grown {
	return func(_ *grove, b *ownertree.Branch, _ *objectFacts) { b.Children = append(b.Children, children...) }
}

func is(status, ready, reason string) grown {
	return func(_ *grove, _ *ownertree.Branch, f *objectFacts) {
		f.Status.Status, f.Ready, f.Reason = status, ready, reason
	}
}

func branch(change func(*ownertree.Branch)) grown {
	return func(_ *grove, b *ownertree.Branch, _ *objectFacts) { change(b) }
}

func wanted() grown { return branch(func(b *ownertree.Branch) { b.Asked = true }) }

func relatedBy(how string) grown { return branch(func(b *ownertree.Branch) { b.Relation = how }) }

func aged(d time.Duration) grown {
	return branch(func(b *ownertree.Branch) { b.Node.Created = metav1.NewTime(treeTime.Add(-d)) })
}

// behind makes the controller see an older generation, since ten minutes.
func behind(generation, observed int64) grown {
	return func(_ *grove, b *ownertree.Branch, f *objectFacts) {
		b.Node.Generation = generation
		f.Drift = inspect.Drift{Generation: generation, Observed: &observed, State: inspect.Behind, Since: &metav1.Time{Time: treeTime.Add(-10 * time.Minute)}}
	}
}

// orphan gives the object an owner with a verdict, and a fate.
func orphan(verdict ownertree.Verdict, fate ownertree.GCOutcome) grown {
	return func(g *grove, b *ownertree.Branch, _ *objectFacts) {
		b.Node.Owners = append(b.Node.Owners, ownertree.Owner{
			OwnerReference: metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "old", UID: "3f2a7c11-0000"},
			Verdict:        verdict, Confirmed: true,
		})
		g.fates[b.Node.UID] = fate
	}
}

// deleting says since ten minutes that the object is being deleted, held by finalizers.
func deleting(finalizers ...string) grown {
	return branch(func(b *ownertree.Branch) {
		b.Node.Deleting, b.Node.Finalizers = &metav1.Time{Time: treeTime.Add(-10 * time.Minute)}, finalizers
	})
}

var doomedFate = ownertree.GCOutcome{Action: ownertree.Deleted, Policy: metav1.DeletePropagationBackground, Why: "its owner Deployment old does not exist"}

// find returns what was found of the object of a branch, to be filled in.
func (g *grove) find(b *ownertree.Branch) *findings {
	if g.found == nil {
		g.found = &allFindings{of: map[types.UID]*findings{}}
	}
	return g.found.find(b.Node)
}

// needing makes the object need another that is not there, named by a third; empty for itself.
func needing(other, namedBy string) grown {
	return func(g *grove, b *ownertree.Branch, _ *objectFacts) {
		node := func(name string) *ownertree.Node {
			kind, name, _ := strings.Cut(name, "/")
			return &ownertree.Node{Kind: g.kind(kind), Namespace: "shop", Name: name}
		}
		lack := ownertree.Lack{Object: node(other), NamedBy: b.Node}
		if namedBy != "" {
			lack.NamedBy = node(namedBy)
		}
		g.find(b).lacks = append(g.find(b).lacks, lack)
	}
}

// reported adds an Event of five minutes ago.
func reported(kind, reason, message string, count int32) grown {
	return func(g *grove, b *ownertree.Branch, _ *objectFacts) {
		g.find(b).events = append(g.find(b).events, ownertree.Event{
			Type: kind, Reason: reason, Message: message, Count: count, Last: metav1.NewTime(treeTime.Add(-5 * time.Minute)),
		})
	}
}

// Fate implements collector.
func (g *grove) GCOutcome(n *ownertree.Node) ownertree.GCOutcome {
	if fate, ok := g.fates[n.UID]; ok {
		return fate
	}
	return ownertree.GCOutcome{Action: ownertree.Kept}
}

// Held implements collector.
func (g *grove) Blockers(n *ownertree.Node) (ownertree.DeletionBlockers, bool) {
	own := func(f string) bool {
		return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
	}
	return ownertree.DeletionBlockers{Node: n, Finalizers: slices.DeleteFunc(slices.Clone(n.Finalizers), own)}, n.Deleting != nil
}

func (g *grove) limbs(branches ...*ownertree.Branch) []*limb {
	return newLimbMaker(g.facts, g, g.found).limbs(branches)
}

// drawn is the tree as it is printed.
func (g *grove) drawn(o foldOptions, branches ...*ownertree.Branch) string {
	items := itemMaker{now: treeTime, events: o.events, kinds: kindNamesOf(nodesOf(branches))}.items(fold(g.limbs(branches...), o))
	var out strings.Builder
	if err := render.Tree(&out, items, render.TreeOptions{}); err != nil {
		panic(err) // a strings.Builder has no errors
	}
	return "\n" + out.String()
}

func TestReasons(t *testing.T) {
	bad := is(inspect.Failed, "0/1", "ImagePullBackOff: nginx:nope")
	for _, tt := range []struct {
		name   string
		grow   func(g *grove) *ownertree.Branch
		want   string
		reason string
	}{
		{"own", func(g *grove) *ownertree.Branch { return g.object("Pod/a", bad) }, "ImagePullBackOff: nginx:nope", "nothing below says it better"},
		{"counted", func(g *grove) *ownertree.Branch {
			return g.object("Deployment/a", is(inspect.InProgress, "2/3", "2 of 3 updated pods available"), owning(g.object("Pod/x", bad)))
		}, "2 of 3 updated pods available: ImagePullBackOff on x", "the words are those of status"},
		{"counted otherwise", func(g *grove) *ownertree.Branch {
			return g.object("Deployment/a", is(inspect.InProgress, "3/3", "1 of 3 pods updated"), owning(g.object("Pod/x", bad)))
		}, "1 of 3 pods updated: ImagePullBackOff on x", "another count is told"},
		{"no reason", func(g *grove) *ownertree.Branch {
			return g.object("Deployment/a", is(inspect.InProgress, "", ""), owning(g.object("Pod/x", bad)))
		}, "ImagePullBackOff on x", "the only one"},
		{"deep", func(g *grove) *ownertree.Branch {
			rs := g.object("ReplicaSet/r", is(inspect.InProgress, "0/1", "0 of 1 pods ready"), owning(g.object("Pod/x", bad)))
			return g.object("Deployment/a", is(inspect.InProgress, "0/1", "0 of 1 updated pods available"), owning(rs))
		}, "0 of 1 updated pods available: ImagePullBackOff on x", "the cause is what nothing below explains"},
		{"worst", func(g *grove) *ownertree.Branch {
			return g.object("Job/a", is(inspect.InProgress, "", ""), owning(g.object("Pod/new", is(inspect.InProgress, "", "ContainerCreating")), g.object("Pod/x", bad), g.object("Pod/y", bad)))
		}, "ImagePullBackOff on x and 2 more", "the worst is named, the others are counted"},
		{"well above", func(g *grove) *ownertree.Branch {
			return g.object("Site/a", owning(g.object("Pod/x", bad)))
		}, "ImagePullBackOff on x", "a kind that does not look at its dependents"},
		{"on its way below", func(g *grove) *ownertree.Branch {
			return g.object("Site/a", owning(g.object("Pod/x", is(inspect.Terminating, "", ""))))
		}, "", "what only changes below is no reason for an object that is well"},
		{"no reason below", func(g *grove) *ownertree.Branch {
			return g.object("Site/a", owning(g.object("Pod/x", is(inspect.Failed, "", ""))))
		}, "Failed on x", "the status stands in"},
		{"a relation", func(g *grove) *ownertree.Branch {
			return g.object("Pod/a", owning(g.object("Node/n", is(inspect.Failed, "", "KubeletStopped"), relatedBy("runs on"))))
		}, "", "what is related explains nothing by itself"},
		{"owners below", func(g *grove) *ownertree.Branch {
			return g.object("Site/a", owning(g.object("ConfigMap/x", orphan(ownertree.OwnerMissing, ownertree.GCOutcome{Action: ownertree.ReferencesStripped}))))
		}, "", "an object that is well but for one of its owners explains nothing"},
		{"doomed below", func(g *grove) *ownertree.Branch {
			return g.object("Site/a", owning(g.object("ConfigMap/x", orphan(ownertree.OwnerMissing, doomedFate))))
		}, "Dangling on x", "one that will go does"},
		{"leaving before", func(g *grove) *ownertree.Branch {
			return g.object("Site/a", deleting("x/y"), is(inspect.Terminating, "", "waiting for finalizer x/y"), owning(g.object("Pod/x", bad)))
		}, "waiting for finalizer x/y", "what goes before its dependents does not wait for them"},
		{"leaving after", func(g *grove) *ownertree.Branch {
			return g.object("Site/a", deleting("foregroundDeletion"), is(inspect.Terminating, "", "waiting"), owning(g.object("Pod/x", bad)))
		}, "waiting: ImagePullBackOff on x", "in the foreground it does"},
		{"the same below", func(g *grove) *ownertree.Branch {
			forbidden := is(inspect.Failed, "", "FailedCreate: no quota")
			return g.object("Deployment/a", forbidden, owning(g.object("ReplicaSet/x", forbidden)))
		}, "FailedCreate: no quota (on x)", "nothing is said twice"},
		{"going with it", func(g *grove) *ownertree.Branch {
			goes := ownertree.GCOutcome{Action: ownertree.DeletedWithOwner, Why: "it goes when its owner Site a has gone"}
			return g.object("Site/a", owning(g.object("ConfigMap/x", orphan(ownertree.Solid, goes))))
		}, "", "what goes with its owner is no trouble of it"},
		{"a quota", func(g *grove) *ownertree.Branch {
			return g.object("StatefulSet/a", is(inspect.InProgress, "1/3", "1 of 3 pods created"), reported("Warning", "FailedCreate", "exceeded quota", 3))
		}, "1 of 3 pods created: FailedCreate", "a Warning says why"},
		{"a quota, and a pod", func(g *grove) *ownertree.Branch {
			return g.object("StatefulSet/a", is(inspect.InProgress, "1/3", "1 of 3 pods created"), reported("Warning", "FailedCreate", "exceeded quota", 3), owning(g.object("Pod/x", bad)))
		}, "1 of 3 pods created: FailedCreate; ImagePullBackOff on x", "what is below is another cause"},
		{"what is missing", func(g *grove) *ownertree.Branch {
			return g.object("Pod/a", is(inspect.InProgress, "0/1", "waiting to be scheduled"), needing("StorageClass/fast", "PersistentVolumeClaim/data"), reported("Warning", "FailedScheduling", "unbound", 3))
		}, "waiting to be scheduled: StorageClass/fast is not there", "it says more than a Warning"},
		{"much that is missing", func(g *grove) *ownertree.Branch {
			return g.object("Pod/a", is(inspect.InProgress, "0/1", ""), needing("Secret/a", ""), needing("Secret/b", ""))
		}, "Secret/a is not there, nor 1 more", "the first is named"},
		{"a reason that is told", func(g *grove) *ownertree.Branch {
			return g.object("Pod/a", bad, reported("Warning", "Failed", "not found", 3))
		}, "ImagePullBackOff: nginx:nope", "it explains itself"},
		{"Events of what is well", func(g *grove) *ownertree.Branch {
			return g.object("Pod/a", is(inspect.Current, "1/1", ""), reported("Warning", "Unhealthy", "once", 1))
		}, "", "with --events there may be some, of the past"},
		{"nobody reports", func(g *grove) *ownertree.Branch {
			return g.object("Site/a", is(inspect.InProgress, "", "waiting"), owning(g.object("Cache/x", is(inspect.Unknown, "", "no status reported"))))
		}, "waiting", "a kind without a controller is no cause"},
	} {
		g := newGrove()
		if got := g.limbs(tt.grow(g))[0].reason(); got != tt.want {
			t.Errorf("%s: %q, want %q: %s", tt.name, got, tt.want, tt.reason)
		}
	}
}

// awaited gives the object an owner that is there, is being deleted and waits for it: the garbage collector deletes it
// at once.
func awaited(owner string) grown {
	return func(g *grove, b *ownertree.Branch, _ *objectFacts) {
		kind, name, _ := strings.Cut(owner, "/")
		b.Node.Owners = []ownertree.Owner{{
			OwnerReference: metav1.OwnerReference{APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID(kind + "-" + name)},
			Node:           &ownertree.Node{Kind: g.kind(kind), Name: name}, Verdict: ownertree.Solid, Confirmed: true,
		}}
		g.fates[b.Node.UID] = ownertree.GCOutcome{
			Action: ownertree.Deleted, Policy: metav1.DeletePropagationBackground, Why: "its owner " + kind + " " + name + " is being deleted",
		}
	}
}

// TestStatusOfOwned: an object is Dangling only if none of its owners is there.
func TestStatusOfOwned(t *testing.T) {
	for _, tt := range []struct {
		with                []grown
		status, reason, why string
		worst               int
	}{
		{nil, inspect.Current, "", "no owner", 0},
		{[]grown{orphan(ownertree.OwnerMissing, doomedFate)}, "Dangling", "its owner Deployment old does not exist", "the owner is gone", troubling},
		{[]grown{awaited("Deployment/web")}, inspect.Current, "its owner Deployment web is being deleted", "the owner is there, and waits for it", 0},
		{
			[]grown{is(inspect.Failed, "0/1", "Error"), awaited("Deployment/web")}, inspect.Failed, "Error", "its own state is told first",
			inspect.Status{Status: inspect.Failed}.Severity(),
		},
	} {
		g := newGrove()
		l := g.limbs(g.object("Pod/a", tt.with...))[0]
		if l.status() != tt.status || l.ownersReason() != tt.reason || l.severity != tt.worst {
			t.Errorf("%s: %s, %q, severity %d; want %s, %q, %d", tt.why, l.status(), l.ownersReason(), l.severity, tt.status, tt.reason, tt.worst)
		}
	}
}

func TestTreeOfFolds(t *testing.T) {
	pods := func(g *grove, n int, with ...grown) []*ownertree.Branch {
		var out []*ownertree.Branch
		for i := range n {
			out = append(out, g.object(fmt.Sprintf("Pod/web-%d", i), append([]grown{is(inspect.Current, "1/1", "")}, with...)...))
		}
		return out
	}
	for _, tt := range []struct {
		name   string
		f      foldOptions
		grow   func(g *grove) []*ownertree.Branch
		want   string
		reason string
	}{
		{"alike", foldOptions{}, func(g *grove) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", wanted(), owning(pods(g, 40)...))}
		}, `
NAME                READY   STATUS    REASON   GEN   AGE
Deployment/web  ◀   -       Current            1     60m
└─Pod (40)          40/40   Current            1     60m
`, "siblings in the same state share a line"},
		{"few", foldOptions{}, func(g *grove) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", wanted(), owning(g.object("Pod/web-7d4b-a"), g.object("Pod/web-7d4b-b", aged(time.Minute))))}
		}, `
NAME                READY   STATUS    REASON               GEN   AGE
Deployment/web  ◀   -       Current                        1     60m
└─Pod (2)           -       Current   web-7d4b-a, -b       1     60s-60m
`, "a few are named; ages are a range"},
		{"expand", foldOptions{expand: true}, func(g *grove) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", wanted(), owning(pods(g, 2)...))}
		}, `
NAME                READY   STATUS    REASON   GEN   AGE
Deployment/web  ◀   -       Current            1     60m
├─Pod/web-0         1/1     Current            1     60m
└─Pod/web-1         1/1     Current            1     60m
`, "each by itself"},
		{"bad first", foldOptions{}, func(g *grove) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", wanted(), owning(append(pods(g, 3), g.object("Pod/z", is(inspect.Failed, "0/1", "Error: exit 1")))...))}
		}, `
NAME                READY   STATUS    REASON                 GEN   AGE
Deployment/web  ◀   -       Current   Error on z             1     60m
├─Pod/z             0/1     Failed    Error: exit 1          1     60m
└─Pod (3)           3/3     Current   web-0, -1, -2          1     60m
`, "what is wrong comes first, by itself"},
		{"many bad", foldOptions{}, func(g *grove) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", wanted(), owning(pods(g, 9, is(inspect.Failed, "0/1", "Error"))...))}
		}, `
NAME                READY   STATUS    REASON                        GEN   AGE
Deployment/web  ◀   -       Current   Error on web-0 and 8 more     1     60m
├─Pod/web-0         0/1     Failed    Error                         1     60m
├─Pod/web-1         0/1     Failed    Error                         1     60m
├─Pod/web-2         0/1     Failed    Error                         1     60m
└─Pod (6)           0/6     Failed    Error                         1     60m
`, "some in the same trouble are named, for whoever looks at one of them"},
		{"one more than some bad", foldOptions{}, func(g *grove) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", wanted(), owning(pods(g, 4, is(inspect.Failed, "0/1", "Error"))...))}
		}, `
NAME                READY   STATUS    REASON                        GEN   AGE
Deployment/web  ◀   -       Current   Error on web-0 and 3 more     1     60m
├─Pod/web-0         0/1     Failed    Error                         1     60m
├─Pod/web-1         0/1     Failed    Error                         1     60m
├─Pod/web-2         0/1     Failed    Error                         1     60m
└─Pod/web-3         0/1     Failed    Error                         1     60m
`, "one is not many"},
		{"asked for", foldOptions{}, func(g *grove) []*ownertree.Branch {
			all := pods(g, 3)
			all[1].Asked = true
			return []*ownertree.Branch{g.object("Deployment/web", owning(all...))}
		}, `
NAME             READY   STATUS    REASON          GEN   AGE
Deployment/web   -       Current                   1     60m
├─Pod/web-1  ◀   1/1     Current                   1     60m
└─Pod (2)        2/2     Current   web-0, -2       1     60m
`, "what was asked for is never folded"},
		{"with dependents", foldOptions{}, func(g *grove) []*ownertree.Branch {
			job := func(name string) *ownertree.Branch {
				return g.object("Job/"+name, owning(g.object("Pod/"+name+"-1"), g.object("Pod/"+name+"-2")))
			}
			bad := g.object("Job/c", owning(g.object("Pod/c-1", is(inspect.Failed, "0/1", "Error"))))
			return []*ownertree.Branch{g.object("CronJob/nightly", wanted(), owning(job("a"), job("b"), bad))}
		}, `
NAME                          READY   STATUS    REASON         GEN   AGE
CronJob/nightly  ◀            -       Current   Error on c-1   1     60m
├─Job/c                       -       Current   Error on c-1   1     60m
│ └─Pod/c-1                   0/1     Failed    Error          1     60m
└─Job (2)  with Pod (4)       -       Current   a, b           1     60m
`, "what lies below folded ones is counted; nothing bad is hidden"},
		{"not alike", foldOptions{}, func(g *grove) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", wanted(), owning(
				g.object("ReplicaSet/a", is(inspect.Current, "0/0", "scaled to 0")), g.object("ReplicaSet/b", is(inspect.Current, "0/0", "scaled to 0")),
				g.object("ReplicaSet/c", is(inspect.Current, "1/1", "")), g.object("ReplicaSet/d", behind(2, 1)), g.object("ReplicaSet/e", behind(2, 1)),
			))}
		}, `
NAME                 READY   STATUS    REASON           GEN   AGE
Deployment/web  ◀    -       Current                    1     60m
├─ReplicaSet/d       -       Current                    1/2   60m
├─ReplicaSet/e       -       Current                    1/2   60m
├─ReplicaSet/c       1/1     Current                    1     60m
└─ReplicaSet (2)     0/0     Current   scaled to 0      1     60m
`, "another reason is another state; what is behind is never folded"},
		{"forest", foldOptions{}, func(g *grove) []*ownertree.Branch {
			return []*ownertree.Branch{
				g.object("ConfigMap/a"), g.object("ConfigMap/b"), g.object("Deployment/x", owning(g.object("Pod/1"))), g.object("Deployment/y", owning(g.object("Pod/2"))),
				g.object("ConfigMap/c", orphan(ownertree.OwnerMissing, doomedFate)),
			}
		}, `
NAME             READY   STATUS     REASON                                   GEN   AGE
ConfigMap/c      -       Dangling   its owner Deployment old does not exist   1     60m
Deployment/x     -       Current                                             1     60m
└─Pod/1          -       Current                                             1     60m
Deployment/y     -       Current                                             1     60m
└─Pod/2          -       Current                                             1     60m
ConfigMap (2)    -       Current    a, b                                     1     60m
`, "at the top only objects that own nothing are folded"},
		{"relations", foldOptions{}, func(g *grove) []*ownertree.Branch {
			pod := func(name string) *ownertree.Branch {
				return g.object("Pod/"+name, owning(g.object("ConfigMap/settings", relatedBy("mounts"))))
			}
			elsewhere := g.object("Pod/c", owning(g.object("ConfigMap/settings", relatedBy("mounts")), g.object("Node/c", relatedBy("runs on"))))
			return []*ownertree.Branch{g.object("Deployment/web", wanted(), owning(g.object("Service/web", relatedBy("selected by")), pod("a"), pod("b"), elsewhere))}
		}, `
NAME                             READY   STATUS    REASON   GEN   AGE
Deployment/web  ◀                -       Current            1     60m
├─Pod/c                          -       Current            1     60m
│ ├┄ConfigMap/settings  mounts   -       Current            1     60m
│ └┄Node/c  runs on              -       Current            1     60m
├─Pod (2)                        -       Current   a, b     1     60m
│ └┄ConfigMap/settings  mounts   -       Current            1     60m
└┄Service/web  selected by       -       Current            1     60m
`, "relations come after what is owned, dotted; only what holds for each object of a line is below it"},
		{"owners that differ", foldOptions{}, func(g *grove) []*ownertree.Branch {
			unknown := orphan(ownertree.Unknown, ownertree.GCOutcome{Action: ownertree.GCUnknown})
			above := func(name string, with ...grown) *ownertree.Branch {
				return g.object("ConfigMap/"+name, owning(g.object("ConfigMap/below-"+name, with...)))
			}
			return []*ownertree.Branch{g.object("Deployment/web", wanted(), owning(
				g.object("Pod/a"), g.object("Pod/b"), g.object("Pod/c", unknown), g.object("Pod/d", unknown), above("e"), above("f"), above("g", unknown),
			))}
		}, `
NAME                             READY   STATUS    REASON                            GEN   AGE
Deployment/web  ◀                -       Current                                     1     60m
├─ConfigMap/g                    -       Current                                     1     60m
│ └─ConfigMap/below-g            -       Current   owner Deployment/old: not known   1     60m
├─Pod (2)                        -       Current   a, b                              1     60m
├─Pod (2)                        -       Current   owner Deployment/old: not known   1     60m
└─ConfigMap (2)  with ConfigMap (2)   -       Current   e, f                         1     60m
`, "what is known of owners is a part of the state, below as well"},
		{"notes", foldOptions{}, func(g *grove) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", wanted(), owning(
				g.object("ReplicaSet/a", branch(func(b *ownertree.Branch) { b.Truncated = 3 })),
				g.object("ReplicaSet/c", branch(func(b *ownertree.Branch) { b.Cycle = true })),
			))}
		}, `
NAME                                READY   STATUS    REASON   GEN   AGE
Deployment/web  ◀                   -       Current            1     60m
├─ReplicaSet/a  3 more below        -       Current            1     60m
└─ReplicaSet/c  owned in a circle   -       Current            1     60m
`, "what is not drawn below is said"},
		{"shown above", foldOptions{}, func(g *grove) []*ownertree.Branch {
			set, again := shared(g)
			return []*ownertree.Branch{g.object("Deployment/a", wanted(), owning(set)), g.object("Deployment/b", wanted(), owning(again))}
		}, `
NAME                           READY   STATUS    REASON   GEN   AGE
Deployment/a  ◀                -       Current            1     60m
└─ReplicaSet/s                 -       Current            1     60m
  └─Pod/p                      -       Current            1     60m
Deployment/b  ◀                -       Current            1     60m
└─ReplicaSet/s  shown above    -       Current            1     60m
`, "of two owners the first shows what is below"},
		{"shown below", foldOptions{}, func(g *grove) []*ownertree.Branch {
			set, again := shared(g)
			bad := g.object("Pod/z", is(inspect.Failed, "0/1", "Error"))
			return []*ownertree.Branch{g.object("Deployment/a", wanted(), owning(set)), g.object("Deployment/b", wanted(), owning(again, bad))}
		}, `
NAME                           READY   STATUS    REASON       GEN   AGE
Deployment/b  ◀                -       Current   Error on z   1     60m
├─Pod/z                        0/1     Failed    Error        1     60m
└─ReplicaSet/s  shown below    -       Current                1     60m
Deployment/a  ◀                -       Current                1     60m
└─ReplicaSet/s                 -       Current                1     60m
  └─Pod/p                      -       Current                1     60m
`, "what is wrong comes first, and may move it below"},
		{"events of what is shown above", foldOptions{events: true}, func(g *grove) []*ownertree.Branch {
			set, again := shared(g)
			reported("Normal", "Made", "pod p", 1)(g, set, nil)
			return []*ownertree.Branch{g.object("Deployment/a", wanted(), owning(set)), g.object("Deployment/b", wanted(), owning(again))}
		}, `
NAME                           READY   STATUS    REASON   GEN   AGE
Deployment/a  ◀                -       Current            1     60m
└─ReplicaSet/s                 -       Current            1     60m
  ├┄event/Made                 -       Normal    pod p    -     5m
  └─Pod/p                      -       Current            1     60m
Deployment/b  ◀                -       Current            1     60m
└─ReplicaSet/s  shown above    -       Current            1     60m
`, "they are shown there, and not again"},
		{"shown within a fold", foldOptions{}, func(g *grove) []*ownertree.Branch {
			set, again := shared(g)
			like := g.object("ReplicaSet/t", owning(g.object("Pod/q")))
			return []*ownertree.Branch{g.object("Deployment/a", wanted(), owning(set, like)), g.object("Deployment/b", wanted(), owning(again))}
		}, `
NAME                            READY   STATUS    REASON   GEN   AGE
Deployment/a  ◀                 -       Current            1     60m
├─ReplicaSet/s                  -       Current            1     60m
│ └─Pod/p                       -       Current            1     60m
└─ReplicaSet/t                  -       Current            1     60m
  └─Pod/q                       -       Current            1     60m
Deployment/b  ◀                 -       Current            1     60m
└─ReplicaSet/s  shown above     -       Current            1     60m
`, "what another place refers to keeps a line of its own"},
		{"trouble below what is shown elsewhere", foldOptions{}, func(g *grove) []*ownertree.Branch {
			set, again := shared(g, is(inspect.Failed, "0/1", "Error"))
			return []*ownertree.Branch{g.object("Deployment/a", wanted(), owning(set)), g.object("Deployment/b", wanted(), owning(again))}
		}, `
NAME                           READY   STATUS    REASON       GEN   AGE
Deployment/a  ◀                -       Current   Error on p   1     60m
└─ReplicaSet/s                 -       Current   Error on p   1     60m
  └─Pod/p                      0/1     Failed    Error        1     60m
Deployment/b  ◀                -       Current   Error on p   1     60m
└─ReplicaSet/s  shown above    -       Current   Error on p   1     60m
`, "the second owner has the trouble as much as the first"},
		{"groups", foldOptions{}, func(g *grove) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Service.serving.knative.dev/hello", wanted(), owning(
				g.object("Service/hello"), g.object("Route.serving.knative.dev/hello"),
				g.object("Service.serving.knative.dev/x"), g.object("Service.serving.knative.dev/y"),
			))}
		}, `
NAME                                     READY   STATUS    REASON   GEN   AGE
Service.serving.knative.dev/hello  ◀     -       Current            1     60m
├─Service/hello                          -       Current            1     60m
├─Route/hello                            -       Current            1     60m
└─Service.serving.knative.dev (2)        -       Current   x, y     1     60m
`, "where two kinds have one name, the group tells them apart, and only there"},
		{"owner of no kind", foldOptions{}, func(g *grove) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("ConfigMap/a", orphan(ownertree.UnmappableKind, ownertree.GCOutcome{Action: ownertree.NeverCollected, Why: "…"}))}
		}, `
NAME          READY   STATUS    REASON                                   GEN   AGE
ConfigMap/a   -       Current   owner Deployment/old: kind not served    1     60m
`, "the object is as it was; the owner is told of"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGrove()
			if diff := cmp.Diff(squeeze(tt.want), squeeze(g.drawn(tt.f, tt.grow(g)...))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

// shared is a ReplicaSet with a Pod as a tree has it in full, and as it has it again.
func shared(g *grove, pod ...grown) (full, again *ownertree.Branch) {
	full = g.object("ReplicaSet/s", owning(g.object("Pod/p", pod...)))
	return full, &ownertree.Branch{Node: full.Node, Repeated: true}
}

// squeeze makes the gaps between columns three blanks wide: how columns are laid out is render's.
func squeeze(table string) string {
	var out strings.Builder
	for line := range strings.Lines(table) {
		cells := strings.FieldsFunc(strings.ReplaceAll(strings.TrimRight(line, "\n"), "   ", "\x00"), func(r rune) bool { return r == 0 })
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		out.WriteString(strings.Join(cells, "   ") + "\n")
	}
	return out.String()
}

// BenchmarkDeepTree adds up, folds and draws a tree of objects that each own the next.
func BenchmarkDeepTree(b *testing.B) {
	for _, depth := range []int{15, 150, 1500} {
		b.Run(fmt.Sprint(depth), func(b *testing.B) {
			g := newGrove()
			top := g.object("ConfigMap/0")
			for i, at := 1, top; i < depth; i++ {
				at.Children = []*ownertree.Branch{g.object(fmt.Sprintf("ConfigMap/%d", i))}
				at = at.Children[0]
			}
			for b.Loop() {
				items := itemMaker{now: treeTime}.items(fold(g.limbs(top), foldOptions{}))
				if err := render.Tree(io.Discard, items, render.TreeOptions{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*depth), "ns/object")
		})
	}
}
