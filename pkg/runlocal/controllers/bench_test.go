//go:build unix

package controllers

import (
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// cpu is the processor time that the process has used, in seconds: unlike the time on the clock it does not depend on
// what else the machine does.
func cpu(b *testing.B) float64 {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// BenchmarkThousandPods takes a Deployment to a thousand pods, with and without a trace. Their difference is the cost
// of the trace.
func BenchmarkThousandPods(b *testing.B) {
	const replicas = 1000
	for _, test := range []struct {
		name     string
		recorder *trace.Recorder
	}{
		{"off", nil},
		{"on", trace.NewRecorder(clock.RealClock{}, trace.NewSummary())},
	} {
		b.Run(test.name, func(b *testing.B) {
			var used float64
			for b.Loop() {
				b.StopTimer()
				s := newSession(b, tap.Options{Recorder: test.recorder}, ownServer(api.Options{DefaultServiceAccounts: true}))
				stop := s.start(b, 0, "deployment", "replicaset")
				before := cpu(b)
				b.StartTimer()
				if _, err := s.client.AppsV1().Deployments("default").Create(b.Context(), deploymentOf("web", replicas),
					metav1.CreateOptions{}); err != nil {
					b.Fatal(err)
				}
				eventually(b, "all pods", func() bool {
					d, err := s.client.AppsV1().Deployments("default").Get(b.Context(), "web", metav1.GetOptions{})
					return err == nil && d.Status.Replicas == replicas
				})
				b.StopTimer()
				used += cpu(b) - before
				stop()
				if err := s.server.Stop(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			b.ReportMetric(used/float64(b.N), "cpu-s/op")
		})
	}
}
