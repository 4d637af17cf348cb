package runlocal

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/access"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// permissionBatch is for how long changes of permissions are collected, to be reported together.
const permissionBatch = 500 * time.Millisecond

// PermissionMonitor is a trace.Sink that reports permissions which are revoked while controllers run, and granted
// again, by how the server answers their requests. Each change is reported once. Permissions to record Events are
// ignored. Its methods may be called concurrently.
type PermissionMonitor struct {
	report func(lost, regained []access.Need)
	// namespaced is true if permissions are those of single namespaces.
	namespaced bool

	reporting sync.Mutex // held while report is called; taken before mu
	mu        sync.Mutex // guards all below
	missing   []access.Need
	// denied are the namespaces in which a permission was denied, of those that were reported, or are to be.
	denied map[access.Permission]map[string]bool
	batch  map[access.Permission]bool // changes to report: true is lost, false regained
	timer  *time.Timer                // of the next report; nil before the first
	closed bool
}

// NewPermissionMonitor returns a PermissionMonitor that calls report, one call at a time, with what was lost and what
// was regained, each sorted. namespaced is for sessions on some namespaces only, which have permissions in each: then
// they are reported with their namespaces.
func NewPermissionMonitor(namespaced bool, report func(lost, regained []access.Need)) *PermissionMonitor {
	return &PermissionMonitor{
		report: report, namespaced: namespaced, denied: map[access.Permission]map[string]bool{},
		batch: map[access.Permission]bool{},
	}
}

// SetMissing sets what is missing from the start, and so is not reported as lost.
func (m *PermissionMonitor) SetMissing(missing []access.Need) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.missing = missing
}

// Record implements trace.Sink.
func (m *PermissionMonitor) Record(e *trace.Event) {
	request, ok := e.Detail.(*trace.Request)
	if !ok || request.Recorded != nil || request.Resource == "events" {
		return
	}
	denied := request.IsDenied()
	if !denied && request.Failed() {
		return // it shows neither that it was permitted nor that it was not
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	right := m.rightFor(request)
	if m.closed || !m.changes(right, request, denied) {
		return
	}
	if _, unreported := m.batch[right]; unreported {
		delete(m.batch, right) // lost and regained, or the reverse, since the last report
		return
	}
	if len(m.batch) == 0 {
		m.timer = time.AfterFunc(permissionBatch, m.flush)
	}
	m.batch[right] = denied
}

// changes updates denied by the answer to a request, and reports whether the permission was lost or regained by that. A
// request that is permitted in one namespace does not regain what was denied in another. m.mu is held.
func (m *PermissionMonitor) changes(right access.Permission, request *trace.Request, denied bool) bool {
	in := m.denied[right]
	switch {
	case in[request.Namespace] == denied || denied && m.isMissing(right, request.Namespace):
		return false
	case !denied:
		delete(m.denied, right)
		return true
	case in == nil:
		in = map[string]bool{}
		m.denied[right] = in
	}
	in[request.Namespace] = true
	return len(in) == 1
}

// rightFor returns the permission that a request needs, for all objects.
func (m *PermissionMonitor) rightFor(request *trace.Request) access.Permission {
	right := access.Permission{Group: request.Group, Resource: request.Resource, Verb: request.Verb}
	if request.Subresource != "" {
		right.Resource += "/" + request.Subresource
	}
	if m.namespaced {
		right.Namespace = request.Namespace
	}
	return right
}

// isMissing reports whether a permission was missing from the start. m.mu is held.
func (m *PermissionMonitor) isMissing(right access.Permission, namespace string) bool {
	return slices.ContainsFunc(m.missing, func(n access.Need) bool {
		return n.Verb == right.Verb && (n.Group == "*" || n.Group == right.Group) &&
			(n.Resource == right.Resource || strings.HasPrefix(n.Resource, "*")) &&
			(n.Namespace == "" || n.Namespace == namespace)
	})
}

// Close reports what is not reported yet. When it has returned nothing is reported any more. It does nothing on nil.
func (m *PermissionMonitor) Close() {
	if m == nil {
		return
	}
	m.mu.Lock()
	m.closed = true
	if m.timer != nil {
		m.timer.Stop()
	}
	m.mu.Unlock()
	m.flush() // waits for one that the timer has started
}

// flush reports the changes since the last report.
func (m *PermissionMonitor) flush() {
	m.reporting.Lock()
	defer m.reporting.Unlock()
	m.mu.Lock()
	batch := m.batch
	m.batch = map[access.Permission]bool{}
	m.mu.Unlock()
	var lost, regained []access.Need
	for _, right := range access.SortedPermissions(batch) {
		if batch[right] {
			lost = append(lost, access.Need{Permission: right})
		} else {
			regained = append(regained, access.Need{Permission: right})
		}
	}
	if len(batch) > 0 {
		m.report(lost, regained)
	}
}
