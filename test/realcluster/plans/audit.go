package plans

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/scenarios"
)

// Audit reads which user has made which version of an object from the audit log of a control plane that was started
// with AuditBodies. It may be used concurrently.
type Audit struct {
	path  string
	names scenarios.Names

	mu       sync.Mutex // guards what follows
	offset   int64
	versions map[uint64]request     // that answered with a version, the first of all
	others   map[target][]request   // those whose answers had no version, such as of bindings, in order
	removers map[types.UID][]string // who may have taken the last finalizer of an object, in order
}

// target is the object of a request.
type target struct{ Resource, Namespace, Name string }

// request is who made a request, and when.
type request struct {
	controller string
	at         time.Time
}

// NewAudit reads the file, in which users are called by names.
func NewAudit(path string, names scenarios.Names) *Audit {
	return &Audit{
		path: path, names: names, versions: map[uint64]request{}, others: map[target][]request{},
		removers: map[types.UID][]string{},
	}
}

// writer returns who made the version of an object, after the time; false if no request is known that did. It must be
// called once for each version, in their order.
func (a *Audit) writer(v scenarios.Version, after time.Time) (string, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r, ok := a.versions[v.ResourceVersion]; ok {
		return r.controller, true
	}
	u := v.After
	if u == nil {
		u = v.Before
	}
	if v.Before != nil && v.After != nil && v.Before.GetDeletionTimestamp() != nil {
		return "", false // see actual.writes
	}
	at := target{v.Resource.Resource, u.GetNamespace(), u.GetName()}
	others := slices.DeleteFunc(a.others[at], func(r request) bool { return r.at.Before(after) })
	if a.others[at] = others; len(others) > 0 {
		a.others[at] = others[1:]
		return others[0].controller, true
	}
	// The answer to the removal of a finalizer does not have the version of the object's end.
	if removers := a.removers[u.GetUID()]; v.After == nil && len(removers) > 0 {
		return removers[len(removers)-1], true
	}
	return "", false
}

// read takes in the lines that have come since it was last called.
func (a *Audit) read() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	file, err := os.Open(a.path)
	if err != nil {
		return fmt.Errorf("reading the audit log: %w", err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	if _, err := file.Seek(a.offset, io.SeekStart); err != nil {
		return fmt.Errorf("reading the audit log: %w", err)
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return fmt.Errorf("reading the audit log: %w", err)
	}
	for {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		if !whole {
			return nil
		}
		if err := a.take(line); err != nil {
			return fmt.Errorf("reading the audit log at byte %d: %w", a.offset, err)
		}
		a.offset += int64(len(line)) + 1
		data = rest
	}
}

// take takes in a line.
func (a *Audit) take(line []byte) error {
	var e struct {
		Verb           string
		User           struct{ Username string }
		ObjectRef      target
		ResponseStatus struct{ Code int }
		RequestURI     string
		ResponseObject struct {
			Metadata struct {
				UID             types.UID
				ResourceVersion string
				// Finalizers and DeletionTimestamp tell of objects that end with the request.
				Finalizers        []string
				DeletionTimestamp string
			}
		}
		RequestReceivedTimestamp time.Time
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	// The answer to the deletion of a collection has the version of a list.
	if e.ResponseStatus.Code >= 300 || strings.Contains(e.RequestURI, "dryRun=") || e.Verb == "deletecollection" {
		return nil
	}
	name, ok := a.names[e.User.Username]
	if !ok {
		account, _ := strings.CutPrefix(e.User.Username, "system:serviceaccount:kube-system:")
		name = strings.TrimSuffix(account, "-controller")
	}
	metadata := e.ResponseObject.Metadata
	version, err := strconv.ParseUint(metadata.ResourceVersion, 10, 64)
	if err != nil {
		version = 0
	}
	if version == 0 {
		a.others[e.ObjectRef] = append(a.others[e.ObjectRef], request{name, e.RequestReceivedTimestamp})
		return nil
	}
	if metadata.DeletionTimestamp != "" && len(metadata.Finalizers) == 0 {
		a.removers[metadata.UID] = append(a.removers[metadata.UID], name)
	}
	// A request that changed nothing is answered with the version of another one, whose line may come later.
	if r, known := a.versions[version]; !known || e.RequestReceivedTimestamp.Before(r.at) {
		a.versions[version] = request{name, e.RequestReceivedTimestamp}
	}
	return nil
}
