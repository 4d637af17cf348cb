package why

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestCorpusBesideOthers plays every situation again beside what is of no concern to it: the first cause stays, and
// what is healthy has none.
func TestCorpusBesideOthers(t *testing.T) {
	if *alone+*acting != "" {
		t.Skip("it shows nothing about a real control plane")
	}
	playCorpus(t, true)
}

// addOthers adds what is of no concern to the situation: a broken app and one that is well, and Jobs that have ended.
func (p *player) addOthers(ctx context.Context, t *testing.T) {
	t.Helper()
	file := "testdata/others-alone.yaml"
	if p.stage.controllers {
		file = "testdata/others-acting.yaml"
	}
	isQuota := func(document map[string]any) bool { return document["kind"] == "ResourceQuota" }
	if slices.ContainsFunc(p.documents, isQuota) { // the others would be counted, too
		return
	}
	for _, document := range readDocuments(t, file, nil) {
		p.create(ctx, t, document)
	}
}

// addPast adds what is of the past: a Warning of yesterday about the object asked for and, where nothing acts on them, a
// pod of each owner of pods that was evicted.
func (p *player) addPast(ctx context.Context, t *testing.T) {
	t.Helper()
	resource, name := p.resource(t, p.expand(p.Ask))
	if asked, err := resource.Get(ctx, name, metav1.GetOptions{}); err == nil { // a controller may yet create it
		namespace := asked.GetNamespace()
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		p.create(ctx, t, map[string]any{
			"apiVersion": "v1", "kind": "Event", "metadata": map[string]any{"name": "old-" + p.name, "namespace": namespace},
			"involvedObject": map[string]any{
				"apiVersion": asked.GetAPIVersion(), "kind": asked.GetKind(), "namespace": asked.GetNamespace(), "name": name,
				"uid": string(asked.GetUID()),
			},
			"type": "Warning", "reason": "SyncFailed", "message": `secret "of-yesterday" not found`, "count": int64(3),
			"firstTimestamp": "ago:27h", "lastTimestamp": "ago:26h", "source": map[string]any{"component": "somebody"},
		})
	}
	refuses := func(document map[string]any) bool {
		kind := fmt.Sprint(document["kind"])
		return kind == "ResourceQuota" || strings.HasSuffix(kind, "WebhookConfiguration")
	}
	if p.stage.controllers || slices.ContainsFunc(p.documents, refuses) {
		return
	}
	for _, document := range p.documents {
		switch document["kind"] {
		case "ReplicaSet", "StatefulSet", "DaemonSet":
			p.create(ctx, t, p.evicted(document))
		}
	}
}

// evicted is a pod of an owner that was evicted long ago, on a node that is lost since.
func (p *player) evicted(owner map[string]any) map[string]any {
	name := owner["metadata"].(map[string]any)["name"].(string)
	kind := owner["kind"].(string)
	template, _ := owner["spec"].(map[string]any)["template"].(map[string]any)
	meta, _ := template["metadata"].(map[string]any)
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{
			"name": name + "-evicted", "labels": meta["labels"],
			"ownerReferences": []any{map[string]any{
				"apiVersion": owner["apiVersion"], "kind": kind, "name": name, "uid": fmt.Sprintf("uid-of:%s/%s", kind, name),
				"controller": true, "blockOwnerDeletion": true,
			}},
		},
		"spec": map[string]any{
			"automountServiceAccountToken": false, "nodeName": "node-lost-beside",
			"containers": []any{map[string]any{"name": "main", "image": "m:1"}},
		},
		"status": map[string]any{
			"phase": "Failed", "reason": "Evicted", "startTime": "ago:30h",
			"message": "The node was low on resource: memory.",
			"conditions": []any{
				map[string]any{"type": "PodScheduled", "status": "True", "lastTransitionTime": "ago:30h"},
				map[string]any{"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet", "message": "The node was low on resource: memory.", "lastTransitionTime": "ago:29h"},
			},
		},
	}
}
