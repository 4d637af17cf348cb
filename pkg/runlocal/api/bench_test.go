package api

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s, err := Start(b.Context(), Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Stop(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func BenchmarkCreatePod(b *testing.B) {
	f := start(b, Options{})
	p := pod("")
	p.GenerateName = "p-"
	for b.Loop() {
		if _, err := f.CoreV1().Pods(f.namespace).Create(b.Context(), p, metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCreatePodParallel(b *testing.B) {
	f := start(b, Options{})
	b.SetParallelism(4)
	b.RunParallel(func(pb *testing.PB) {
		p := pod("")
		p.GenerateName = "p-"
		for pb.Next() {
			if _, err := f.CoreV1().Pods(f.namespace).Create(b.Context(), p, metav1.CreateOptions{}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
