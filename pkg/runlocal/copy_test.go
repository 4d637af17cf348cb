package runlocal

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// quiet is for how long a copy that is left alone is watched after it has settled.
const quiet = 3 * time.Second

// healthyNamespace is one of everything that controllers look after, and that can be healthy.
const healthyNamespace = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: limits, namespace: shop}
spec: {hard: {pods: "50", requests.cpu: "20", count/deployments.apps: "5", persistentvolumeclaims: "9"}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: defaults, namespace: shop}
spec: {limits: [{type: Container, default: {cpu: 100m}, defaultRequest: {cpu: 100m}}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {mode: fast}
---
apiVersion: v1
kind: Secret
metadata: {name: key, namespace: shop}
data: {password: c2VjcmV0}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "nginx:1"}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop}
spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 3
  maxReplicas: 5
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: "db:1", volumeMounts: [{name: data, mountPath: /data}]}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Service
metadata: {name: db, namespace: shop}
spec: {clusterIP: None, selector: {app: db}, ports: [{port: 5432}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: shop}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: "agent:1"}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: shop}
spec:
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: "job:1"}]}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: yearly, namespace: shop}
spec:
  schedule: "0 0 1 1 *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "job:1"}]}}}}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: w, namespace: shop, finalizers: [example.com/hold]}
spec: {size: 3}
`

// copyOf reads a copy of a session's API.
func copyOf(t *testing.T, s *Session, o seed.Options) *seed.Copy {
	t.Helper()
	ctx := within(t)
	kinds, err := cluster.Discover(ctx, s.Config())
	if err != nil {
		t.Fatal(err)
	}
	reader, err := cluster.NewReader(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	o.Kinds, o.Reader = kinds, reader
	c, err := seed.Read(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// writes is a trace.Sink of the writes of all controllers, Leases left out, which nodes renew.
type writes struct {
	mu  sync.Mutex
	all []string
}

func (w *writes) Record(e *trace.Event) {
	r, ok := e.Detail.(*trace.Request)
	if !ok || !r.ChangesObjects() || r.Resource == "leases" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, fmt.Sprintf("%s: %s %s/%s %s/%s: %d %s", e.Controller, r.Verb, r.Resource, r.Subresource,
		r.Namespace, r.Name, r.Code, r.Message))
}

func (w *writes) list() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.all)
}

// staysQuiet waits until the session has settled, and then until it has been quiet for long enough, or has written.
func staysQuiet(ctx context.Context, t *testing.T, s *Session, w *writes) {
	t.Helper()
	if err := s.WaitSettled(ctx); err != nil {
		t.Fatalf("settling: %v; busy are %v", err, s.State().Busy())
	}
	since := time.Now()
	err := s.poll(ctx, func() (bool, error) { return len(w.list()) > 0 || time.Since(since) > quiet, nil })
	if err != nil {
		t.Fatal(err)
	}
}

// changed returns what differs between two copies, Leases left out.
func changed(t *testing.T, before, after *seed.Copy) string {
	t.Helper()
	fields := func(c *seed.Copy) map[string]any {
		out := map[string]any{}
		for i := range c.Objects {
			o := &c.Objects[i]
			if o.Kind.Resource == "leases" {
				continue
			}
			var decoded any
			if err := json.Unmarshal(o.JSON, &decoded); err != nil {
				t.Fatal(err)
			}
			out[o.Kind.GroupResource().String()+" "+o.Namespace+"/"+o.Name] = decoded
		}
		return out
	}
	return cmp.Diff(fields(before), fields(after))
}

// TestCopyStaysStill copies a healthy namespace from one session to another, where all controllers run: none of them
// writes, and every object stays as it was read.
func TestCopyStaysStill(t *testing.T) {
	source := start(t, Options{Nodes: 3, PodReadyAfter: time.Millisecond}, "*")
	ctx := within(t)
	applied, err := source.Apply(ctx, "shop", manifests(t, strings.Split(healthyNamespace, "\n---\n")...))
	if err != nil {
		t.Fatal(err)
	}
	if err := source.WaitReady(ctx, applied); err != nil {
		t.Fatal(err)
	}
	if err := source.WaitSettled(ctx); err != nil {
		t.Fatal(err)
	}
	before := copyOf(t, source, seed.Options{Namespaces: []string{"shop"}, WithSecrets: true})
	if len(before.Incomplete) > 0 {
		t.Errorf("could not be read: %v", before.Incomplete)
	}

	written := &writes{}
	copied := startCopy(t, before, written, "*")
	staysQuiet(within(t), t, copied, written)
	for _, w := range written.list() {
		t.Errorf("written: %s", w)
	}
	after := copyOf(t, copied, seed.Options{Namespaces: []string{"shop"}, WithSecrets: true})
	if diff := changed(t, before, after); diff != "" {
		t.Errorf("objects of the copy have changed (-before +after):\n%s", diff)
	}
	if unloaded := copied.CopyReport().Unloaded; len(unloaded) > 0 {
		t.Errorf("not loaded: %v", unloaded)
	}
}

// startCopy starts a session that begins with a copy.
func startCopy(t *testing.T, c *seed.Copy, sink trace.Sink, names ...string) *Session {
	t.Helper()
	selected, err := controllers.Select(names)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(within(t), Options{
		API: api.Options{DefaultServiceAccounts: true}, Controllers: selected, Copy: c,
		Recorder: trace.NewRecorder(clock.RealClock{}, sink),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	return s
}
