package tree

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

func TestTreeOfFolds(t *testing.T) {
	pods := func(g *testTree, n int, with ...objectOption) []*ownertree.Branch {
		var out []*ownertree.Branch
		for i := range n {
			out = append(out, g.object(fmt.Sprintf("Pod/web-%d", i), append([]objectOption{status(inspect.Current, "1/1", "")}, with...)...))
		}
		return out
	}
	for _, tt := range []struct {
		name   string
		f      foldOptions
		build  func(g *testTree) []*ownertree.Branch
		want   string
		reason string
	}{
		{"alike", foldOptions{}, func(g *testTree) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", asked(), owning(pods(g, 40)...))}
		}, `
NAME                READY   STATUS    REASON   GEN   AGE
Deployment/web  ◀   -       Current            1     60m
└─Pod (40)          40/40   Current            1     60m
`, "siblings in the same state share a line"},
		{"few", foldOptions{}, func(g *testTree) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", asked(), owning(g.object("Pod/web-7d4b-a"), g.object("Pod/web-7d4b-b", aged(time.Minute))))}
		}, `
NAME                READY   STATUS    REASON               GEN   AGE
Deployment/web  ◀   -       Current                        1     60m
└─Pod (2)           -       Current   web-7d4b-a, -b       1     60s-60m
`, "a few are named; ages are a range"},
		{"expand", foldOptions{expand: true}, func(g *testTree) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", asked(), owning(pods(g, 2)...))}
		}, `
NAME                READY   STATUS    REASON   GEN   AGE
Deployment/web  ◀   -       Current            1     60m
├─Pod/web-0         1/1     Current            1     60m
└─Pod/web-1         1/1     Current            1     60m
`, "each by itself"},
		{"bad first", foldOptions{}, func(g *testTree) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", asked(), owning(append(pods(g, 3), g.object("Pod/z", status(inspect.Failed, "0/1", "Error: exit 1")))...))}
		}, `
NAME                READY   STATUS    REASON                 GEN   AGE
Deployment/web  ◀   -       Current   Error on z             1     60m
├─Pod/z             0/1     Failed    Error: exit 1          1     60m
└─Pod (3)           3/3     Current   web-0, -1, -2          1     60m
`, "what is wrong comes first, by itself"},
		{"many bad", foldOptions{}, func(g *testTree) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", asked(), owning(pods(g, 9, status(inspect.Failed, "0/1", "Error"))...))}
		}, `
NAME                READY   STATUS    REASON                        GEN   AGE
Deployment/web  ◀   -       Current   Error on web-0 and 8 more     1     60m
├─Pod/web-0         0/1     Failed    Error                         1     60m
├─Pod/web-1         0/1     Failed    Error                         1     60m
├─Pod/web-2         0/1     Failed    Error                         1     60m
└─Pod (6)           0/6     Failed    Error                         1     60m
`, "some in the same trouble are named, for those who look at one of them"},
		{"one more than some bad", foldOptions{}, func(g *testTree) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", asked(), owning(pods(g, 4, status(inspect.Failed, "0/1", "Error"))...))}
		}, `
NAME                READY   STATUS    REASON                        GEN   AGE
Deployment/web  ◀   -       Current   Error on web-0 and 3 more     1     60m
├─Pod/web-0         0/1     Failed    Error                         1     60m
├─Pod/web-1         0/1     Failed    Error                         1     60m
├─Pod/web-2         0/1     Failed    Error                         1     60m
└─Pod/web-3         0/1     Failed    Error                         1     60m
`, "one is not many"},
		{"asked for", foldOptions{}, func(g *testTree) []*ownertree.Branch {
			all := pods(g, 3)
			all[1].Asked = true
			return []*ownertree.Branch{g.object("Deployment/web", owning(all...))}
		}, `
NAME             READY   STATUS    REASON          GEN   AGE
Deployment/web   -       Current                   1     60m
├─Pod/web-1  ◀   1/1     Current                   1     60m
└─Pod (2)        2/2     Current   web-0, -2       1     60m
`, "what was asked for is never folded"},
		{"with dependents", foldOptions{}, func(g *testTree) []*ownertree.Branch {
			job := func(name string) *ownertree.Branch {
				return g.object("Job/"+name, owning(g.object("Pod/"+name+"-1"), g.object("Pod/"+name+"-2")))
			}
			bad := g.object("Job/c", owning(g.object("Pod/c-1", status(inspect.Failed, "0/1", "Error"))))
			return []*ownertree.Branch{g.object("CronJob/nightly", asked(), owning(job("a"), job("b"), bad))}
		}, `
NAME                          READY   STATUS    REASON         GEN   AGE
CronJob/nightly  ◀            -       Current   Error on c-1   1     60m
├─Job/c                       -       Current   Error on c-1   1     60m
│ └─Pod/c-1                   0/1     Failed    Error          1     60m
└─Job (2)  with Pod (4)       -       Current   a, b           1     60m
`, "what lies below folded ones is counted; nothing bad is hidden"},
		{"not alike", foldOptions{}, func(g *testTree) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", asked(), owning(
				g.object("ReplicaSet/a", status(inspect.Current, "0/0", "scaled to 0")), g.object("ReplicaSet/b", status(inspect.Current, "0/0", "scaled to 0")),
				g.object("ReplicaSet/c", status(inspect.Current, "1/1", "")), g.object("ReplicaSet/d", behind(2, 1)), g.object("ReplicaSet/e", behind(2, 1)),
			))}
		}, `
NAME                 READY   STATUS    REASON           GEN   AGE
Deployment/web  ◀    -       Current                    1     60m
├─ReplicaSet/d       -       Current                    1/2   60m
├─ReplicaSet/e       -       Current                    1/2   60m
├─ReplicaSet/c       1/1     Current                    1     60m
└─ReplicaSet (2)     0/0     Current   scaled to 0      1     60m
`, "another reason is another state; what is behind is never folded"},
		{"forest", foldOptions{}, func(g *testTree) []*ownertree.Branch {
			return []*ownertree.Branch{
				g.object("ConfigMap/a"), g.object("ConfigMap/b"), g.object("Deployment/x", owning(g.object("Pod/1"))), g.object("Deployment/y", owning(g.object("Pod/2"))),
				g.object("ConfigMap/c", withOwner(ownertree.OwnerMissing, deletedOutcome)),
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
		{"relations", foldOptions{}, func(g *testTree) []*ownertree.Branch {
			pod := func(name string) *ownertree.Branch {
				return g.object("Pod/"+name, owning(g.object("ConfigMap/settings", relatedBy("mounts"))))
			}
			elsewhere := g.object("Pod/c", owning(g.object("ConfigMap/settings", relatedBy("mounts")), g.object("Node/c", relatedBy("runs on"))))
			return []*ownertree.Branch{g.object("Deployment/web", asked(), owning(g.object("Service/web", relatedBy("selected by")), pod("a"), pod("b"), elsewhere))}
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
		{"owners that differ", foldOptions{}, func(g *testTree) []*ownertree.Branch {
			unknown := withOwner(ownertree.Unknown, ownertree.GCOutcome{Action: ownertree.GCUnknown})
			above := func(name string, with ...objectOption) *ownertree.Branch {
				return g.object("ConfigMap/"+name, owning(g.object("ConfigMap/below-"+name, with...)))
			}
			return []*ownertree.Branch{g.object("Deployment/web", asked(), owning(
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
		{"notes", foldOptions{}, func(g *testTree) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Deployment/web", asked(), owning(
				g.object("ReplicaSet/a", branch(func(b *ownertree.Branch) { b.Truncated = 3 })),
				g.object("ReplicaSet/c", branch(func(b *ownertree.Branch) { b.Cycle = true })),
			))}
		}, `
NAME                                READY   STATUS    REASON   GEN   AGE
Deployment/web  ◀                   -       Current            1     60m
├─ReplicaSet/a  3 more below        -       Current            1     60m
└─ReplicaSet/c  owned in a circle   -       Current            1     60m
`, "what is not drawn below is said"},
		{"shown above", foldOptions{}, func(g *testTree) []*ownertree.Branch {
			set, again := shared(g)
			return []*ownertree.Branch{g.object("Deployment/a", asked(), owning(set)), g.object("Deployment/b", asked(), owning(again))}
		}, `
NAME                           READY   STATUS    REASON   GEN   AGE
Deployment/a  ◀                -       Current            1     60m
└─ReplicaSet/s                 -       Current            1     60m
  └─Pod/p                      -       Current            1     60m
Deployment/b  ◀                -       Current            1     60m
└─ReplicaSet/s  shown above    -       Current            1     60m
`, "of two owners the first shows what is below"},
		{"shown below", foldOptions{}, func(g *testTree) []*ownertree.Branch {
			set, again := shared(g)
			bad := g.object("Pod/z", status(inspect.Failed, "0/1", "Error"))
			return []*ownertree.Branch{g.object("Deployment/a", asked(), owning(set)), g.object("Deployment/b", asked(), owning(again, bad))}
		}, `
NAME                           READY   STATUS    REASON       GEN   AGE
Deployment/b  ◀                -       Current   Error on z   1     60m
├─Pod/z                        0/1     Failed    Error        1     60m
└─ReplicaSet/s  shown below    -       Current                1     60m
Deployment/a  ◀                -       Current                1     60m
└─ReplicaSet/s                 -       Current                1     60m
  └─Pod/p                      -       Current                1     60m
`, "what is wrong comes first, and may move it below"},
		{"events of what is shown above", foldOptions{events: true}, func(g *testTree) []*ownertree.Branch {
			set, again := shared(g)
			reported("Normal", "Made", "pod p", 1)(g, set, nil)
			return []*ownertree.Branch{g.object("Deployment/a", asked(), owning(set)), g.object("Deployment/b", asked(), owning(again))}
		}, `
NAME                           READY   STATUS    REASON   GEN   AGE
Deployment/a  ◀                -       Current            1     60m
└─ReplicaSet/s                 -       Current            1     60m
  ├┄event/Made                 -       Normal    pod p    -     5m
  └─Pod/p                      -       Current            1     60m
Deployment/b  ◀                -       Current            1     60m
└─ReplicaSet/s  shown above    -       Current            1     60m
`, "they are shown there, and not again"},
		{"shown within a fold", foldOptions{}, func(g *testTree) []*ownertree.Branch {
			set, again := shared(g)
			like := g.object("ReplicaSet/t", owning(g.object("Pod/q")))
			return []*ownertree.Branch{g.object("Deployment/a", asked(), owning(set, like)), g.object("Deployment/b", asked(), owning(again))}
		}, `
NAME                            READY   STATUS    REASON   GEN   AGE
Deployment/a  ◀                 -       Current            1     60m
├─ReplicaSet/s                  -       Current            1     60m
│ └─Pod/p                       -       Current            1     60m
└─ReplicaSet/t                  -       Current            1     60m
  └─Pod/q                       -       Current            1     60m
Deployment/b  ◀                 -       Current            1     60m
└─ReplicaSet/s  shown above     -       Current            1     60m
`, "what another place refers to keeps a separate line"},
		{"trouble below what is shown elsewhere", foldOptions{}, func(g *testTree) []*ownertree.Branch {
			set, again := shared(g, status(inspect.Failed, "0/1", "Error"))
			return []*ownertree.Branch{g.object("Deployment/a", asked(), owning(set)), g.object("Deployment/b", asked(), owning(again))}
		}, `
NAME                           READY   STATUS    REASON       GEN   AGE
Deployment/a  ◀                -       Current   Error on p   1     60m
└─ReplicaSet/s                 -       Current   Error on p   1     60m
  └─Pod/p                      0/1     Failed    Error        1     60m
Deployment/b  ◀                -       Current   Error on p   1     60m
└─ReplicaSet/s  shown above    -       Current   Error on p   1     60m
`, "the second owner has the trouble as much as the first"},
		{"groups", foldOptions{}, func(g *testTree) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("Service.serving.knative.dev/hello", asked(), owning(
				g.object("Service/hello"), g.object("Route.serving.knative.dev/hello"),
				g.object("Service.serving.knative.dev/x"), g.object("Service.serving.knative.dev/y"),
			))}
		}, `
NAME                                     READY   STATUS    REASON   GEN   AGE
Service.serving.knative.dev/hello  ◀     -       Current            1     60m
├─Service/hello                          -       Current            1     60m
├─Route/hello                            -       Current            1     60m
└─Service.serving.knative.dev (2)        -       Current   x, y     1     60m
`, "where two kinds have one name, the group distinguishes them, and only there"},
		{"owner of no kind", foldOptions{}, func(g *testTree) []*ownertree.Branch {
			return []*ownertree.Branch{g.object("ConfigMap/a", withOwner(ownertree.UnmappableKind, ownertree.GCOutcome{Action: ownertree.NeverCollected, Why: "…"}))}
		}, `
NAME          READY   STATUS    REASON                                   GEN   AGE
ConfigMap/a   -       Current   owner Deployment/old: kind not served    1     60m
`, "the object is as it was; the owner is named"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newTestTree()
			if diff := cmp.Diff(squeeze(tt.want), squeeze(g.render(tt.f, tt.build(g)...))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

// shared is a ReplicaSet with a Pod as a tree has it in full, and as it has it again.
func shared(g *testTree, pod ...objectOption) (full, again *ownertree.Branch) {
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
			g := newTestTree()
			top := g.object("ConfigMap/0")
			for i, at := 1, top; i < depth; i++ {
				at.Children = []*ownertree.Branch{g.object(fmt.Sprintf("ConfigMap/%d", i))}
				at = at.Children[0]
			}
			for b.Loop() {
				items := itemMaker{now: treeTime}.items(fold(g.nodes(top), foldOptions{}))
				if err := render.Tree(io.Discard, items, render.TreeOptions{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*depth), "ns/object")
		})
	}
}
