package diagnosis

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/treestatus"
)

// Situation is what was read around an object. Once it has been read, only its caller changes it: by setting Trials,
// by ReadRefusers and by ReadRewrites. None of these may be done while another method is called; the others may be
// called concurrently.
type Situation struct {
	// Asked is the object whose state is to be explained.
	Asked *ownertree.Node
	// Incomplete is what could not be read, sorted. ReadRefusers adds to it.
	Incomplete []cluster.Incomplete
	// Trials are what became of the writes of controllers, by the uid of the object that they reconciled, when they
	// were run on a copy or in dry run. The caller may set it before Diagnose; nil is nothing.
	Trials map[types.UID]inspect.Trial

	graph *ownertree.Graph
	kinds *cluster.Kinds
	// branches are the tree of the object, then those of what is related.
	branches  []*ownertree.Branch
	facts     treestatus.FactsByUID
	relations map[*ownertree.Node][]ownertree.Relation // by what uses
	objects   map[types.UID]*unstructured.Unstructured // in full, of those explained
	events    map[*ownertree.Node][]inspect.Event
	leases    map[string]*inspect.Lease
	writes    map[*cluster.Kind]*inspect.Writes // of kinds whose controllers may not run; nil if they could not be read
	// explained are the objects whose causes are looked for.
	explained []*ownertree.Node
	// elsewhere are the volumes of pods that are attached to other nodes than theirs.
	elsewhere map[*ownertree.Node][]attachedElsewhere
	// volumes are those that claims could be bound to, of claims for which none are made.
	volumes map[*ownertree.Node][]*corev1.PersistentVolume
	// scaled is the object with its autoscalers; webhooks, by name, are those that causes name, as of ReadRefusers, and
	// refusals are what is known of them at present.
	scaled   []scaled
	webhooks map[string]*webhook
	refusals map[refusalOf]refusalNow
	// misscaled keeps a Deployment from its rollout; nil if none was found.
	misscaled *misscaled
	// podless are the workloads whose pods Services select, of which there are none.
	podless map[*ownertree.Node]podless
	// drained are the pods on a node that is being emptied, which budgets protect from eviction.
	drained []protectedPod
	// rollouts are the revisions of the workloads of pods that are explained; taints are those of all nodes, if one
	// keeps pods away.
	rollouts map[*ownertree.Node]*rollout
	taints   []taint
	// places are, of pods that no node fits because of their volumes, where these can be used.
	places map[*ownertree.Node][]inspect.Evidence
	// versions are three of the object asked for, read one after another, if each differs from the one before.
	versions []*unstructured.Unstructured
}

const (
	// mostExplained is of how many objects of a tree the causes are looked for, the worst of them.
	mostExplained = 24
	// mostRelated is how many objects that are used are looked at.
	mostRelated = 200
)

// Scope is what must be listed to explain an object: its namespace, or of a namespace what is in it. Other objects
// without a namespace may own anything, except those of Kubernetes itself.
func Scope(kind cluster.Kind, namespace, name string) ownertree.Scope {
	switch {
	case kind.GroupKind() == schema.GroupKind{Kind: "Namespace"}:
		return ownertree.Scope{Namespaces: []string{name}}
	case kind.Namespaced:
		return ownertree.Scope{Namespaces: []string{namespace}}
	case kind.GroupKind() == schema.GroupKind{Kind: "Node"},
		kind.GroupKind() == schema.GroupKind{Kind: "PersistentVolume"}:
		return ownertree.Scope{Nothing: true}
	}
	return ownertree.Scope{}
}

// Read reads what is of interest around an object of a graph that was collected with its Scope. The error is not nil
// only if ctx has ended.
func Read(
	ctx context.Context, reader *cluster.Reader, kinds *cluster.Kinds, g *ownertree.Graph, asked *ownertree.Node,
	now time.Time,
) (*Situation, error) {
	r := &situationReader{reader: reader, now: now, Situation: &Situation{
		Asked: asked, graph: g, kinds: kinds, facts: treestatus.FactsByUID{},
		relations: map[*ownertree.Node][]ownertree.Relation{},
		objects:   map[types.UID]*unstructured.Unstructured{},
		events:    map[*ownertree.Node][]inspect.Event{}, leases: map[string]*inspect.Lease{},
		writes:    map[*cluster.Kind]*inspect.Writes{},
		elsewhere: map[*ownertree.Node][]attachedElsewhere{},
		volumes:   map[*ownertree.Node][]*corev1.PersistentVolume{},
		rollouts:  map[*ownertree.Node]*rollout{},
		podless:   map[*ownertree.Node]podless{},
		places:    map[*ownertree.Node][]inspect.Evidence{},
	}}
	for _, step := range []func(context.Context) error{
		r.tree, r.podsBySelector, r.consumers, r.queuesOf, r.evictions, r.related, r.inFull, r.operatorsOf,
		r.slicesByHand, r.podlessOf, r.attachments, r.volumesOf, r.autoscalers, r.eventsOf, r.reportedMissing,
		r.leasesOf, r.writesOf, r.rolloutsOf, r.taintsOf, r.placesOf,
	} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("reading about %s: %w", asked, err)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	r.Incomplete = cluster.SortIncomplete(r.unread)
	return r.Situation, nil
}

type situationReader struct {
	*Situation
	reader *cluster.Reader
	now    time.Time
	unread []cluster.Incomplete
}

// object reads one object in full; nil if it does not exist, or could not be read, which is noted.
func (r *situationReader) object(
	ctx context.Context, kind cluster.Kind, namespace, name string,
) *unstructured.Unstructured {
	obj, err := r.reader.Object(ctx, kind, namespace, name)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		r.unread = append(r.unread, cluster.Target{Kind: kind, Namespace: namespace}.Incomplete(err))
		return nil
	}
	return obj
}

// leaveOut notes that not all objects of a target were looked at, and which.
func (r *situationReader) leaveOut(t cluster.Target, message string) {
	r.unread = append(r.unread, cluster.Incomplete{
		Group: t.Kind.Group, Version: t.Kind.Version, Resource: t.Kind.Resource, Namespace: t.Namespace,
		Reason: cluster.ReasonTooMany, Message: message,
	})
}

// tree lays out what the object owns, and reads its facts.
func (r *situationReader) tree(ctx context.Context) error {
	layout, err := r.graph.LayOut(ctx, r.reader, []*ownertree.Node{r.Asked}, ownertree.LayoutOptions{
		TreeOptions: ownertree.TreeOptions{Down: true}, Owners: true,
	})
	if err != nil {
		return err
	}
	r.branches, r.unread = layout.Branches, layout.Incomplete
	r.readFacts(ctx, layout.Nodes)
	r.explained = r.worst()
	return nil
}

// podsBySelector finds the pods of a Deployment by its selector, if its ReplicaSets may not be read.
func (r *situationReader) podsBySelector(ctx context.Context) error {
	unread := slices.ContainsFunc(r.graph.Incomplete(), func(i cluster.Incomplete) bool {
		return i.Group == appsv1.GroupName && i.Resource == "replicasets"
	})
	if r.Asked.Kind.GroupKind().String() != "Deployment.apps" || !unread {
		return nil
	}
	var deployment appsv1.Deployment
	r.read(ctx, []*ownertree.Node{r.Asked})
	if !r.typed(r.Asked, &deployment) {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector)
	if err != nil {
		return nil //nolint:nilerr // then its controller finds no pods, either
	}
	var pods []*ownertree.Node
	for _, n := range r.graph.Nodes() {
		owned := slices.ContainsFunc(n.Owners, func(o ownertree.Owner) bool { return o.Kind == "ReplicaSet" })
		if isPod(n) && n.Namespace == r.Asked.Namespace && owned && selector.Matches(labels.Set(n.Labels)) {
			pods = append(pods, n)
			selects := ownertree.Relation{From: r.Asked, To: n, Type: "selects"}
			r.relations[r.Asked] = append(r.relations[r.Asked], selects)
		}
	}
	r.branches = append(r.branches, r.graph.Tree(pods, ownertree.TreeOptions{Down: true})...)
	r.readFacts(ctx, pods)
	r.explained = r.worst()
	return nil
}

// readFacts reads the facts of nodes that are not known yet.
func (r *situationReader) readFacts(ctx context.Context, nodes []*ownertree.Node) {
	fresh := slices.DeleteFunc(slices.Clone(nodes), func(n *ownertree.Node) bool { return r.facts[n.UID] != nil })
	facts, unread := treestatus.ReadFacts(ctx, r.reader, r.graph, fresh, treestatus.ReadOptions{})
	maps.Copy(r.facts, facts)
	r.unread = append(r.unread, unread...)
}

// worst returns the object asked for and what is wrong below it, the worst first.
func (r *situationReader) worst() []*ownertree.Node {
	facts, _ := r.facts.At(r.now)
	all := treestatus.Each(treestatus.RollUp(r.branches, r.graph, facts, nil))
	all = slices.DeleteFunc(all, func(n *treestatus.StatusNode) bool {
		return n.Branch.Node.UID == "" || n.Branch.Node == r.Asked || n.Replaced || !isUnwell(n)
	})
	slices.SortStableFunc(all, func(a, b *treestatus.StatusNode) int {
		return cmp.Or(cmp.Compare(b.OwnSeverity, a.OwnSeverity), cmp.Compare(a.Causes, b.Causes))
	})
	out := []*ownertree.Node{r.Asked}
	alike := map[likeness]int{}
	for _, n := range all {
		key := likenessOf(n)
		if len(out) < mostExplained && alike[key] < mostAlike {
			alike[key]++
			out = append(out, n.Branch.Node)
		}
	}
	return out
}

// mostAlike is of how many objects of an owner that say the same the causes are looked for.
const mostAlike = 4

// likeness is what objects have in common that are not well for the same reason, as far as they say.
type likeness struct {
	kind           *cluster.Kind
	owner          types.UID
	status, reason string
}

func likenessOf(n *treestatus.StatusNode) likeness {
	node := n.Branch.Node
	out := likeness{kind: node.Kind, status: n.Status, reason: withoutDigits(n.Facts.Reason)}
	if len(node.Owners) > 0 {
		out.owner = node.Owners[0].UID
	}
	return out
}

// isUnwell reports whether the object's own state needs an explanation.
func isUnwell(n *treestatus.StatusNode) bool {
	return n.Severity > treestatus.SeverityNormal || n.Dangles()
}

// related finds what the objects use, and how that is.
func (r *situationReader) related(ctx context.Context) error {
	if isNamespace(r.Asked) {
		r.left(ctx)
	}
	users := slices.DeleteFunc(slices.Clone(r.explained), func(n *ownertree.Node) bool {
		return n.Deleting != nil && !isPod(n)
	})
	users = append(users, r.failingAPIs(ctx)...)
	needs := ownertree.RelateOptions{NeedsOnly: true, Selected: true, Guessed: true, Makers: true}
	relations, unread, err := r.graph.Relate(ctx, r.reader, users, needs)
	if err != nil {
		return err
	}
	r.unread = append(r.unread, unread...)
	var used []*ownertree.Node
	for _, relation := range relations {
		r.relations[relation.From] = append(r.relations[relation.From], relation)
		to := relation.To
		if !relation.Missing && to.UID != "" && len(used) < mostRelated && !slices.Contains(used, to) {
			used = append(used, to)
		}
	}
	branches := r.graph.Tree(used, ownertree.TreeOptions{Down: true})
	r.readFacts(ctx, ownertree.NodesOf(branches))
	r.branches = append(r.branches, branches...)
	before := len(r.explained)
	for _, n := range r.worst() {
		if !slices.Contains(r.explained, n) {
			r.explained = append(r.explained, n)
		}
	}
	for _, n := range used {
		if hasBackends(n) && !slices.Contains(r.explained, n) && len(r.explained) < mostExplained+before {
			r.explained = append(r.explained, n) // their own status does not tell whether these can answer
		}
	}
	return nil
}

// left reads the objects of a namespace that are being deleted.
func (r *situationReader) left(ctx context.Context) {
	var left []*ownertree.Node
	for _, n := range r.graph.Nodes() {
		if n.Namespace == r.Asked.Name && n.Deleting != nil && len(left) < mostContents {
			left = append(left, n)
		}
	}
	r.readFacts(ctx, left)
	r.explained = append(r.explained, left...)
}

// failingAPI matches a version of a group that a namespace controller could not discover.
var failingAPI = regexp.MustCompile(`([a-z0-9.-]+\.[a-z]+)/(v[a-z0-9]+): `)

// failingAPIs adds the APIServices for which a namespace cannot be emptied to what it uses.
func (r *situationReader) failingAPIs(ctx context.Context) []*ownertree.Node {
	kind := r.kind("apiregistration.k8s.io", "APIService")
	if !isNamespace(r.Asked) || kind == nil {
		return nil
	}
	var out []*ownertree.Node
	for _, c := range r.facts.Of(r.Asked).Conditions {
		m := failingAPI.FindStringSubmatch(c.Message)
		if c.Type != "NamespaceDeletionDiscoveryFailure" || c.Status != "True" || m == nil {
			continue
		}
		n, err := r.graph.Get(ctx, r.reader, ownertree.Ref{Kind: *kind, Name: m[2] + "." + m[1]})
		if err != nil {
			continue // the condition has the cause
		}
		r.follow(ctx, r.Asked, n, "waits for")
		out = append(out, n)
	}
	return out
}

// hasBackends reports whether the object routes requests to others, whose state its own status does not tell.
func hasBackends(n *ownertree.Node) bool {
	switch n.Kind.GroupKind().String() {
	case "Service", "Ingress.networking.k8s.io":
		return true
	}
	return false
}

func isNamespace(n *ownertree.Node) bool {
	return n.Kind.GroupKind() == schema.GroupKind{Kind: "Namespace"}
}

// inFull reads the objects to be explained in full, and ready pods of the Services among them, whose ports they show:
// one of each revision.
func (r *situationReader) inFull(ctx context.Context) error {
	facts, _ := r.facts.At(r.now)
	wanted := slices.Clone(r.explained)
	for _, n := range r.explained {
		if !hasBackends(n) {
			continue
		}
		known := map[revision]bool{}
		for _, pod := range readyPods(facts, r.selected(n)) {
			if of := revisionOf(pod); !known[of] && len(known) < mostRevisions {
				known[of] = true
				wanted = append(wanted, pod)
			}
		}
	}
	slices.SortFunc(wanted, (*ownertree.Node).Compare)
	r.read(ctx, slices.Compact(wanted))
	return nil
}

// read reads objects in full.
func (r *situationReader) read(ctx context.Context, nodes []*ownertree.Node) {
	objects, unread := treestatus.ReadEach(ctx, r.reader, nodes)
	for n, obj := range objects {
		r.objects[n.UID] = obj
	}
	r.unread = append(r.unread, unread...)
}

// fewEvents is for up to how many objects the Events of each are read by themselves.
const fewEvents = 12

// eventsOf reads the Events of the objects to be explained.
func (r *situationReader) eventsOf(ctx context.Context) error {
	options := ownertree.EventOptions{Each: len(r.explained) <= fewEvents}
	events, unread, err := r.graph.Events(ctx, r.reader, r.explained, options)
	if err != nil {
		return err
	}
	r.events = events
	for n, all := range events {
		all = inspect.RecentEvents(all, r.now)
		if facts := r.facts[n.UID]; facts != nil {
			r.facts[n.UID] = facts.WithEvents(all)
		}
	}
	r.unread = append(r.unread, unread...)
	return nil
}
