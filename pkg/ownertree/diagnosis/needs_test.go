package diagnosis

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const readyNode = `{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {conditions: [{type: Ready, status: "True"}]}}`

// waitingPod is a pod that mounts a Secret and whose container is in a state.
func waitingPod(phase, state string) string {
	runs := phase == "Running"
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {nodeName: node-1, volumes: [{name: tls, secret: {secretName: tls}}], containers: [{name: web, image: "nginx:1"}]}
status: {phase: %s, conditions: [{type: PodScheduled, status: "True"}, {type: Ready, status: "%s"}],
  containerStatuses: [{name: web, restartCount: 0, ready: %t, started: %t, state: %s}]}`, phase, map[bool]string{true: "True", false: "False"}[runs], runs, runs, state)
}

// TestNeeds: what an object needs and does not exist, or is not well, is a cause as long as it matters.
func TestNeeds(t *testing.T) {
	const creating = "{waiting: {reason: ContainerCreating}}"
	for _, row := range []struct {
		reason, objects string
		refuse          string
		want, unread    []string
	}{
		{
			"a Secret that does not exist", documents(waitingPod("Pending", creating), readyNode), "",
			[]string{"Certain MissingObject of Pod/web: mounts -> Secret/tls"}, nil,
		},
		{
			"it exists", documents(waitingPod("Pending", creating), readyNode, "{apiVersion: v1, kind: Secret, metadata: {name: tls}}"), "",
			[]string{"Possible PodStarting of Pod/web: starting its containers"}, nil,
		},
		{
			"it may not be read", documents(waitingPod("Pending", creating), readyNode), "secrets",
			[]string{"Possible PodStarting of Pod/web: starting its containers"}, []string{"secrets Forbidden"},
		},
		{
			"it was needed until the container started", documents(waitingPod("Running", "{running: {}}"), readyNode), "", nil, nil,
		},
		{
			"its node does not answer",
			documents(waitingPod("Pending", creating), "{apiVersion: v1, kind: Secret, metadata: {name: tls}}", strings.Replace(readyNode, "True", "Unknown", 1)), "",
			[]string{"Certain NodeNotReady of Node/node-1: NotReady"}, nil,
		},
		{
			"it loses its owner", `
{apiVersion: v1, kind: Pod, metadata: {name: web, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: gone, uid: x, controller: true}]},
  spec: {nodeName: node-1, containers: [{name: web}]}, status: {phase: Running, conditions: [{type: Ready, status: "True"}],
  containerStatuses: [{name: web, ready: true, started: true, restartCount: 0, state: {running: {}}}]}}
---
` + readyNode, "",
			[]string{"Certain DanglingOwner of Pod/web: its owner ReplicaSet gone does not exist -> ReplicaSet/gone"}, nil,
		},
	} {
		s := newServer(t, row.objects)
		s.refuses[row.refuse] = http.StatusForbidden
		read := s.situation("Pod/web")
		if diff := cmp.Diff(row.want, lines(read.Diagnose(at)), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
		for _, want := range row.unread {
			if !slices.Contains(unread(read), want) {
				t.Errorf("%s: not read: %q", row.reason, unread(read))
			}
		}
	}
}

// TestDiagnoseConcurrently: a Situation that nobody changes may be diagnosed by several at a time, with the same result.
func TestDiagnoseConcurrently(t *testing.T) {
	s := newServer(t, documents(waitingPod("Pending", "{waiting: {reason: ContainerCreating}}"), readyNode)).situation("Pod/web")
	results := make([][]string, 8)
	var running sync.WaitGroup
	for i := range results {
		running.Go(func() { results[i] = lines(s.Diagnose(at)) })
	}
	running.Wait()
	for i, got := range results {
		if diff := cmp.Diff(results[0], got); diff != "" {
			t.Errorf("%d (-first +it):\n%s", i, diff)
		}
	}
}
