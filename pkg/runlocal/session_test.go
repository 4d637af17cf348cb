package runlocal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

// patience bounds what a test waits for on a busy machine; nothing is timed by it.
const patience = 4 * time.Minute

func start(t *testing.T, o Options, names ...string) *Session {
	t.Helper()
	o.Controllers = Names(names...)
	s, err := Start(t.Context(), o)
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

func manifests(t testing.TB, texts ...string) []Manifest {
	t.Helper()
	out, err := ParseManifests(strings.NewReader(strings.Join(texts, "\n---\n")))
	if err != nil {
		t.Fatal(err)
	}
	for i := range out {
		out[i].Source = "test.yaml"
	}
	return out
}

func deployment(name string, replicas int) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: c, image: i}]}
`, name, replicas)
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func TestDeploymentToReady(t *testing.T) {
	s := start(t, Options{Nodes: 3}, "deployment", "replicaset")
	ctx := within(t)
	applied, err := s.Apply(ctx, "default", manifests(t, deployment("web", 3)))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.WaitReady(ctx, applied); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitSettled(ctx); err != nil {
		t.Fatal(err)
	}
	statuses, err := s.Statuses(ctx, applied)
	if err != nil {
		t.Fatal(err)
	}
	if got := statuses[0].Status.Ready; got != "3/3" {
		t.Errorf("ready %q, want 3/3", got)
	}
	others, err := s.Others(ctx, []schema.GroupVersionResource{
		{Group: "apps", Version: "v1", Resource: "replicasets"}, {Version: "v1", Resource: "pods"}, applied[0].Resource,
	}, applied)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, o := range others {
		kinds[o.Kind.Kind]++
	}
	if diff := cmp.Diff(map[string]int{"ReplicaSet": 1, "Pod": 3}, kinds); diff != "" {
		t.Errorf("what the controllers made (-want +got):\n%s", diff)
	}
}

// TestZeroOptions: with controllers and nothing else, pods become ready, in namespaces that are made later too.
func TestZeroOptions(t *testing.T) {
	s := start(t, Options{}, "deployment", "replicaset")
	ctx := within(t)
	if err := s.EnsureNamespace(ctx, "shop"); err != nil {
		t.Fatal(err)
	}
	applied, err := s.Apply(ctx, "shop", manifests(t, deployment("web", 2)))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.WaitReady(ctx, applied); err != nil {
		t.Error(err)
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		reason string
		in     []controllers.Controller
		want   string // the error; empty for none
	}{
		{"aliases are names too", Names("replicaset-controller", "deployment"), ""},
		{"none is nothing wrong", Names(), ""},
		{"no controller has the name", Names("deployment", "deploymnt"), `no controller "deploymnt" in kube-controller-manager`},
		{"it does not run here", Names("nodeipam"), `controller "node-ipam-controller" does not run here: it hands out network ranges ` +
			"that only the cluster's control plane is configured with"},
		{"one of several lists has the error", append(Names("deployment"), Names("x")...), `no controller "x" in kube-controller-manager`},
	} {
		for where, start := range map[string]func() (*Session, error){
			"sandbox": func() (*Session, error) { return Start(t.Context(), Options{Controllers: tt.in, NoScheduling: true}) },
			"cluster": func() (*Session, error) {
				return StartCluster(t.Context(), ClusterOptions{}, Options{Controllers: tt.in})
			},
		} {
			if where == "cluster" && tt.want == "" {
				continue // there is none
			}
			s, err := start()
			text := ""
			if err != nil {
				text = err.Error()
			} else if err := s.Stop(); err != nil {
				t.Errorf("%s: stopping: %v", tt.reason, err)
			}
			if text != tt.want {
				t.Errorf("%s: starting on a %s: %q, want %q", tt.reason, where, text, tt.want)
			}
		}
	}
}

func TestNodeCount(t *testing.T) {
	withNodes := &seed.Copy{Objects: []seed.Object{{Kind: cluster.Kind{Resource: "nodes"}}}}
	for _, tt := range []struct {
		reason  string
		options Options
		want    int
	}{
		{"pods need one", Options{}, 1},
		{"as many as are wanted", Options{Nodes: 3}, 3},
		{"none, if that is said", Options{Nodes: NoNodes}, 0},
		{"a copy has its own", Options{Copy: withNodes}, 0},
		{"and more, if that is said", Options{Copy: withNodes, Nodes: 2}, 2},
		{"a copy without nodes needs one", Options{Copy: &seed.Copy{}}, 1},
	} {
		if got := tt.options.nodeCount(); got != tt.want {
			t.Errorf("%d nodes, want %d: %s", got, tt.want, tt.reason)
		}
	}
}

func TestBounded(t *testing.T) {
	for _, tt := range []struct {
		reason string
		in     Options
		qps    float32
		burst  int
	}{
		{"no bound is the default", Options{}, -1, 0},
		{"nor is there one with less than 0", Options{QPS: -5}, -1, 0},
		{"a bound", Options{QPS: 20, Burst: 30}, 20, 30},
	} {
		if got := bounded(&rest.Config{QPS: 7, Burst: 8}, tt.in); got.QPS != tt.qps || got.Burst != tt.burst {
			t.Errorf("%s: %v a second, %d at once; want %v and %d", tt.reason, got.QPS, got.Burst, tt.qps, tt.burst)
		}
	}
}

// TestNotReady: waiting ends as soon as nothing is left that could change anything.
func TestNotReady(t *testing.T) {
	s := start(t, Options{Nodes: 1}) // no controller: no controller acts on the Deployment
	applied, err := s.Apply(within(t), "default", manifests(t, deployment("web", 1)))
	if err != nil {
		t.Fatal(err)
	}
	late := (*NotReadyError)(nil)
	if err := s.WaitReady(within(t), applied); !errors.As(err, &late) {
		t.Fatalf("waiting for what no controller makes ready: %v", err)
	}
	if got := late.Objects[0].String(); got != "deployment.apps/web" || !strings.Contains(late.Error(), got) {
		t.Errorf("the error %q does not name deployment.apps/web", late)
	}
}

// TestPendingTimers: a rollout's deadline is a timer that settling does not wait for, and that is not hidden either.
func TestPendingTimers(t *testing.T) {
	s := start(t, Options{NoScheduling: true}, "deployment", "replicaset")
	ctx := within(t)
	if _, err := s.Apply(ctx, "default", manifests(t, deployment("web", 1))); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitSettled(ctx); err != nil {
		t.Fatal(err)
	}
	pending := s.Pending()
	if len(pending) != 1 || pending[0].Controller != "deployment" || pending[0].Key != "default/web" {
		t.Fatalf("pending %v, want the progress deadline of default/web alone", pending)
	}
	if in := time.Until(pending[0].Due); in < 9*time.Minute || in > 11*time.Minute {
		t.Errorf("due in %s, want about 10m", in)
	}
}

func TestApply(t *testing.T) {
	s := start(t, Options{})
	tests := []struct {
		reason  string
		objects []string
		applied []string
		errors  []string
	}{
		{
			"what others need comes first, wherever it stands",
			[]string{
				"{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: late}}",
				"{apiVersion: v1, kind: Namespace, metadata: {name: late}}",
			},
			[]string{"namespace/late", "configmap/c"}, nil,
		},
		{
			"a kind that is defined beside its object is known",
			[]string{"{apiVersion: example.com/v1, kind: Thing, metadata: {name: t}, spec: {size: 2}}", thingCRD},
			[]string{"customresourcedefinition.apiextensions.k8s.io/things.example.com", "thing.example.com/t"}, nil,
		},
		{
			"an object read from a cluster has fields that only a server may set",
			[]string{"{apiVersion: v1, kind: ConfigMap, metadata: {name: read, uid: x, resourceVersion: '7', managedFields: []}}"},
			[]string{"configmap/read"}, nil,
		},
		{
			"an object that is there is changed",
			[]string{"{apiVersion: v1, kind: ConfigMap, metadata: {name: twice}}",
				"{apiVersion: v1, kind: ConfigMap, metadata: {name: twice}, data: {k: v}}"},
			[]string{"configmap/twice", "configmap/twice"}, nil,
		},
		{
			"a bad one among good ones is named and hinders none",
			[]string{
				"{apiVersion: v1, kind: ConfigMap, metadata: {name: first}}",
				"{apiVersion: v1, kind: ConfigMap, metadata: {name: NOT}}",
				"{apiVersion: apps/v9, kind: Deploymnt, metadata: {name: x}}",
				"{apiVersion: v1, kind: ConfigMap, metadata: {name: field}, dta: {}}",
				"{apiVersion: v1, kind: ConfigMap, metadata: {name: lost, namespace: nowhere}}",
				"{apiVersion: v1, kind: ConfigMap, metadata: {name: last}}",
			},
			[]string{"configmap/first", "configmap/last"},
			[]string{
				`test.yaml: configmap/NOT: ConfigMap "NOT" is invalid: metadata.name: Invalid value: "NOT":`,
				`test.yaml: deploymnt.apps/x: no kind "Deploymnt" is served in version "apps/v9"`,
				`unknown field "dta"`,
				`namespaces "nowhere" not found`,
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			applied, err := s.Apply(within(t), "default", manifests(t, tt.objects...))
			var names []string
			for _, a := range applied {
				names = append(names, a.String())
			}
			if diff := cmp.Diff(tt.applied, names); diff != "" {
				t.Errorf("applied (-want +got):\n%s", diff)
			}
			if (err != nil) != (tt.errors != nil) {
				t.Fatalf("error %v", err)
			}
			for _, want := range tt.errors {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no error has %q:\n%v", want, err)
				}
			}
		})
	}
}

const thingCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
`

// TestCustomResourcesWithoutStatus: a status that a kind has is waited for, for a client of the session may write it.
func TestCustomResourcesWithoutStatus(t *testing.T) {
	s := start(t, Options{})
	definition := func(name, subresources, properties string) string {
		text := strings.NewReplacer("things", name+"s", "Thing", name, "properties: {spec", "properties: {"+properties+"spec").
			Replace(thingCRD)
		return strings.Replace(text, "      storage: true\n", "      storage: true\n"+subresources, 1)
	}
	const object = "{apiVersion: example.com/v1, kind: %s, metadata: {name: %s}, spec: {size: 2}}"
	applied, err := s.Apply(within(t), "default", manifests(t,
		definition("reporting", "      subresources: {status: {}}\n", "status: {type: object, properties: {phase: {type: string}}}, "),
		definition("declaring", "", "status: {type: object}, "),
		definition("silent", "", ""),
		fmt.Sprintf(object, "reporting", "r"), fmt.Sprintf(object, "declaring", "d"), fmt.Sprintf(object, "silent", "s"),
	))
	if err != nil {
		t.Fatal(err)
	}
	definitions, reporting, declaring, silent := applied[:3], applied[3:4], applied[4:5], applied[5:]
	statuses, err := s.Statuses(within(t), applied[3:])
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, o := range statuses {
		got[o.Name] = o.Status.Status + ": " + o.Status.Reason
	}
	want := map[string]string{"r": "Unknown: no status reported", "d": "Unknown: no status reported", "s": "Current: "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	if err := s.WaitReady(within(t), slices.Concat(silent, definitions)); err != nil {
		t.Errorf("what has no status is waited for: %v", err)
	}
	for _, late := range [][]Applied{reporting, declaring} {
		outcome, err := s.WaitFor(within(t), Goal{Type: GoalReady, Alone: true}, late)
		if outcome != OutcomeStuck || err != nil {
			t.Errorf("%s, without clients: %q, %v", late, outcome, err)
		}
		// The objects have to be read before the time is over, which may take a while.
		for limit := 100 * time.Millisecond; ; limit *= 2 {
			short, cancel := context.WithTimeout(t.Context(), limit)
			err = s.WaitReady(short, slices.Concat(late, silent))
			cancel()
			if err != nil && strings.Contains(err.Error(), late[0].String()+" is Unknown") || limit > patience {
				break
			}
		}
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), late[0].String()+" is Unknown") {
			t.Errorf("%s, without a writer: %v", late, err)
		}
	}
	written := make(chan error, 1)
	go func() {
		_, err := s.dynamic.Resource(reporting[0].Resource).Namespace("default").Patch(within(t), "r", types.MergePatchType,
			[]byte(`{"status": {"phase": "Ready"}}`), metav1.PatchOptions{}, "status")
		written <- err
	}()
	if err := errors.Join(s.WaitReady(within(t), reporting), <-written); err != nil {
		t.Errorf("a status that is written ends the wait: %v", err)
	}
}

// TestBackendsCount: a session judges what routes requests as the commands do that read a cluster.
func TestBackendsCount(t *testing.T) {
	s := start(t, Options{Nodes: 1}, "deployment", "replicaset", "endpointslice")
	const service = "{apiVersion: v1, kind: Service, metadata: {name: %s}, spec: {selector: {app: %s}, ports: [{port: 80}]}}"
	const ingress = `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: %s}, spec: {defaultBackend: {service: {name: %s, port: {number: 80}}}},
	  status: {loadBalancer: {ingress: [{ip: 10.0.0.1}]}}}`
	applied, err := s.Apply(within(t), "default", manifests(t,
		`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}},
		  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}`,
		fmt.Sprintf(service, "web", "web"), fmt.Sprintf(service, "typo", "wbe"), fmt.Sprintf(ingress, "lost", "wob")))
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]Applied{}
	for _, a := range applied {
		byName[a.Kind.Kind+"/"+a.Name] = a
	}
	for _, row := range []struct{ reason, name, want string }{
		{"its pods become ready", "Service/web", ""},
		{"a selector that no pod has", "Service/typo", "service/typo is Degraded: selects no pod"},
		{"a Service that does not exist", "Ingress/lost", "ingress.networking.k8s.io/lost is Degraded: Service/wob does not exist"},
	} {
		text := ""
		if err := s.WaitReady(within(t), []Applied{byName["Deployment/web"], byName[row.name]}); err != nil {
			text = err.Error()
		}
		if text != row.want {
			t.Errorf("%s: %q, want %q", row.reason, text, row.want)
		}
	}
}

func TestEnsureNamespace(t *testing.T) {
	s := start(t, Options{})
	for range 2 { // the second time it is there
		if err := s.EnsureNamespace(within(t), "shop"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Apply(within(t), "shop", manifests(t,
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}")); err != nil {
			t.Errorf("the namespace is not there: %v", err)
		}
	}
}

// TestStartFails: what cannot start leaves nothing running, which TestMain asserts.
func TestStartFails(t *testing.T) {
	_, err := Start(t.Context(), Options{API: api.Options{EnableAdmission: []string{"Nonsense"}}})
	if err == nil || !strings.Contains(err.Error(), "Nonsense") {
		t.Errorf("starting with an unknown plugin: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, Options{}); err == nil {
		t.Error("a session started on a context that has ended")
	}
}

func TestStopTwice(t *testing.T) {
	s := start(t, Options{Nodes: 1}, "deployment")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	} // the cleanup stops it again
}

// TestTwoSessions: nothing of a session is known to the process at large.
func TestTwoSessions(t *testing.T) {
	a, b := start(t, Options{Nodes: 1}, "replicaset"), start(t, Options{Nodes: 1}, "replicaset")
	if _, err := a.Apply(within(t), "default", manifests(t,
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: mine}}")); err != nil {
		t.Fatal(err)
	}
	maps := []schema.GroupVersionResource{{Version: "v1", Resource: "configmaps"}}
	for session, want := range map[*Session]bool{a: true, b: false} {
		found, err := session.Others(within(t), maps, nil)
		if err != nil {
			t.Fatal(err)
		}
		has := false
		for _, o := range found {
			has = has || o.Name == "mine"
		}
		if has != want {
			t.Errorf("the ConfigMap is there: %t, want %t", has, want)
		}
	}
}

// TestComponentStatuses wants the API server to report as healthy what runs in the session.
func TestComponentStatuses(t *testing.T) {
	for _, tt := range []struct {
		reason      string
		options     Options
		controllers []string
		want        map[string]string
	}{
		{"both run", Options{Nodes: 1}, []string{"deployment"}, map[string]string{"controller-manager": "True",
			"etcd-0": "True", "scheduler": "True"}},
		{"an API server alone", Options{NoScheduling: true}, nil, map[string]string{"controller-manager": "False",
			"etcd-0": "True", "scheduler": "False"}},
	} {
		s := start(t, tt.options, tt.controllers...)
		list, err := kubernetes.NewForConfigOrDie(s.Config()).CoreV1().ComponentStatuses().List(t.Context(),
			metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, item := range list.Items {
			got[item.Name] = string(item.Conditions[0].Status)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: healthy (-want +got):\n%s", tt.reason, diff)
		}
	}
}
