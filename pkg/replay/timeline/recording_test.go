package timeline

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// start is when the recordings of the tests begin.
var start = time.Date(2026, 1, 31, 14, 20, 0, 0, time.UTC)

// recording makes a recording for a test.
type recording struct {
	t *testing.T
	replay.Memory
	now     time.Time
	streams map[string]int
}

func newRecording(t *testing.T) *recording {
	t.Helper()
	r := &recording{t: t, now: start, streams: map[string]int{}}
	r.Head.Start = start
	return r
}

// wait lets time go by.
func (r *recording) wait(d time.Duration) { r.now = r.now.Add(d) }

// stream defines a stream of a kind.
func (r *recording) stream(group, version, kind, resource string) int {
	if n := r.streams[kind]; n != 0 {
		return n
	}
	n := len(r.streams) + 1
	r.streams[kind] = n
	r.Append(&replay.Record{Time: r.now, Type: replay.TypeStream, Stream: n, NewStream: &replay.Stream{
		Number: n, Group: group, Version: version, Kind: kind, Resource: resource, Namespaced: kind != "Node" && kind != "Namespace", HasStatus: true,
	}})
	return n
}

// kinds are those of which object knows the group.
var kinds = map[string]replay.Stream{
	"Deployment": {Group: "apps", Version: "v1", Resource: "deployments"},
	"ReplicaSet": {Group: "apps", Version: "v1", Resource: "replicasets"},
	"Pod":        {Version: "v1", Resource: "pods"},
	"Secret":     {Version: "v1", Resource: "secrets"},
	"ConfigMap":  {Version: "v1", Resource: "configmaps"},
	"Node":       {Version: "v1", Resource: "nodes"},
	"Namespace":  {Version: "v1", Resource: "namespaces"},
	"Event":      {Version: "v1", Resource: "events"},
	"Lease":      {Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
}

// object appends a record of an object, which is JSON.
func (r *recording) object(typ replay.Type, kind, text string) *replay.Record {
	r.t.Helper()
	k := kinds[kind]
	var o struct {
		Metadata struct{ Namespace, Name, UID, ResourceVersion string }
	}
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		r.t.Fatalf("%s: %v", text, err)
	}
	record := &replay.Record{
		Time: r.now, Type: typ, Stream: r.stream(k.Group, k.Version, kind, k.Resource), Namespace: o.Metadata.Namespace,
		Name: o.Metadata.Name, UID: o.Metadata.UID, ResourceVersion: o.Metadata.ResourceVersion, Object: []byte(text),
	}
	r.Append(record)
	return record
}

// entries returns all entries, but for that of the beginning.
func (r *recording) entries(o Options) []*Entry {
	r.t.Helper()
	if err := r.Rewind(); err != nil {
		r.t.Fatal(err)
	}
	out, err := readAll(New(&r.Memory, o))
	if err != nil {
		r.t.Fatal(err)
	}
	if len(out) > 0 && out[0].Type == Begin {
		out = out[1:]
	}
	return out
}

func readAll(t *Timeline) ([]*Entry, error) {
	var out []*Entry
	for e, err := range t.All() {
		if err != nil {
			return out, err
		}
		out = append(out, e)
	}
	return out, nil
}
