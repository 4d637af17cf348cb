package inspect

import "testing"

// BenchmarkInspect: a tree or a table of ten thousand objects judges each of them.
func BenchmarkInspect(b *testing.B) {
	pod := fromYAML(b, `{apiVersion: v1, kind: Pod, metadata: {name: web-1, generation: 1}, spec: {nodeName: node-1, containers: [{name: web, image: "nginx:1"}]},
	  status: {phase: Running, conditions: [{type: PodScheduled, status: "True"}, {type: Initialized, status: "True"}, {type: ContainersReady, status: "True"},
	  {type: Ready, status: "True", lastTransitionTime: "2026-01-02T03:04:05Z"}],
	  containerStatuses: [{name: web, ready: true, started: true, state: {running: {startedAt: "2026-01-02T03:04:05Z"}}}]}}`)
	polarities := DefaultPolarities()
	for b.Loop() {
		if r := Inspect(pod, polarities); r.Status.Status != Current {
			b.Fatalf("status %s", r.Status.Status)
		}
	}
}
