package run

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// troubles is a trace.Sink that remembers the keys that have not come through: those whose latest reconcile failed, and in
// a dry run those of whose writes nothing is known. Its memory grows with their number.
type troubles struct {
	mu      sync.Mutex
	of      map[queueKey]*troubledKey
	untried map[trace.ReconcileID]*trace.Request // of reconciles that have not ended
}

// queueKey is a key of a controller's queue. What a controller does outside of any reconcile has neither queue nor key.
type queueKey struct{ controller, queue, key string }

// troubledKey is a key and what is the matter with it, in a summary as JSON.
type troubledKey struct {
	Controller string `json:"controller"`
	Key        string `json:"key"`
	// Failures counts the reconciles that failed since one did not.
	Failures int `json:"failures"`
	// Error is why the latest of them did, as far as the controller said.
	Error string `json:"error,omitempty"`

	// untried is the first write of the latest reconcile of which nobody said what would become of it; nil if there is none.
	untried *trace.Request
}

func newTroubles() *troubles {
	return &troubles{of: map[queueKey]*troubledKey{}, untried: map[trace.ReconcileID]*trace.Request{}}
}

// Record implements trace.Sink.
func (t *troubles) Record(e *trace.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch d := e.Detail.(type) {
	case *trace.Request:
		t.request(e, d)
	case *trace.End:
		t.end(e, d)
	}
}

func (t *troubles) request(e *trace.Event, r *trace.Request) {
	lone := queueKey{controller: e.Controller}
	switch {
	case !r.DryRun || !countsAsWrite(r):
	case isUntried(r) && e.Reconcile != 0:
		if t.untried[e.Reconcile] == nil { // what came after it may be no more than its consequence
			t.untried[e.Reconcile] = r
		}
	case isUntried(r):
		t.of[lone] = &troubledKey{Controller: e.Controller, untried: r}
	case e.Reconcile == 0:
		delete(t.of, lone)
	}
}

func (t *troubles) end(e *trace.Event, end *trace.End) {
	at, untried := queueKey{e.Controller, end.Queue, e.Key}, t.untried[e.Reconcile]
	delete(t.untried, e.Reconcile)
	k := t.of[at]
	switch {
	case end.PutOff != "":
		return // nothing has gone wrong, nor is anything known to be right again
	case end.Outcome == trace.Done && untried == nil:
		delete(t.of, at)
		return
	case k == nil:
		k = &troubledKey{Controller: e.Controller, Key: e.Key}
		t.of[at] = k
	}
	k.untried = untried
	if end.Outcome == trace.Done {
		k.Failures, k.Error = 0, ""
		return
	}
	k.Failures, k.Error = k.Failures+1, end.Error
}

// failing are the keys that fail, by controller and key.
func (t *troubles) failing() []troubledKey {
	return t.sorted(func(k *troubledKey) bool { return k.Failures > 0 })
}

// unknown are those of whose writes nothing is known.
func (t *troubles) unknown() []troubledKey {
	return t.sorted(func(k *troubledKey) bool { return k.untried != nil })
}

func (t *troubles) sorted(which func(*troubledKey) bool) []troubledKey {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []troubledKey
	for k := range maps.Values(t.of) {
		if which(k) {
			out = append(out, *k)
		}
	}
	slices.SortFunc(out, func(a, b troubledKey) int {
		return cmp.Or(cmp.Compare(a.Controller, b.Controller), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Failures, b.Failures))
	})
	return out
}

// isUntried says that the answer to a write of a dry run tells nothing of what would become of it in earnest: whoever could
// say was not asked. That is so without an answer, without the right to try, and while a server has troubles of its own. A
// quota or a webhook that refuses would do so in earnest, too.
func isUntried(r *trace.Request) bool {
	switch {
	case !r.DryRun || !r.Failed() || r.Code == http.StatusConflict || r.Code == http.StatusNotFound:
		return false
	case r.NotSent || r.Code == 0 || r.Code >= http.StatusInternalServerError:
		return true
	case r.Code == http.StatusForbidden:
		return isDenied(r) || strings.Contains(r.Message, grantsTooMuch)
	}
	return r.Code == http.StatusUnauthorized || r.Code == http.StatusTooManyRequests
}

// grantsTooMuch is in the refusal of a server's guard against giving rights that one has not (kubernetes' pkg/registry/rbac), a 403
// as those of its authorizer and of admission are.
const grantsTooMuch = "is attempting to grant RBAC permissions not currently held"

// unknownWrites is the error of a dry run that cannot tell what would be written; nil if it can, and if it is none.
func (o *Options) unknownWrites(unknown []troubledKey) error {
	if len(unknown) == 0 || !o.dry() {
		return nil
	}
	r := unknown[0].untried
	sort := writeCount{Verb: r.Verb, Group: r.Group, Resource: r.Resource, Subresource: r.Subresource}
	err := fmt.Errorf("what would be written is not known: the writes of %s could not be tried: %s %s: %s",
		cli.Plural(len(unknown), "key"), sort.Verb, sort.name(), render.Reason(r.Message))
	if o.cluster.options.DryRun == guardClient || !slices.ContainsFunc(unknown, troubledKey.lacksRight) {
		return err
	}
	return cli.WithHint(err, "--dry-run=client sends no write, and needs no right to")
}

func (k troubledKey) lacksRight() bool { return k.untried.Code == http.StatusForbidden }
