package inspect

import (
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/argocd"
)

// BenchmarkInspect: a tree or a table of ten thousand objects judges each of them.
func BenchmarkInspect(b *testing.B) {
	pod := fromYAML(b, `{apiVersion: v1, kind: Pod, metadata: {name: web-1, generation: 1}, spec: {nodeName: node-1, containers: [{name: web, image: "nginx:1"}]},
	  status: {phase: Running, conditions: [{type: PodScheduled, status: "True"}, {type: Initialized, status: "True"}, {type: ContainersReady, status: "True"},
	  {type: Ready, status: "True", lastTransitionTime: "2026-01-02T03:04:05Z"}],
	  containerStatuses: [{name: web, ready: true, started: true, state: {running: {startedAt: "2026-01-02T03:04:05Z"}}}]}}`)
	polarities := DefaultPolarities()
	for b.Loop() {
		if r := Inspect(pod, &Options{Polarities: polarities}); r.Status.Status != Current {
			b.Fatalf("status %s", r.Status.Status)
		}
	}
}

// BenchmarkStatusOf judges an object by each of the ways that there are: of a built-in kind, by a health check of Argo
// CD, and generically; and the first object of a kind with a check, which is compiled for it.
func BenchmarkStatusOf(b *testing.B) {
	const status = `metadata: {name: web, generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1,
	  readyReplicas: 1, availableReplicas: 1, conditions: [{type: Ready, status: "True"}, {type: Available, status: "True"}]}}`
	for name, text := range map[string]string{
		BuiltIn: "{apiVersion: apps/v1, kind: Deployment, " + status,
		ArgoCD:  "{apiVersion: cert-manager.io/v1, kind: Certificate, " + status,
		Generic: "{apiVersion: example.com/v1, kind: Cache, " + status,
	} {
		obj := fromYAML(b, text)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if s := StatusOf(obj); s.Status != Current || s.JudgedBy != name {
					b.Fatalf("%s by %s", s.Status, s.JudgedBy)
				}
			}
		})
		if name != ArgoCD {
			continue
		}
		b.Run("first", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r := inspect(obj, Options{}, argocd.Shipped()); r.JudgedBy != ArgoCD {
					b.Fatalf("%s by %s", r.Status.Status, r.JudgedBy)
				}
			}
		})
	}
}
