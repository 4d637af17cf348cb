package diagnosis

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// refusedPods is a ReplicaSet whose pods are refused with a message.
func refusedPods(message string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web, generation: 1}
spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}
status: {observedGeneration: 1, replicas: 0, conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate, message: '%s'}]}`, message)
}

// TestWebhooks: of the webhook that a cause names, it is said whether what it calls can answer.
func TestWebhooks(t *testing.T) {
	const (
		unreachable = `failed calling webhook "pods.example.com": failed to call webhook: Post "https://hook.hooks.svc:443/": connection refused`
		denied      = `admission webhook "pods.example.com" denied the request: exceeded quota: team limit`
		webhooks    = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: pods}
webhooks: [{name: pods.example.com, clientConfig: {service: {namespace: hooks, name: hook}}}]`
		service = `{apiVersion: v1, kind: Service, metadata: {name: hook, namespace: hooks}, spec: {ports: [{port: 443}]}}`
		slice   = `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: hook, namespace: hooks, labels: {kubernetes.io/service-name: hook}},
  addressType: IPv4, endpoints: [{addresses: [10.0.0.1], conditions: {ready: %t}}]}`
	)
	for _, row := range []struct {
		reason, objects, refuse, want, evidence string
		unread                                  []string
	}{
		{
			"the Service does not exist", documents(refusedPods(unreachable), webhooks), "",
			"Certain WebhookUnreachable of ReplicaSet/web, webhook pods.example.com: Service/hook of namespace hooks does not exist -> Service/hook",
			"Service/hook does not exist", nil,
		},
		{
			"it has no endpoints", documents(refusedPods(unreachable), webhooks, service), "",
			"Certain WebhookUnreachable of ReplicaSet/web, webhook pods.example.com: Service/hook of namespace hooks has no endpoints -> Service/hook",
			"Service/hook has no endpoints", nil,
		},
		{
			"none is ready", documents(refusedPods(unreachable), webhooks, service, fmt.Sprintf(slice, false)), "",
			"Certain WebhookUnreachable of ReplicaSet/web, webhook pods.example.com: Service/hook of namespace hooks has no ready endpoint, of 1 -> Service/hook",
			"Service/hook has no ready endpoint, of 1", nil,
		},
		{
			"it should answer", documents(refusedPods(unreachable), webhooks, service, fmt.Sprintf(slice, true)), "",
			`Certain WebhookUnreachable of ReplicaSet/web, webhook pods.example.com: Post "https://hook.hooks.svc:443/": connection refused` +
				` -> ValidatingWebhookConfiguration/pods`,
			"Service/hook 1 of its 1 endpoints are ready", nil,
		},
		{
			"it denies, in words of a quota", documents(refusedPods(denied), webhooks, service), "",
			"Certain AdmissionDenied of ReplicaSet/web, webhook pods.example.com: exceeded quota: team limit -> ValidatingWebhookConfiguration/pods",
			"ValidatingWebhookConfiguration/pods calls Service/hook of namespace hooks; its failures are not ignored", nil,
		},
		{
			"the configurations may not be read", documents(refusedPods(unreachable), webhooks), "validatingwebhookconfigurations",
			`Certain WebhookUnreachable of ReplicaSet/web, webhook pods.example.com: Post "https://hook.hooks.svc:443/": connection refused`,
			"ReplicaFailure True FailedCreate: " + unreachable, []string{"validatingwebhookconfigurations Forbidden"},
		},
	} {
		s := newServer(t, row.objects)
		s.refuses[row.refuse] = http.StatusForbidden
		read := s.situation("ReplicaSet/web")
		listening := httptest.NewServer(s)
		reader, err := cluster.NewReader(&rest.Config{Host: listening.URL, QPS: -1})
		if err != nil {
			t.Fatal(err)
		}
		if err := read.ReadRefusers(t.Context(), reader, at); err != nil {
			t.Fatal(err)
		}
		listening.Close()
		d := read.Diagnose(at)
		if got := lines(d); len(got) == 0 || got[0] != row.want {
			t.Errorf("%s: %q", row.reason, got)
			continue
		}
		var evidence []string
		for _, e := range d.Causes[0].Evidence {
			evidence = append(evidence, e.Name+" "+e.Text)
		}
		if !strings.Contains(strings.Join(evidence, "\n"), row.evidence) {
			t.Errorf("%s: evidence %q", row.reason, evidence)
		}
		if diff := cmp.Diff(row.unread, unread(read), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: not read (-want +got):\n%s", row.reason, diff)
		}
	}
}
