package trace

import (
	"cmp"
	"maps"
	"net/http"
	"sort"
	"strings"
	"sync"
)

// FailingKeys is a Sink that keeps the keys that have not succeeded: those whose latest reconcile failed, and in a dry
// run those with a write of which the dry run found out nothing. Its memory grows with the number of such keys. Its
// methods may be called concurrently.
type FailingKeys struct {
	mu         sync.Mutex
	keys       map[queueKey]*FailingKey
	unverified map[ReconcileID]*Request // of reconciles that have not ended
}

// queueKey is a key of a controller's queue. What a controller does outside of any reconcile has neither queue nor key.
type queueKey struct{ controller, queue, key string }

// FailingKey is a key that has not succeeded, and why.
type FailingKey struct {
	Controller string `json:"controller"`
	// Key is empty for what the controller did outside of any reconcile.
	Key string `json:"key"`
	// Failures counts the reconciles that failed since one succeeded; 0 if the latest did.
	Failures int `json:"failures"`
	// Error is why the latest of them failed, as far as the controller said.
	Error string `json:"error,omitempty"`
	// Unverified is the first write of the latest reconcile for which Request.IsUnverified is true; nil if there is
	// none.
	Unverified *Request `json:"-"`
}

// NewFailingKeys returns a FailingKeys without keys.
func NewFailingKeys() *FailingKeys {
	return &FailingKeys{keys: map[queueKey]*FailingKey{}, unverified: map[ReconcileID]*Request{}}
}

// Record implements Sink.
func (f *FailingKeys) Record(e *Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch d := e.Detail.(type) {
	case *Request:
		f.request(e, d)
	case *End:
		f.end(e, d)
	}
}

func (f *FailingKeys) request(e *Event, r *Request) {
	outside := queueKey{controller: e.Controller}
	switch {
	case !r.DryRun || !r.ChangesObjects():
	case r.IsUnverified() && e.Reconcile != 0:
		if f.unverified[e.Reconcile] == nil { // later failures may be mere consequences of the first
			f.unverified[e.Reconcile] = r
		}
	case r.IsUnverified():
		f.keys[outside] = &FailingKey{Controller: e.Controller, Unverified: r}
	case e.Reconcile == 0:
		delete(f.keys, outside)
	}
}

func (f *FailingKeys) end(e *Event, end *End) {
	at, unverified := queueKey{e.Controller, end.Queue, e.Key}, f.unverified[e.Reconcile]
	delete(f.unverified, e.Reconcile)
	k := f.keys[at]
	switch {
	case end.PutOff != "":
		return // neither a failure nor a success: the key is tried again when the cache is up to date
	case end.Outcome == Done && unverified == nil:
		delete(f.keys, at)
		return
	case k == nil:
		k = &FailingKey{Controller: e.Controller, Key: e.Key}
		f.keys[at] = k
	}
	k.Unverified = unverified
	if end.Outcome == Done {
		k.Failures, k.Error = 0, ""
		return
	}
	k.Failures, k.Error = k.Failures+1, end.Error
}

// Failing returns the keys whose latest reconcile failed, sorted by controller and key.
func (f *FailingKeys) Failing() []FailingKey {
	return f.sorted(func(k *FailingKey) bool { return k.Failures > 0 })
}

// Unverified returns the keys whose latest reconcile has a write that is unverified, sorted by controller and key.
// There are none outside of dry runs.
func (f *FailingKeys) Unverified() []FailingKey {
	return f.sorted(func(k *FailingKey) bool { return k.Unverified != nil })
}

func (f *FailingKeys) sorted(which func(*FailingKey) bool) []FailingKey {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []FailingKey
	for k := range maps.Values(f.keys) {
		if which(k) {
			out = append(out, *k)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := &out[i], &out[j]
		return cmp.Or(cmp.Compare(a.Controller, b.Controller), cmp.Compare(a.Key, b.Key),
			cmp.Compare(a.Failures, b.Failures)) < 0
	})
	return out
}

// IsUnverified reports whether the request is a write of a dry run whose answer does not show what a real write would
// lead to: there was no answer, the user may not even try the write, or the server had a failure unrelated to the
// write. An answer of a quota or an admission webhook does show it: a real write would be refused as well.
func (r *Request) IsUnverified() bool {
	switch {
	case !r.DryRun || !r.Failed() || r.Code == http.StatusConflict || r.Code == http.StatusNotFound:
		return false
	case r.NotSent || r.Code == 0 || r.Code >= http.StatusInternalServerError:
		return true
	case r.Code == http.StatusForbidden:
		return r.IsDenied() || strings.Contains(r.Message, escalationRefused)
	}
	return r.Code == http.StatusUnauthorized || r.Code == http.StatusTooManyRequests
}

// IsDenied reports whether the API server's authorizer refused the request. Admission refuses by the same code, 403;
// the text that is looked for is only in the authorizer's answers (responsewriters.Forbidden of k8s.io/apiserver).
func (r *Request) IsDenied() bool {
	return r.Code == http.StatusForbidden && strings.Contains(r.Message, `: User "`) &&
		strings.Contains(r.Message, `" cannot `+r.Verb+` resource "`)
}

// escalationRefused is in the 403 of a server that refuses to let a user grant permissions which they do not have
// (Kubernetes' pkg/registry/rbac).
const escalationRefused = "is attempting to grant RBAC permissions not currently held"
