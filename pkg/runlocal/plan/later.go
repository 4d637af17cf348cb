package plan

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// delay is a key that is put off.
type delay struct {
	due  time.Time
	in   time.Duration // from when it was first seen
	soon bool          // it is waited for
}

// failure is how a key failed last.
type failure struct {
	text     string
	tries    int // in a row with the same error, since a write was accepted
	accepted int // Planner.accepted at that time
}

// maxTries is how often a key is retried that fails in the same way while nothing is written. What the API server knows
// from its own caches may be a moment late; what is refused then stays refused.
const maxTries = 4

// isDue reports whether a delayed key is to be waited for. What it reported of one delay it reports again.
func (p *Planner) isDue(k queueKey, d tap.DelayedKey) bool {
	known, ok := p.delays[k]
	if !ok || !known.due.Equal(d.Due) {
		in := time.Until(d.Due)
		known = delay{due: d.Due, in: in, soon: in <= horizon || d.Due.Before(p.until)}
		p.delays[k] = known
	}
	return known.soon
}

// noteFailure counts the failures of the key that was reconciled. Steps of others, such as those of timer loops that
// ran meanwhile, do not count.
func (p *Planner) noteFailure(k queueKey, step *Step) {
	if step.Controller != k.controller || step.Key != p.names.key(k.key) {
		return
	}
	if step.Error == "" {
		delete(p.failures, k)
		return
	}
	f := p.failures[k]
	if f.text != step.Error || f.accepted != p.accepted {
		f = failure{text: step.Error, accepted: p.accepted}
	}
	f.tries++
	p.failures[k] = f
}

// isStuck reports whether a key has failed so often in the same way that only a write could help.
func (p *Planner) isStuck(k queueKey) bool {
	f := p.failures[k]
	return f.tries >= maxTries && f.accepted == p.accepted
}

// withoutStuck leaves out retries that cannot succeed.
func (p *Planner) withoutStuck(of []candidate) []candidate {
	return slices.DeleteFunc(of, func(c candidate) bool { return c.delayed && p.isStuck(c.queueKey) })
}

// withoutAbsent leaves out the garbage collector's keys of owners that count as there: their kind in lower case, or
// their resource, and their name.
func withoutAbsent(of []candidate, owners []ObjectID) []candidate {
	return slices.DeleteFunc(of, func(c candidate) bool {
		kind, name, _ := strings.Cut(c.key, " ")
		return c.controller == collectorName && slices.ContainsFunc(owners, func(o ObjectID) bool {
			group := o.Resource.Group
			return name == strings.TrimPrefix(o.Namespace+"/"+o.Name, "/") &&
				(kind == o.Resource.GroupResource().String() ||
					kind == schema.GroupResource{Group: group, Resource: strings.ToLower(o.Kind)}.String())
		})
	})
}

// collectorName is the short name of the garbage collector.
const collectorName = "garbagecollector"

// later returns what is left at the end.
func (p *Planner) later(state tap.State) []Later {
	var out []Later
	for _, c := range state.Controllers {
		if isSimulated(c.Name) {
			continue
		}
		for _, q := range c.Queues {
			for _, d := range q.Delayed {
				k := queueKey{c.Name, q.Queue, d.Key}
				p.isDue(k, d)
				retries := p.isStuck(k)
				if p.delays[k].soon && !retries {
					continue // the plan ended before
				}
				one := Later{
					Controller: c.Name, Key: p.names.key(d.Key),
					In: rounded(p.delays[k].in), What: whatIsLater(d.Handler),
				}
				if one.What == progressDeadline && p.complete[one.Key] {
					continue
				}
				if retries {
					one.In, one.Retry = 0, p.failures[k].tries
				}
				out = append(out, one)
			}
			for _, h := range q.Held {
				if k := (queueKey{c.Name, q.Queue, h.Key}); h.Delayed && p.isStuck(k) {
					out = append(out, Later{Controller: c.Name, Key: p.names.key(h.Key), Retry: p.failures[k].tries})
				}
			}
		}
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		return cmp.Or(cmp.Compare(a.In, b.In), cmp.Compare(a.Controller, b.Controller), cmp.Compare(a.Key, b.Key)) < 0
	})
	return out
}

// rounded rounds a duration so that it does not depend on how fast a plan was made.
func rounded(d time.Duration) time.Duration {
	switch {
	case d < 10*time.Second:
		return max(d.Round(time.Second), time.Second)
	case d < time.Minute:
		return d.Round(10 * time.Second)
	}
	return d.Round(time.Minute)
}

// progressDeadline is what happens to a Deployment that makes no progress: the reason of its condition.
const progressDeadline = "ProgressDeadlineExceeded"

// whatIsLater names what a delay is for, by the functions of the controller that requested it.
func whatIsLater(handler string) string {
	if strings.Contains(handler, "requeueStuckDeployment") {
		return progressDeadline
	}
	return ""
}

// noteProgress takes note of whether a Deployment has made all progress there is to make.
func (p *Planner) noteProgress(obj *unstructured.Unstructured) {
	if obj == nil || obj.GetKind() != "Deployment" {
		return
	}
	conditions, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	p.complete[obj.GetNamespace()+"/"+obj.GetName()] = err == nil && slices.ContainsFunc(conditions, func(c any) bool {
		m, ok := c.(map[string]any)
		return ok && m["type"] == "Progressing" && m["reason"] == "NewReplicaSetAvailable"
	})
}
