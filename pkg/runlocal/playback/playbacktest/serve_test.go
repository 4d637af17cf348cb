package playbacktest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/playback"
)

// write writes a recording of a ConfigMap that is changed once, and returns its path.
func write(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "recording")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	writer, err := replay.NewWriter(file, replay.Header{Start: begin}, replay.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	object := func(typ replay.Type, version, value string) *replay.Record {
		return &replay.Record{
			Type: typ, Stream: 1, Namespace: "default", Name: "settings", UID: "u", ResourceVersion: version,
			Object: fmt.Appendf(nil, `{"metadata":{"name":"settings","namespace":"default","uid":"u",`+
				`"resourceVersion":%q},"data":{"key":%q}}`, version, value),
		}
	}
	for i, r := range []*replay.Record{
		{Type: replay.TypeStream, Stream: 1, NewStream: &replay.Stream{
			Number: 1, Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespaced: true,
		}},
		{Type: replay.TypeListBegin, Stream: 1},
		object(replay.TypeListItem, "5", "first"),
		{Type: replay.TypeListEnd, Stream: 1, ResourceVersion: "7"},
		object(replay.TypeModified, "9", "second"),
		{Type: replay.TypeEnd},
	} {
		r.Time = begin.Add(time.Duration(i) * time.Second)
		if err := writer.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestServe(t *testing.T) {
	config := Serve(t, write(t))
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	maps := client.CoreV1().ConfigMaps("default")
	got, err := maps.Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil || got.Data["key"] != "second" || got.ResourceVersion != "9" {
		t.Errorf("at the end: %v, %v", got, err)
	}
	if err := maps.Delete(t.Context(), "settings", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a deletion: %v, want that it is forbidden", err)
	}
}

func TestStart(t *testing.T) {
	s := Start(t, write(t), playback.Options{At: replay.Moment{Start: true}, Writable: true})
	client, err := kubernetes.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	maps := client.CoreV1().ConfigMaps("default")
	for _, want := range []string{"first", "second"} {
		got, err := maps.Get(t.Context(), "settings", metav1.GetOptions{})
		if err != nil || got.Data["key"] != want {
			t.Errorf("got %v, %v, want %s", got, err, want)
		}
		if want == "first" {
			if err := s.Step(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := maps.Delete(t.Context(), "settings", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}
