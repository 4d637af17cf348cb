package diagnosis

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVolumesElsewhere: of several volumes that are attached to another node, the causes are the same every time.
func TestVolumesElsewhere(t *testing.T) {
	volumes, objects := "", []string{
		`{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {conditions: [{type: Ready, status: "True"}]}}`,
		`{apiVersion: v1, kind: Event, metadata: {name: failed}, type: Warning, reason: FailedAttachVolume, message: Multi-Attach error,
		involvedObject: {apiVersion: v1, kind: Pod, namespace: shop, name: db, uid: Pod/db}, count: 1, lastTimestamp: "2026-01-01T11:59:00Z"}`,
	}
	for i := range 4 {
		volumes += fmt.Sprintf("{name: v%d, persistentVolumeClaim: {claimName: c%d}},", i, i)
		objects = append(objects, fmt.Sprintf(`
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c%[1]d}, spec: {volumeName: pv%[1]d}, status: {phase: Bound}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv%[1]d}, spec: {claimRef: {namespace: shop, name: c%[1]d}}, status: {phase: Bound}}
---
{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: a%[1]d}, spec: {attacher: disks, nodeName: node-2, source: {persistentVolumeName: pv%[1]d}},
  status: {attached: true}}`, i))
	}
	objects = append(objects, `
{apiVersion: v1, kind: Pod, metadata: {name: db}, spec: {nodeName: node-1, volumes: [`+volumes+`], containers: [{name: db, image: "db:1"}]},
  status: {phase: Pending, conditions: [{type: PodScheduled, status: "True"}], containerStatuses: [{name: db, restartCount: 0, state: {waiting: {reason: ContainerCreating}}}]}}`)
	s := newServer(t, documents(objects...))
	first := lines(s.situation("Pod/db").Diagnose(at))
	if !slices.Contains(first, "Certain VolumeNotAttached of Pod/db: Multi-Attach error -> VolumeAttachment/a0") || len(first) != 4 {
		t.Errorf("%q", first)
	}
	for range 10 {
		if diff := cmp.Diff(first, lines(s.situation("Pod/db").Diagnose(at))); diff != "" {
			t.Fatalf("another time (-first +now):\n%s", diff)
		}
	}
}
