package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// webPod is a pod that the Service web selects, of a revision of its owner, with these ports.
func webPod(name, revision, ports, state string) string {
	status := map[string]string{
		"ready": `{phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [{name: web, ready: true, started: true,
			restartCount: 0, state: {running: {}}}]}`,
		"starting": `{phase: Running, conditions: [{type: Ready, status: "False"}], containerStatuses: [{name: web, ready: false, started: true,
			restartCount: 0, state: {running: {}}}]}`,
		"completed": `{phase: Succeeded, conditions: [{type: Ready, status: "False", reason: PodCompleted}], containerStatuses: [{name: web, ready: false,
			started: false, restartCount: 0, state: {terminated: {exitCode: 0, reason: Completed}}}]}`,
	}[state]
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: %s, uid: ReplicaSet/%s, controller: true}]}
spec: {nodeName: node-1, containers: [{name: web, image: "nginx:1", ports: [%s]}]}
status: %s`, name, revision, revision, ports, status)
}

// replicaSet owns the pods of a revision, and reports that all is well.
func replicaSet(name string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: %s, generation: 1, labels: {app: web}}
spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}
status: {observedGeneration: 1, replicas: 1, fullyLabeledReplicas: 1, readyReplicas: 1, availableReplicas: 1}`, name)
}

func documents(all ...string) string { return strings.Join(all, "\n---\n") }

// TestServices: why a Service has no endpoints, or none for a port.
func TestServices(t *testing.T) {
	const (
		service = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]}`
		slice = `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-x, labels: {kubernetes.io/service-name: web}, ownerReferences: [{apiVersion: v1, kind: Service, name: web, uid: Service/web, controller: true}]}
addressType: IPv4
endpoints: [{addresses: [10.0.0.1], conditions: {ready: true}}]`
		http, other = "{name: http, containerPort: 8080}", "{name: web, containerPort: 8080}"
		missingPort = "PortMissing of Service/web, port 80: http"
		node        = "{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {conditions: [{type: Ready, status: \"True\"}]}}"
	)
	old, fresh := replicaSet("old"), replicaSet("web")
	for _, row := range []struct {
		reason, objects string
		want            []string
	}{
		{"a pod has the port", documents(slice, fresh, webPod("a", "web", http, "ready")), nil},
		{"no pod has it", documents(slice, fresh, webPod("a", "web", other, "ready")), []string{"Certain " + missingPort}},
		{
			"pods of one revision are alike, and one of them is read",
			documents(slice, fresh, webPod("a", "web", other, "ready"), webPod("b", "web", other, "ready"), webPod("c", "web", other, "ready")),
			[]string{"Certain " + missingPort},
		},
		{
			"the first pod has it not and is not ready: only the others count",
			documents(slice, fresh, old, webPod("a", "web", other, "starting"), webPod("b", "old", http, "ready")), nil,
		},
		{
			"pods of an older revision have it, and so the Service has endpoints for it",
			documents(slice, fresh, old, webPod("a", "web", other, "ready"), webPod("b", "old", http, "ready")), nil,
		},
		{
			"none of two revisions has it",
			documents(slice, fresh, old, webPod("a", "web", other, "ready"), webPod("b", "old", other, "ready")), []string{"Certain " + missingPort},
		},
		{
			"not all revisions are looked at",
			documents(
				slice, replicaSet("r1"), replicaSet("r2"), replicaSet("r3"), replicaSet("r4"), webPod("a", "r1", other, "ready"),
				webPod("b", "r2", other, "ready"), webPod("c", "r3", other, "ready"), webPod("d", "r4", http, "ready"),
			),
			[]string{"Likely " + missingPort},
		},
		{"a pod that has completed serves nothing", documents(slice, webPod("a", "web", other, "completed")), []string{
			"Certain NoEndpoints of Service/web: none of its 1 pods is ready",
		}},
		{"no slice was written", documents(fresh, webPod("a", "web", http, "ready")), []string{
			"Likely NoEndpoints of Service/web: no EndpointSlice was written for its ready pods: its controller does not run, or is behind",
		}},
		{"no pod is selected", `{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: api}}}`, []string{
			"Certain NoPodSelected of Service/web: app=web",
		}},
		{"what it selects has no pods", fresh, []string{
			"Certain NoEndpoints of Service/web: ReplicaSet/web, whose pods it selects, has none -> ReplicaSet/web",
		}},
	} {
		s := newServer(t, documents(service, node, row.objects))
		if diff := cmp.Diff(row.want, lines(s.situation("Service/web").Diagnose(at)), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

// TestIngresses: a backend is a port of a Service, by its name or its number.
func TestIngresses(t *testing.T) {
	const objects = `
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: ExternalName, externalName: web.example.com, ports: [{name: http, port: 80}]}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  defaultBackend: {service: {name: web, port: {%s}}}
  rules: [{host: web.example.com, http: {paths: [{path: /api, pathType: Prefix, backend: {service: {name: web, port: {%s}}}}]}}]
status: {loadBalancer: {ingress: [{ip: 10.0.0.1}]}}`
	for _, row := range []struct {
		reason, byDefault, path string
		want                    []string
	}{
		{"by name and number", "name: http", "number: 80", nil},
		{"another number", "name: http", "number: 8080", []string{"Certain PortMissing of Ingress/web, path web.example.com/api: 8080 -> Service/web"}},
		{"another name", "name: https", "number: 80", []string{"Certain PortMissing of Ingress/web, default backend: https -> Service/web"}},
		{"the same twice is one", "number: 81", "number: 81", []string{"Certain PortMissing of Ingress/web, default backend: 81 -> Service/web"}},
	} {
		s := newServer(t, fmt.Sprintf(objects, row.byDefault, row.path))
		if diff := cmp.Diff(row.want, lines(s.situation("Ingress/web").Diagnose(at)), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

// TestSelectorOfNoPod names the pod that matches best, and what is different.
func TestSelectorOfNoPod(t *testing.T) {
	s := newServer(t, `
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web, tier: front}, ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: api}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b, labels: {app: web}}}`)
	causes := s.situation("Service/web").Diagnose(at).Causes
	var texts []string
	for _, c := range causes {
		for _, e := range c.Evidence {
			texts = append(texts, e.Name+" "+e.Text)
		}
	}
	if !slices.Contains(texts, "Pod/b has tier=(not set)") {
		t.Errorf("%q", texts)
	}
}
