package memstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
)

// benchPod returns a pod with about as much in it as those that controllers make.
func benchPod(i int) *example.Pod {
	grace, yes := int64(30), true
	return &example.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "bench", Name: fmt.Sprintf("web-7d4b9c6f5d-%05d",
				i), GenerateName: "web-7d4b9c6f5d-", UID: "0b7d1d1e-6f3c-4a55-9c0e-6d2f6d1f9a10",
			Labels: map[string]string{"app": "web", "pod-template-hash": "7d4b9c6f5d",
				"n": strconv.Itoa(i % 100)},
			Annotations:     map[string]string{"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-7d4b9c6f5d", UID: "1", Controller: &yes}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kube-controller-manager", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{` + strings.Repeat(`"f:app":{},`, 60) + `"f:n":{}}}}`)}},
		},
		Spec: example.PodSpec{TerminationGracePeriodSeconds: &grace, NodeSelector: map[string]string{"disk": "ssd"},
			NodeName: "node-1"},
	}
}

func podKey(pod *example.Pod) string { return "/pods/" + pod.Namespace + "/" + pod.Name }

func fill(b *testing.B, f *fixture, n int) {
	b.Helper()
	for i := range n {
		pod := benchPod(i)
		if err := f.Create(b.Context(), podKey(pod), pod, nil, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func eachMode(b *testing.B, run func(b *testing.B, f *fixture)) {
	for _, mode := range []Mode{Objects, Encoded} {
		b.Run(mode.String(), func(b *testing.B) { run(b, newFixture(b, mode, Options{})) })
	}
}

// BenchmarkDeepCopy is the least that any read costs that returns copies.
func BenchmarkDeepCopy(b *testing.B) {
	pod := benchPod(1)
	b.ReportAllocs()
	for b.Loop() {
		_ = pod.DeepCopyObject()
	}
}

func BenchmarkCreate(b *testing.B) {
	eachMode(b, func(b *testing.B, f *fixture) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			pod := benchPod(i)
			if err := f.Create(b.Context(), podKey(pod), pod, &example.Pod{}, 0); err != nil {
				b.Fatal(err)
			}
			i++
		}
	})
}

func BenchmarkGet(b *testing.B) {
	eachMode(b, func(b *testing.B, f *fixture) {
		fill(b, f, 10_000)
		key := podKey(benchPod(5_000))
		b.ReportAllocs()
		for b.Loop() {
			if err := f.Get(b.Context(), key, storage.GetOptions{}, &example.Pod{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkUpdate(b *testing.B) {
	eachMode(b, func(b *testing.B, f *fixture) {
		fill(b, f, 10_000)
		key := podKey(benchPod(5_000))
		i := 0
		label := storage.SimpleUpdate(func(obj runtime.Object) (runtime.Object, error) {
			obj.(*example.Pod).Labels["i"] = strconv.Itoa(i)
			return obj, nil
		})
		b.ReportAllocs()
		for b.Loop() {
			i++
			if err := f.GuaranteedUpdate(b.Context(), key, &example.Pod{}, false, nil, label, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkList10k(b *testing.B) {
	page := storage.Everything
	page.Limit = 500
	one := storage.SelectionPredicate{
		Label: labels.SelectorFromSet(labels.Set{"n": "7"}), Field: fields.Everything(), GetAttrs: storage.DefaultNamespaceScopedAttr,
	}
	for name, pred := range map[string]storage.SelectionPredicate{"all": storage.Everything, "page": page,
		"label": one} {
		b.Run(name, func(b *testing.B) {
			eachMode(b, func(b *testing.B, f *fixture) {
				fill(b, f, 10_000)
				b.ReportAllocs()
				for b.Loop() {
					if err := f.GetList(b.Context(), "/pods", storage.ListOptions{Recursive: true, Predicate: pred},
						&example.PodList{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// BenchmarkWatchFanOut measures a create until the last of several watchers has received it.
func BenchmarkWatchFanOut(b *testing.B) {
	for _, watchers := range []int{1, 20, 200} {
		b.Run(strconv.Itoa(watchers), func(b *testing.B) {
			eachMode(b, func(b *testing.B, f *fixture) {
				ctx, cancel := context.WithCancel(b.Context())
				defer cancel()
				received := make(chan struct{}, watchers)
				for range watchers {
					w, err := f.Watch(ctx, "/pods",
						storage.ListOptions{ResourceVersion: "1", Recursive: true, Predicate: storage.Everything})
					if err != nil {
						b.Fatal(err)
					}
					go func() {
						for range w.ResultChan() {
							received <- struct{}{}
						}
					}()
				}
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					pod := benchPod(i)
					if err := f.Create(ctx, podKey(pod), pod, nil, 0); err != nil {
						b.Fatal(err)
					}
					for range watchers {
						<-received
					}
					i++
				}
			})
		})
	}
}
