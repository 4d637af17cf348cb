package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// step is something that a recording of a script has: a change of an object, or the end of the first lists.
type step struct {
	// At is how many seconds after 2026-01-01T10:00:00Z it arrived.
	At float64 `json:"at"`
	// Type is LIST, ADDED, MODIFIED or DELETED. Objects of type LIST come first.
	Type   string                     `json:"type"`
	Object *unstructured.Unstructured `json:"object"`
	// Streams, in a step of its own, are kinds of which there are no objects, as apiVersion and kind.
	Streams []struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Namespace  string `json:"namespace"`
	} `json:"streams"`
}

// tape writes the recording of a script.
type tape struct {
	ts      *testscript.TestScript
	writer  *replay.Writer
	streams map[string]int
	listed  bool
	version int
	last    time.Time
}

// recording is `recording FILE STEPS`: it writes a recording that has the steps of a file of YAML, one a document, with
// a stream for each kind.
func recording(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: recording FILE STEPS")
	}
	file, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	begin := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	writer, err := replay.NewWriter(file, replay.Header{Tool: "test", Start: begin, Context: "prod"}, replay.WriterOptions{})
	ts.Check(err)
	t := &tape{ts: ts, writer: writer, streams: map[string]int{}, version: 1000, last: begin}
	steps := stepsOf(ts, args[1])
	for _, s := range steps {
		for _, empty := range s.Streams {
			obj := &unstructured.Unstructured{}
			obj.SetAPIVersion(empty.APIVersion)
			obj.SetKind(empty.Kind)
			obj.SetNamespace("none")
			t.stream(obj, empty.Namespace)
		}
		if s.Object != nil {
			t.stream(s.Object, "")
		}
	}
	for _, s := range steps {
		if s.Object == nil {
			continue
		}
		if s.Type != "LIST" {
			t.endLists()
		}
		t.last = begin.Add(time.Duration(s.At * float64(time.Second)))
		t.write(s)
	}
	t.endLists()
	t.add(&replay.Record{Type: replay.TypeEnd})
	ts.Check(writer.Close())
	ts.Check(file.Close())
}

func stepsOf(ts *testscript.TestScript, file string) []step {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(ts.ReadFile(file)), 4096)
	var out []step
	for {
		var s step
		err := decoder.Decode(&s)
		if errors.Is(err, io.EOF) {
			return out
		}
		ts.Check(err)
		out = append(out, s)
	}
}

// stream begins the stream of an object's kind, if there is none.
func (t *tape) stream(obj *unstructured.Unstructured, namespace string) int {
	gvk := obj.GroupVersionKind()
	if number, ok := t.streams[gvk.String()]; ok {
		return number
	}
	number := len(t.streams) + 1
	t.streams[gvk.String()] = number
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	t.add(&replay.Record{Type: replay.TypeStream, Stream: number, NewStream: &replay.Stream{
		Number: number, Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Resource: resource.Resource,
		Namespaced: obj.GetNamespace() != "", HasStatus: true, Verbs: []string{"get", "list", "watch", "delete"},
		Namespace: namespace,
	}})
	t.add(&replay.Record{Type: replay.TypeListBegin, Stream: number})
	return number
}

// endLists ends the first lists, once.
func (t *tape) endLists() {
	if t.listed {
		return
	}
	t.listed = true
	for number := 1; number <= len(t.streams); number++ {
		t.add(&replay.Record{Type: replay.TypeListEnd, Stream: number, ResourceVersion: strconv.Itoa(t.version)})
	}
}

func (t *tape) write(s step) {
	types := map[string]replay.Type{
		"LIST": replay.TypeListItem, "ADDED": replay.TypeAdded, "MODIFIED": replay.TypeModified,
		"DELETED": replay.TypeDeleted,
	}
	t.version++
	s.Object.SetResourceVersion(strconv.Itoa(t.version))
	text, err := json.Marshal(s.Object)
	t.ts.Check(err)
	t.add(&replay.Record{
		Type: types[s.Type], Stream: t.stream(s.Object, ""), Namespace: s.Object.GetNamespace(), Name: s.Object.GetName(),
		UID: string(s.Object.GetUID()), ResourceVersion: s.Object.GetResourceVersion(), Object: text,
	})
}

func (t *tape) add(r *replay.Record) {
	r.Time = t.last
	t.ts.Check(t.writer.Write(r))
}
