package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// patience bounds what a test waits for on a busy machine; nothing is timed by it.
const patience = 4 * time.Minute

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func selected(t *testing.T, names ...string) []controllers.Controller {
	t.Helper()
	cs, err := controllers.Select(names)
	if err != nil {
		t.Fatal(err)
	}
	return cs
}

// recordedKinds are the kinds of test recordings.
var recordedKinds = []replay.Stream{
	{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespaced: true, HasStatus: true},
	{Group: "apps", Version: "v1", Kind: "ReplicaSet", Resource: "replicasets", Namespaced: true, HasStatus: true},
	{Group: "apps", Version: "v1", Kind: "StatefulSet", Resource: "statefulsets", Namespaced: true, HasStatus: true},
	{Group: "apps", Version: "v1", Kind: "DaemonSet", Resource: "daemonsets", Namespaced: true, HasStatus: true},
	{Group: "apps", Version: "v1", Kind: "ControllerRevision", Resource: "controllerrevisions", Namespaced: true},
	{Group: "batch", Version: "v1", Kind: "Job", Resource: "jobs", Namespaced: true, HasStatus: true},
	{Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true, HasStatus: true},
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler", Resource: "horizontalpodautoscalers",
		Namespaced: true, HasStatus: true},
	{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass", Resource: "storageclasses"},
	{Version: "v1", Kind: "PersistentVolume", Resource: "persistentvolumes", HasStatus: true},
	{Version: "v1", Kind: "PersistentVolumeClaim", Resource: "persistentvolumeclaims", Namespaced: true, HasStatus: true},
	{Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespaced: true},
	{Version: "v1", Kind: "ResourceQuota", Resource: "resourcequotas", Namespaced: true, HasStatus: true},
	{Version: "v1", Kind: "Node", Resource: "nodes", HasStatus: true},
	{Version: "v1", Kind: "Namespace", Resource: "namespaces", HasStatus: true},
}

// lines is a sink that keeps the trace.
type lines struct{ text bytes.Buffer }

// record returns what happens in a sandbox when each of the texts, manifests, is applied, and all has settled after it.
// With traced the recording has the trace too.
func record(t *testing.T, traced bool, names []string, texts ...string) *replay.Memory {
	t.Helper()
	ctx := within(t)
	kept := &lines{}
	var sinks []trace.Sink
	if traced {
		sinks = append(sinks, trace.NewWriter(&kept.text))
	}
	s, err := runlocal.Start(ctx, runlocal.Options{
		API: api.Options{History: 1 << 16}, Controllers: runlocal.Names(names...), Nodes: 3,
		Recorder: trace.NewRecorder(clock.RealClock{}, sinks...),
	})
	if err != nil {
		t.Fatal(err)
	}
	times := watchTimes(s.Server())
	for _, text := range texts {
		if err := applyOrDelete(ctx, t, s, text); err != nil {
			t.Fatal(err)
		}
		if err := s.WaitSettled(ctx); err != nil {
			t.Fatal(err)
		}
	}
	out := fromWrites(t, s.Server(), times())
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(kept.text.Bytes()) {
		out.Append(&replay.Record{Type: replay.TypeTrace, Object: line, Time: out.Records[len(out.Records)-1].Time})
	}
	return out
}

// deletion begins a text that names an object to delete, in the place of a manifest.
const deletion = "delete "

func applyOrDelete(ctx context.Context, t *testing.T, s *runlocal.Session, text string) error {
	t.Helper()
	client := kubernetes.NewForConfigOrDie(s.Config()).CoreV1()
	if name, ok := strings.CutPrefix(text, deletion+"namespace "); ok { // its controller waits before it empties it
		err := client.Namespaces().Delete(ctx, name, metav1.DeleteOptions{})
		for err == nil { // until it is gone
			_, err = client.Namespaces().Get(ctx, name, metav1.GetOptions{})
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	}
	_, err := s.Apply(ctx, "default", manifest(t, text))
	return err
}

func manifest(t *testing.T, text string) []runlocal.Manifest {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return []runlocal.Manifest{{Source: "test.yaml", Object: u}}
}

// seen is a time at which an API server had a version.
type seen struct {
	version uint64
	at      time.Time
}

// watchTimes takes down when an API server comes to each version, until the returned function is called, which returns
// the times in their order.
func watchTimes(server *api.Server) (end func() []seen) {
	done, ended := make(chan struct{}), make(chan struct{})
	times := []seen{{server.ResourceVersion(), time.Now()}}
	ticker := time.NewTicker(time.Millisecond)
	go func() {
		defer close(ended)
		defer ticker.Stop()
		for {
			if version := server.ResourceVersion(); version > times[len(times)-1].version {
				times = append(times, seen{version, time.Now()})
			}
			select {
			case <-done:
				return
			case <-ticker.C:
			}
		}
	}()
	return func() []seen {
		close(done)
		<-ended
		return append(times, seen{server.ResourceVersion(), time.Now()})
	}
}

// fromWrites makes a recording of the writes of an API server.
func fromWrites(t *testing.T, server *api.Server, times []seen) *replay.Memory {
	t.Helper()
	began := times[0].at
	out := &replay.Memory{Head: replay.Header{Version: replay.FormatVersion}}
	numbers := map[schema.GroupResource]int{}
	for i, stream := range recordedKinds {
		stream.Number = i + 1
		numbers[stream.GroupResource()] = stream.Number
		out.Append(
			&replay.Record{Time: began, Type: replay.TypeStream, Stream: stream.Number, NewStream: &stream},
			&replay.Record{Time: began, Type: replay.TypeListBegin, Stream: stream.Number},
			&replay.Record{Time: began, Type: replay.TypeListEnd, Stream: stream.Number, ResourceVersion: "1"},
		)
	}
	writes, err := server.Writes(0, func(gr schema.GroupResource) bool { return numbers[gr] != 0 })
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range writes {
		r := &replay.Record{
			Type:   replay.TypeModified,
			Stream: numbers[w.Resource.GroupResource()], ResourceVersion: strconv.FormatUint(w.ResourceVersion, 10),
		}
		obj := w.After
		switch {
		case w.Before == nil:
			r.Type = replay.TypeAdded
		case w.After == nil:
			r.Type, obj = replay.TypeDeleted, w.Before
			obj.SetResourceVersion(r.ResourceVersion)
		}
		r.Namespace, r.Name, r.UID = obj.GetNamespace(), obj.GetName(), string(obj.GetUID())
		if r.Object, err = json.Marshal(obj.Object); err != nil {
			t.Fatal(err)
		}
		for times[0].version < w.ResourceVersion {
			times = times[1:]
		}
		r.Time = times[0].at
		out.Append(r)
	}
	return out
}
