package plan

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// Kinds of the tables.
var (
	configMapType  = servedKind("", "ConfigMap", "configmaps", true)
	deploymentType = servedKind("apps", "Deployment", "deployments", true)
	widgetType     = servedKind("example.com", "Widget", "widgets", true)
	namespaceType  = servedKind("", "Namespace", "namespaces", false)
	volumeType     = servedKind("", "PersistentVolume", "persistentvolumes", false)
)

func servedKind(group, kind, resource string, namespaced bool) cluster.Kind {
	gvk := schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}
	return cluster.Kind{GroupVersionKind: gvk, Resource: resource, Namespaced: namespaced}
}

// objectOf is an object of YAML.
func objectOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	return manifests(t, text)[0].Object
}

// tried is a manifest as the cluster has answered it, which added fields to the metadata; it was not tried if they are
// empty.
func tried(t *testing.T, kind cluster.Kind, metadata, added string) *triedManifest {
	t.Helper()
	text := "{apiVersion: " + kind.GroupVersion().String() + ", kind: " + kind.Kind + ", metadata: {" + metadata
	out := &triedManifest{manifest: manifests(t, text+"}}")[0], known: true, kind: kind}
	if added != "" {
		out.after = objectOf(t, text+", "+added+"}}")
	}
	return out
}
