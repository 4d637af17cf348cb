package nodes

import (
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// BenchmarkPods measures how long a thousand pods take from the first create to the last Ready, creating included.
func BenchmarkPods(b *testing.B) {
	for _, noEvents := range []bool{true, false} {
		b.Run(fmt.Sprintf("noEvents=%t", noEvents), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				s := newSandbox(b, Options{Count: 3, NoEvents: noEvents})
				w, err := s.CoreV1().Pods("default").Watch(b.Context(), metav1.ListOptions{})
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				start := time.Now()
				createAll(s, 1000)
				b.ReportMetric(time.Since(start).Seconds(), "s-created")
				awaitReady(w, 1000)
				b.ReportMetric(time.Since(start).Seconds(), "s-ready")
				b.StopTimer()
				w.Stop()
				s.nodes.Stop()
				if err := s.nodes.Wait(); err != nil {
					b.Error(err)
				}
				b.StartTimer()
			}
		})
	}
}

func createAll(s *sandbox, n int) {
	var clients sync.WaitGroup
	for c := range 4 {
		clients.Go(func() {
			for i := range n / 4 {
				s.create(podOf(fmt.Sprintf("web-%d-%d", c, i)))
			}
		})
	}
	clients.Wait()
}

func awaitReady(w watch.Interface, n int) {
	seen := map[string]bool{}
	for e := range w.ResultChan() {
		if pod, ok := e.Object.(*corev1.Pod); ok && ready(pod) {
			seen[pod.Name] = true
		}
		if len(seen) == n {
			return
		}
	}
}
