package status

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sort"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree"
)

// statusReader reads what `status` shows.
type statusReader struct {
	options *Options
	cluster *connect.Cluster
}

// find resolves what the command line names.
func (r *statusReader) find() ([]connect.Target, error) {
	namespace := r.options.connection.Namespace
	if r.options.targets.AllNamespaces {
		namespace = ""
	}
	var targets []connect.Target
	var err error
	switch {
	case r.options.targets.Manifests.Given():
		targets, err = r.options.targets.FromFiles(r.options.streams.In, r.cluster.Kinds, r.options.connection)
	case r.options.named.Empty():
		targets = r.everything(namespace)
	default:
		targets, err = r.options.named.Resolve(r.cluster.Kinds, namespace)
	}
	return targets, r.options.connection.ExplainEach(err)
}

// everything is all kinds that have a status: those of the namespace, and for the whole cluster also those without one.
func (r *statusReader) everything(namespace string) []connect.Target {
	var out []connect.Target
	for _, kind := range r.cluster.Kinds.All() {
		if kind.HasStatus && kind.Can("list") && (kind.Namespaced || namespace == "") {
			out = append(out, connect.NewTarget(kind, namespace, ""))
		}
	}
	return out
}

// guessed reports whether the user named no kinds, so that one that cannot be read is no error.
func (o *Options) guessed() bool { return o.named.Empty() && !o.targets.Manifests.Given() }

// whole reports whether managedFields are wanted.
func (r *statusReader) whole() bool { return r.options.output != "" && r.options.output != "name" }

// statusReading gathers what comes in from many goroutines.
type statusReading struct {
	mu       sync.Mutex
	items    []statusItem
	failures []failure
}

// failure is a target that could not be read.
type failure struct {
	target  connect.Target
	err     error
	partial bool // only some of its objects
}

func (s *statusReading) add(item statusItem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items = append(s.items, item)
}

func (s *statusReading) fail(t connect.Target, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, failure{target: t, err: err})
}

// read reads all targets at once; the reader bounds the requests. The list holds what came. The error is for what was
// asked for by name, or if nothing at all could be read.
func (r *statusReader) read(ctx context.Context, targets []connect.Target) (*statusList, error) {
	reading := &statusReading{}
	var running sync.WaitGroup
	for _, t := range targets {
		running.Go(func() {
			if err := r.readOne(ctx, t, reading.add); err != nil {
				reading.fail(t, err)
			}
		})
	}
	running.Wait()
	if ctx.Err() != nil {
		return newStatusList(nil, nil), r.options.connection.Explain(context.Cause(ctx))
	}
	r.dateDrift(ctx, reading.items)
	r.readEvents(ctx, reading.items)
	incomplete := append(r.incomplete(reading.failures), r.judgeBackends(ctx, reading.items)...)
	if r.options.guessed() && len(reading.failures) < len(targets) {
		return newStatusList(reading.items, incomplete), nil
	}
	return newStatusList(reading.items, incomplete), r.explainFailures(ctx, reading.failures)
}

func (r *statusReader) readOne(ctx context.Context, t connect.Target, add func(statusItem)) error {
	if t.Name != "" {
		obj, err := r.cluster.Reader.Object(ctx, t.Kind, t.Namespace, t.Name)
		if err == nil {
			add(r.item(t.Kind, obj))
		}
		return err
	}
	options := cluster.ListOptions{Labels: r.options.targets.Labels, Fields: r.options.targets.Fields, Whole: r.whole()}
	return r.cluster.Reader.ListObjects(ctx, t.Target, options, func(obj *unstructured.Unstructured) error {
		add(r.item(t.Kind, obj))
		return nil
	})
}

// item judges an object as of now.
func (r *statusReader) item(kind cluster.Kind, obj *unstructured.Unstructured) statusItem {
	return newStatusItem(kind, obj, r.options.polarities, r.options.clock.Now())
}

// maxDated bounds the drifted objects that are read again.
const maxDated = 100

// dateDrift reads drifted objects again if managedFields, which say since when they are, have been left out.
func (r *statusReader) dateDrift(ctx context.Context, items []statusItem) {
	if r.whole() {
		return
	}
	var behind []int
	var ids []cluster.ObjectID
	for i := range items {
		if item := &items[i]; item.Drift.Behind() > 0 && item.Drift.Since == nil && len(behind) < maxDated {
			behind = append(behind, i)
			ids = append(ids, item.id())
		}
	}
	cluster.ReadEach(ctx, r.cluster.Reader, ids, func(i int, obj *unstructured.Unstructured) {
		if item := &items[behind[i]]; obj != nil {
			source := item.source
			*item = r.item(item.kind, obj)
			item.source = source
		}
	}) // what cannot be read stays undated
}

// readEvents reads the Events of objects that their controllers have written no status of, which may have reported why.
func (r *statusReader) readEvents(ctx context.Context, items []statusItem) {
	unseen := map[*ownertree.Node]*statusItem{}
	for i := range items {
		if item := &items[i]; item.Drift.State == inspect.NeverSeen && len(unseen) < maxDated {
			unseen[&ownertree.Node{
				Kind: &item.kind, Namespace: item.Object.Namespace, Name: item.Object.Name, UID: item.Object.UID,
			}] = item
		}
	}
	graph, err := ownertree.Collect(ctx, r.cluster.Reader, r.cluster.Kinds, ownertree.Scope{Nothing: true})
	if err != nil {
		return // ctx has ended
	}
	nodes := slices.Collect(maps.Keys(unseen))
	// What is not known says nothing.
	events, _, _ := graph.Events(ctx, r.cluster.Reader, nodes, ownertree.EventOptions{})
	for n, all := range events {
		unseen[n].setReport(unseen[n].WithEvents(all))
	}
}

// incomplete is what could not be read, for programs. That a named object is not there does not make a list incomplete.
func (r *statusReader) incomplete(failures []failure) []cluster.Incomplete {
	var out []cluster.Incomplete
	if r.options.guessed() {
		out = r.cluster.Kinds.Incomplete()
	}
	for _, f := range failures {
		if f.target.Name != "" && apierrors.IsNotFound(f.err) {
			continue
		}
		out = append(out, f.target.Incomplete(f.err))
	}
	return out
}

// explainFailures returns an error for people about what could not be read: what is forbidden in one sentence, the rest
// one by one.
func (r *statusReader) explainFailures(ctx context.Context, failures []failure) error {
	sort.Slice(failures, func(i, j int) bool { return failures[i].target.Compare(failures[j].target) < 0 })
	all := r.options.targets.AllNamespaces
	var forbidden []connect.Target
	var errs []error
	for _, f := range failures {
		if apierrors.IsForbidden(f.err) {
			forbidden = append(forbidden, f.target)
			continue
		}
		errs = append(errs, r.options.connection.ReadError(ctx, r.cluster, f.target, all, f.err))
	}
	if len(forbidden) > 0 {
		errs = append(errs, r.options.connection.ForbiddenError(forbidden, all))
	}
	return errors.Join(errs...)
}
