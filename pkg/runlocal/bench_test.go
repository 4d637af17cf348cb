package runlocal

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/findings"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// session starts a session for a benchmark, with the controllers of Deployments if none are named.
func session(b *testing.B, recorder *trace.Recorder, names ...string) *Session {
	b.Helper()
	if len(names) == 0 {
		names = []string{"deployment", "replicaset"}
	}
	s, err := Start(b.Context(), Options{Controllers: Names(names...), Nodes: 20, Recorder: recorder})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func stop(b *testing.B, s *Session) {
	b.Helper()
	if err := s.Stop(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkStart times a session from nothing to running controllers.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s := session(b, nil)
		b.StopTimer()
		stop(b, s)
		b.StartTimer()
	}
}

// BenchmarkSettled times a session from nothing to having nothing to do: with the garbage collector, which then watches
// all kinds, and without.
func BenchmarkSettled(b *testing.B) {
	for name, selected := range map[string][]string{"all": {"*"}, "deployments": nil} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s := session(b, nil, selected...)
				if err := s.WaitSettled(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				stop(b, s)
				b.StartTimer()
			}
		})
	}
}

// BenchmarkThousandPods times 50 Deployments of 20 replicas from their creation to Ready, by what becomes of the trace.
// The cases run side by side in one process, so that their difference is the cost of tracing.
func BenchmarkThousandPods(b *testing.B) {
	b.Run("untraced", func(b *testing.B) { benchmarkPods(b) })
	b.Run("summary", func(b *testing.B) { benchmarkPods(b, trace.NewSummary()) })
	b.Run("story", func(b *testing.B) {
		story, found := trace.NewBuffer(1<<16, toldStory{trace.NewStory(false)}), trace.NewBuffer(1<<16, findings.NewDetector(nil, nil))
		benchmarkPods(b, trace.NewSummary(), trace.NewPrograms(), trace.NewFailingKeys(), trace.NewCreatedResources(), story, found)
		for _, buffer := range []*trace.Buffer{story, found} {
			if err := buffer.Close(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ndjson", func(b *testing.B) {
		buffer := trace.NewBuffer(1<<16, trace.NewWriter(io.Discard))
		benchmarkPods(b, trace.NewSummary(), buffer)
		if err := buffer.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	})
}

// toldStory is a story whose steps are taken when they are due.
type toldStory struct{ *trace.Story }

func (s toldStory) Record(e *trace.Event) {
	s.Story.Record(e)
	if s.Due(e.Time) {
		s.Take()
	}
}

func benchmarkPods(b *testing.B, sinks ...trace.Sink) {
	var recorder *trace.Recorder
	if len(sinks) > 0 {
		recorder = trace.NewRecorder(clock.RealClock{}, sinks...)
	}
	for b.Loop() {
		b.StopTimer()
		s := session(b, recorder)
		b.StartTimer()
		thousandPods(b, s)
		b.StopTimer()
		stop(b, s)
		b.StartTimer()
	}
}

func thousandPods(b *testing.B, s *Session) {
	b.Helper()
	var texts []string
	for i := range 50 {
		texts = append(texts, deployment(fmt.Sprintf("d%02d", i), 20))
	}
	applied, err := s.Apply(b.Context(), "default", manifests(b, texts...))
	if err != nil {
		b.Fatal(err)
	}
	if err := s.WaitReady(b.Context(), applied); err != nil {
		b.Fatal(err)
	}
}

// storedObjects returns the objects of a cluster with many namespaces, n0 and so on: in each, Deployments with two
// ReplicaSets and pods on ten nodes.
func storedObjects(namespaces, deployments, pods int) []api.StoredObject {
	var out []api.StoredObject
	version := 100
	add := func(group, kind, resource, text string, args ...any) {
		version++
		meta := fmt.Sprintf(`"uid":"%08d-0000-0000-0000-000000000000","resourceVersion":"%d","generation":1,`+
			`"creationTimestamp":"2026-01-02T03:04:05Z",`, version, version)
		out = append(out, api.StoredObject{
			Kind: schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}, Resource: resource,
			JSON: []byte(fmt.Sprintf(strings.Replace(text, `{"metadata":{`, `{"metadata":{`+meta, 1), args...)),
		})
	}
	const template = `"metadata":{"labels":{"app":%[2]q}},"spec":{"restartPolicy":"Always","dnsPolicy":"ClusterFirst",` +
		`"schedulerName":"default-scheduler","terminationGracePeriodSeconds":30,"securityContext":{},` +
		`"containers":[{"name":"c","image":"i","resources":{},"imagePullPolicy":"Always",` +
		`"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}]}`
	for n := range 10 {
		add("", "Node", "nodes", `{"metadata":{"name":"node-%d"},"status":{"conditions":[{"type":"Ready","status":"True"}],`+
			`"allocatable":{"pods":"5000","cpu":"64"}}}`, n)
	}
	for n := range namespaces {
		namespace := fmt.Sprintf("n%d", n)
		add("", "Namespace", "namespaces", `{"metadata":{"name":%q},"spec":{"finalizers":["kubernetes"]},`+
			`"status":{"phase":"Active"}}`, namespace)
		for d := range deployments {
			name := fmt.Sprintf("web-%d", d)
			add("apps", "Deployment", "deployments", `{"metadata":{"namespace":%[1]q,"name":%[2]q},"spec":{"replicas":%[3]d,`+
				`"selector":{"matchLabels":{"app":%[2]q}},"template":{`+template+`}}}`, namespace, name, pods)
			owner := fmt.Sprintf(`"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":%q,`+
				`"uid":"%08d-0000-0000-0000-000000000000","controller":true}]`, name, version)
			for r := range 2 {
				add("apps", "ReplicaSet", "replicasets", `{"metadata":{"namespace":%[1]q,"name":"%[2]s-%[4]d",`+owner+`},`+
					`"spec":{"replicas":%[3]d,"selector":{"matchLabels":{"app":%[2]q}},"template":{`+template+`}}}`,
					namespace, name, pods*r, r)
			}
			owner = fmt.Sprintf(`"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"%s-1",`+
				`"uid":"%08d-0000-0000-0000-000000000000","controller":true}]`, name, version)
			for p := range pods {
				add("", "Pod", "pods", `{"metadata":{"namespace":%[1]q,"name":"%[2]s-1-%[3]d","labels":{"app":%[2]q},`+owner+
					`,"annotations":{"filler":%[5]q}},"spec":{"nodeName":"node-%[4]d","restartPolicy":"Always","containers":[`+
					`{"name":"c","image":"i","resources":{"requests":{"cpu":"1m"}}}]},"status":{"phase":"Running"}}`,
					namespace, name, p, p%10, strings.Repeat("x", 4000))
			}
		}
	}
	return out
}

// BenchmarkCopy times a copy of a namespace of 2,200 objects of a cluster of 22,000, and a session that begins with it,
// until its controllers of Deployments have nothing to do.
func BenchmarkCopy(b *testing.B) {
	server, err := api.Start(b.Context(), api.Options{Objects: storedObjects(10, 200, 8)})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = server.Stop() }()
	kinds, err := cluster.Discover(b.Context(), server.Config())
	if err != nil {
		b.Fatal(err)
	}
	var reading, starting time.Duration
	objects := 0
	for b.Loop() {
		began := time.Now()
		reader, err := cluster.NewReader(server.Config())
		if err != nil {
			b.Fatal(err)
		}
		c, err := seed.Read(b.Context(), seed.Options{
			Reader: reader, Kinds: kinds, Namespaces: []string{"n3"}, Neighbours: true,
		})
		if err != nil {
			b.Fatal(err)
		}
		objects = len(c.Objects)
		reading += time.Since(began)
		began = time.Now()
		s, err := Start(b.Context(), Options{Controllers: Names("deployment", "replicaset"), Copy: c})
		if err != nil {
			b.Fatal(err)
		}
		starting += time.Since(began)
		b.StopTimer()
		stop(b, s)
		b.StartTimer()
	}
	b.ReportMetric(reading.Seconds()/float64(b.N), "s-reading/op")
	b.ReportMetric(starting.Seconds()/float64(b.N), "s-starting/op")
	b.ReportMetric(float64(objects), "objects")
}
