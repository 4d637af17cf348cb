package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/access"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// rightsGather is how long rights are gathered that are lost, or come back, at one time: they are told together.
const rightsGather = 500 * time.Millisecond

// rights is a trace.Sink that tells of the rights that are taken away while controllers run, and of their return, by how the
// server answers requests. It is told once of each. Those to record Events are nobody's concern.
type rights struct {
	tell func(lost, back []access.Need)
	// places says that rights are of one namespace each.
	places bool

	telling sync.Mutex // held by report, before mu
	mu      sync.Mutex
	missing []access.Need // from the start, and told then
	// lost are the namespaces in which a right was refused, of rights that were told, and of news.
	lost  map[access.Right]map[string]bool
	news  map[access.Right]bool // true for what is lost, false for what is back
	timer *time.Timer           // of the next report; nil before the first
	ended bool
}

func newRights(places bool, tell func(lost, back []access.Need)) *rights {
	return &rights{tell: tell, places: places, lost: map[access.Right]map[string]bool{}, news: map[access.Right]bool{}}
}

// without says what is missing from the start.
func (r *rights) without(missing []access.Need) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.missing = missing
}

// Record implements trace.Sink.
func (r *rights) Record(e *trace.Event) {
	request, ok := e.Detail.(*trace.Request)
	if !ok || request.Recorded != nil || request.Resource == "events" {
		return
	}
	denied := request.IsDenied()
	if !denied && request.Failed() {
		return // it tells nothing
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	right := r.rightOf(request)
	if r.ended || !r.changes(right, request, denied) {
		return
	}
	if _, untold := r.news[right]; untold {
		delete(r.news, right) // it was gone for no longer than nobody would have noticed
		return
	}
	if len(r.news) == 0 {
		r.timer = time.AfterFunc(rightsGather, r.report)
	}
	r.news[right] = denied
}

// changes notes the answer to a request, and reports whether it is news about the right that it needs. Who may do in one namespace
// what is refused in another has not got it back by that. r.mu is held.
func (r *rights) changes(right access.Right, request *trace.Request, denied bool) bool {
	in := r.lost[right]
	switch {
	case in[request.Namespace] == denied || denied && r.isMissing(request):
		return false
	case !denied:
		delete(r.lost, right)
		return true
	case in == nil:
		in = map[string]bool{}
		r.lost[right] = in
	}
	in[request.Namespace] = true
	return len(in) == 1
}

// rightOf is the right that a request needs, of all objects.
func (r *rights) rightOf(request *trace.Request) access.Right {
	right := access.Right{Group: request.Group, Resource: request.Resource, Verb: request.Verb}
	if request.Subresource != "" {
		right.Resource += "/" + request.Subresource
	}
	if r.places {
		right.Namespace = request.Namespace
	}
	return right
}

// isMissing reports whether it is known from the start that a request will be refused.
func (r *rights) isMissing(request *trace.Request) bool {
	right := r.rightOf(request)
	return slices.ContainsFunc(r.missing, func(n access.Need) bool {
		return n.Verb == right.Verb && (n.Group == "*" || n.Group == right.Group) && (n.Resource == right.Resource || strings.HasPrefix(n.Resource, "*")) &&
			(n.Namespace == "" || n.Namespace == request.Namespace)
	})
}

// end tells what is left to tell, and nothing from then on: the summary comes last. It does nothing on nil.
func (r *rights) end() {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.ended = true
	if r.timer != nil {
		r.timer.Stop()
	}
	r.mu.Unlock()
	r.report() // waits for one that the timer has begun
}

// report tells the news.
func (r *rights) report() {
	r.telling.Lock()
	defer r.telling.Unlock()
	r.mu.Lock()
	news := r.news
	r.news = map[access.Right]bool{}
	r.mu.Unlock()
	var lost, back []access.Need
	for _, right := range slices.SortedFunc(maps.Keys(news), access.Right.Compare) {
		if news[right] {
			lost = append(lost, access.Need{Right: right})
		} else {
			back = append(back, access.Need{Right: right})
		}
	}
	if len(news) > 0 {
		r.tell(lost, back)
	}
}

// watchRights makes the sink that lets a run tell of rights that it loses.
func (r *clusterRun) watchRights(out *outputs) {
	r.rights = newRights(len(r.part.namespaces) > 0, func(lost, back []access.Need) {
		if lost != nil {
			out.warn(fmt.Sprintf("no permission any more to %s: the server refuses it; retrying", rightsText(lost)))
		}
		if back != nil {
			out.tell("there is permission again to " + rightsText(back))
		}
	})
	out.sinks = append(out.sinks, r.rights)
}
