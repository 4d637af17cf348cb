package plan

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAsSent: what a server would not accept is left out, and nothing else.
func TestAsSent(t *testing.T) {
	for _, row := range []struct{ reason, object, want string }{
		{
			"a pod, with what the API, the scheduler and the kubelet add",
			`{apiVersion: v1, kind: Pod, metadata: {name: "once-<1>", generateName: once-, uid: <uid of pod once-<1>>, ` +
				`creationTimestamp: <now>, labels: {app: a, controller-uid: <uid of job once>}}, status: {phase: Running}, ` +
				`spec: {nodeName: n, volumes: [{name: data}, {name: "kube-api-access-<>"}], containers: [{name: c, ` +
				`volumeMounts: [{name: "kube-api-access-<>"}]}]}}`,
			`{apiVersion: v1, kind: Pod, metadata: {generateName: once-, labels: {app: a}}, ` +
				`spec: {volumes: [{name: data}], containers: [{name: c}]}}`,
		},
		{
			"a Job whose selector the API makes",
			`{apiVersion: batch/v1, kind: Job, metadata: {name: once, generation: 1}, spec: {selector: {matchLabels: ` +
				`{controller-uid: <uid of job once>}}, template: {metadata: {labels: {controller-uid: <uid of job once>, a: b}}}}}`,
			`{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {selector: {matchLabels: {}}, ` +
				`template: {metadata: {labels: {a: b}}}}}`,
		},
		{
			"a Job with its own selector",
			`{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {manualSelector: true, selector: {matchLabels: {a: b}}}}`,
			`{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {manualSelector: true, selector: {matchLabels: {a: b}}}}`,
		},
		{
			"a claim that is bound",
			`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-db-0}, spec: {volumeName: <volume>, storageClassName: fast}}`,
			`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-db-0}, spec: {storageClassName: fast}}`,
		},
	} {
		if diff := cmp.Diff(objectOf(t, row.want).Object, asSent(objectOf(t, row.object)).Object); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

// TestJudgeCreated: only what admission answers is a refusal, and what is not known is kept.
func TestJudgeCreated(t *testing.T) {
	var all []createdObject
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		all = append(all, createdObject{"job", ObjectID{Kind: "Pod", Namespace: "shop", Name: name}, nil})
	}
	p := &Plan{}
	p.judgeCreated(all, []error{
		nil,
		errors.New(`admission webhook "w" denied the request: no`),
		errors.New(`Internal error occurred: failed calling webhook "w": failed to call webhook: EOF`),
		errors.New(`pods is forbidden: User "u" cannot create resource "pods"`),
		errors.New(`admission webhook "w" does not support dry run`),
	})
	names := func(of []Refusal) (out []string) {
		for _, r := range of {
			out = append(out, r.Controller+" "+r.Object.Name+" "+r.Message)
		}
		return out
	}
	want := [][]string{
		{`job b admission webhook "w" denied the request: no`,
			`job c Internal error occurred: failed calling webhook "w": failed to call webhook: EOF`},
		{`job d pods is forbidden: User "u" cannot create resource "pods"`, `job e admission webhook "w" does not support dry run`},
	}
	if diff := cmp.Diff(want, [][]string{names(p.Refused), names(p.Untried)}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
