package memstore

import (
	"encoding/base64"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
)

// FuzzList lists with keys, versions and continue tokens as they may come from outside. Whatever they are, a list must
// not panic, and must not hold objects from outside its key.
func FuzzList(f *testing.F) {
	token := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	for _, seed := range []struct{ key, version, match, token string }{
		{"/pods/a", "", "", ""},
		{"/pods/", "3", "Exact", ""},
		{"/pods/a", "", "", token(`{"v":"meta.k8s.io/v1","rv":3,"start":"x\u0000"}`)},
		{"/pods/a", "", "", token(`{"v":"meta.k8s.io/v1","rv":-1,"start":"../b/x"}`)},
		{"/pods/a", "", "", token(`{"v":"meta.k8s.io/v1","rv":9223372036854775807,"start":"x"}`)},
		{"/pods/a", "", "", token(`{"v":"meta.k8s.io/v1","rv":-9223372036854775808,"start":"/"}`)},
		{"/pods/a", "18446744073709551615", "Exact", ""},
		{"/pods/a", "9223372036854775808", "", ""},
		{"/pods/../pods/a", "0", "NotOlderThan", "x"},
		{"", "-1", "x", "eyJ"},
	} {
		f.Add(seed.key, seed.version, seed.match, seed.token, int64(1))
	}
	s := newFixture(f, Objects, Options{})
	for _, key := range []string{"/pods/a/x", "/pods/a/y", "/pods/ab/x", "/pods/b/x"} {
		namespace, name, _ := strings.Cut(strings.TrimPrefix(key, "/pods/"), "/")
		pod := labelled(name, "1")
		pod.Namespace = namespace
		if err := s.Create(f.Context(), key, pod, nil, 0); err != nil {
			f.Fatal(err)
		}
	}
	s.store.Compact(3)
	f.Fuzz(func(t *testing.T, key, version, match, token string, limit int64) {
		pred := storage.Everything
		pred.Continue, pred.Limit = token, limit
		opts := storage.ListOptions{Recursive: true, Predicate: pred, ResourceVersion: version,
			ResourceVersionMatch: metav1.ResourceVersionMatch(match)}
		list := &example.PodList{}
		if err := s.GetList(t.Context(), key, opts, list); err != nil {
			return
		}
		for _, pod := range list.Items {
			if !strings.HasPrefix(podKey(&pod)+"/", strings.TrimSuffix(key, "/")+"/") {
				t.Errorf("list of %q holds %q", key, podKey(&pod))
			}
		}
		if limit > 0 && int64(len(list.Items)) > limit {
			t.Errorf("%d items with a limit of %d", len(list.Items), limit)
		}
	})
}

// FuzzKeys writes, reads, watches and deletes under any key: what is accepted must be found again, and nothing may
// panic.
func FuzzKeys(f *testing.F) {
	for _, seed := range []string{"/pods/a/b", "/pods/", "/pods", "", "/", ".", "/pods/..", "/pods/a//b", "/pods/\x00",
		"/pods/\xff\xff"} {
		f.Add(seed)
	}
	s := newFixture(f, Objects, Options{})
	f.Fuzz(func(t *testing.T, key string) {
		if err := s.Create(t.Context(), key, labelled("a", "1"), nil, 0); err != nil {
			return
		}
		w, err := s.Watch(t.Context(), key, storage.ListOptions{Predicate: storage.Everything})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		if got := (<-w.ResultChan()).Type; got != "ADDED" {
			t.Errorf("the watch of %q begins with %s", key, got)
		}
		if err := s.Get(t.Context(), key, storage.GetOptions{}, &example.Pod{}); err != nil {
			t.Error(err)
		}
		if err := s.Delete(t.Context(), key, &example.Pod{}, nil, storage.ValidateAllObjectFunc, nil,
			storage.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}
