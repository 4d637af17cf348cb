package plans

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/scenarios"
)

// actual is what a control plane did after a change.
type actual struct {
	home     string
	begin    time.Time // of the change
	versions []scenarios.Version
	audit    *Audit
	// requests are those of controllers, with the ones that were refused.
	requests []scenarios.Write
}

// apiServer is the user by whom the API server counts in a quota what it admits, which is no step of a plan.
const apiServer = "system:apiserver"

// writes are those of the objects, in their order. An error is that it is not known who made one.
func (a *actual) writes() ([]write, error) {
	if err := a.audit.read(); err != nil {
		return nil, err
	}
	var out []write
	unknown := map[types.UID]int{} // places in out of writes of which it is not known who made them
	for _, v := range a.versions {
		if v.Resource.Resource == "events" || v.Resource.Resource == "leases" {
			continue
		}
		by, known := a.audit.writer(v, a.begin)
		w, changed := describe(a.home, v.Before, v.After)
		if !changed || by == apiServer && w.onlyStatus() {
			continue
		}
		w.controller = by
		switch at, pending := unknown[uidOf(v)]; {
		case !known && (v.After == nil || pending):
			return nil, fmt.Errorf("finding who made version %d of %s (%s)", v.ResourceVersion, w.at, w)
		case !known:
			unknown[uidOf(v)] = len(out)
		case pending:
			// A deletion without a grace period is one request and two writes, and the answer has the version of the
			// second.
			out[at].controller = by
			delete(unknown, uidOf(v))
			if out[at].verb == deletes && w.verb == deletes {
				continue
			}
		}
		out = append(out, w)
	}
	for _, at := range unknown {
		return nil, fmt.Errorf("finding who wrote %s (%s)", out[at].at, out[at])
	}
	return out, nil
}

func uidOf(v scenarios.Version) types.UID {
	if v.After != nil {
		return v.After.GetUID()
	}
	return v.Before.GetUID()
}

// refusals are the requests of controllers that were refused, but those that only came too late.
func (a *actual) refusals() []write {
	verbs := map[string]string{"create": creates, "delete": deletes, "deletecollection": deletes}
	var out []write
	for _, r := range a.requests {
		late := slices.Contains([]string{"Conflict", "NotFound", "AlreadyExists"}, r.Reason)
		if r.Code < 400 || late || r.Resource.Resource == "events" {
			continue
		}
		verb := updates
		if v, ok := verbs[r.Verb]; ok {
			verb = v
		}
		out = append(out, write{controller: r.Controller, verb: verb, code: r.Code})
	}
	return out
}
