package scenarios

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Key says what is counted together: controller, verb, resource with its group and subresource, and the reason if it
// was refused.
func (w Write) Key() string {
	target := w.Resource.String()
	if w.Subresource != "" {
		target += "/" + w.Subresource
	}
	key := fmt.Sprintf("%s %s %s", w.Controller, w.Verb, target)
	if w.Code >= 400 {
		key += " " + w.Reason
	}
	return key
}

// logFile is a file of JSON lines that grows, and the writes that were read from it.
type logFile struct {
	path  string
	parse func(line []byte) (Write, bool, error)

	mu     sync.Mutex
	offset int64
	writes map[string][]Write // by namespace
}

// Names tells how controllers are called: those of a control plane by their users, those of a sandbox by their names in
// the trace. Those that it does not have are called by their users' names, or as in the trace.
type Names map[string]string

// AuditLog reads the audit log of a kube-apiserver, whose users are called by names. Only users that it has, and the
// service accounts of namespace kube-system, count as controllers.
func AuditLog(path string, names Names) Writes {
	parse := func(line []byte) (Write, bool, error) { return auditLine(line, names) }
	return (&logFile{path: path, writes: map[string][]Write{}, parse: parse}).of
}

// Trace reads the trace of a sandbox, whose controllers are called by names.
func Trace(path string, names Names) Writes {
	parse := func(line []byte) (Write, bool, error) { return traceLine(line, names) }
	return (&logFile{path: path, writes: map[string][]Write{}, parse: parse}).of
}

// Both are the writes of two logs, oldest first.
func Both(a, b Writes) Writes {
	return func(namespace string) ([]Write, error) {
		first, err := a(namespace)
		if err != nil {
			return nil, err
		}
		second, err := b(namespace)
		if err != nil {
			return nil, err
		}
		all := slices.Concat(first, second)
		slices.SortStableFunc(all, func(a, b Write) int { return a.At.Compare(b.At) })
		return all, nil
	}
}

func (f *logFile) of(namespace string) ([]Write, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.read(); err != nil {
		return nil, fmt.Errorf("reading %q: %w", f.path, err)
	}
	writes := slices.Clone(f.writes[namespace])
	slices.SortStableFunc(writes, func(a, b Write) int { return a.At.Compare(b.At) })
	return writes, nil
}

// read takes in the lines that have come since it was last called.
func (f *logFile) read() error {
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it is only read
	if _, err := file.Seek(f.offset, io.SeekStart); err != nil {
		return err
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	for {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		if !whole {
			return nil
		}
		w, counts, err := f.parse(line)
		if err != nil {
			return fmt.Errorf("at byte %d: %w", f.offset, err)
		}
		if counts {
			f.writes[w.Namespace] = append(f.writes[w.Namespace], w)
		}
		f.offset += int64(len(line)) + 1
		data = rest
	}
}

func changes(verb string) bool {
	switch verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return true
	}
	return false
}

func auditLine(line []byte, names Names) (Write, bool, error) {
	var e struct {
		Verb           string
		User           struct{ Username string }
		ObjectRef      struct{ Resource, APIGroup, Subresource, Namespace, Name string }
		ResponseStatus struct {
			Code   int
			Reason string
		}
		RequestReceivedTimestamp time.Time
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return Write{}, false, err
	}
	controller, known := names[e.User.Username]
	if account, ok := strings.CutPrefix(e.User.Username, "system:serviceaccount:kube-system:"); ok && !known {
		controller, known = strings.TrimSuffix(account, "-controller"), true
	}
	r := e.ObjectRef
	if r.Resource == namespaces.Resource {
		r.Namespace = "" // which is the name
	}
	return Write{
		At: e.RequestReceivedTimestamp, Controller: controller, Verb: e.Verb,
		Resource: schema.GroupResource{Group: r.APIGroup, Resource: r.Resource}, Subresource: r.Subresource,
		Namespace: r.Namespace, Name: r.Name, Code: e.ResponseStatus.Code, Reason: e.ResponseStatus.Reason,
	}, known && changes(e.Verb), nil
}

func traceLine(line []byte, names Names) (Write, bool, error) {
	if !bytes.Contains(line, []byte(`"type":"request"`)) {
		return Write{}, false, nil
	}
	var e struct {
		Time                                                                          time.Time
		Type, Controller, Verb, Group, Resource, Subresource, Namespace, Name, Reason string
		Code                                                                          int
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return Write{}, false, err
	}
	controller, namespace := e.Controller, e.Namespace
	if name, known := names[controller]; known {
		controller = name
	}
	if e.Resource == namespaces.Resource {
		namespace = ""
	}
	return Write{
		At: e.Time, Controller: controller, Verb: e.Verb,
		Resource: schema.GroupResource{Group: e.Group, Resource: e.Resource}, Subresource: e.Subresource,
		Namespace: namespace, Name: e.Name, Code: e.Code, Reason: e.Reason,
	}, e.Type == "request" && changes(e.Verb), nil
}
