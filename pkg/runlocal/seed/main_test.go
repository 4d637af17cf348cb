package seed

import (
	"context"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/klog/v2"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api/apitest"
)

var servers = apitest.NewPool(api.Options{DefaultServiceAccounts: true})

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	goleak.VerifyTestMain(apitest.Main{M: m, Pools: []*apitest.Pool{servers}})
}

// create creates the objects of YAML documents as an administrator, and writes their status.
func create(t *testing.T, config *rest.Config, documents string) {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	served, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(served))
	for text := range strings.SplitSeq(documents, "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
			t.Fatal(err)
		}
		gvk := u.GroupVersionKind()
		err := wait.PollUntilContextCancel(t.Context(), pollInterval, true, func(ctx context.Context) (bool, error) {
			mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
			if err != nil {
				mapper.Reset()
				return false, nil //nolint:nilerr // its definition is not served yet
			}
			resource := client.Resource(mapping.Resource).Namespace(u.GetNamespace())
			status := u.Object["status"]
			made, err := resource.Create(ctx, u, metav1.CreateOptions{})
			if err != nil || status == nil {
				return err == nil, err
			}
			made.Object["status"] = status
			_, err = resource.UpdateStatus(ctx, made, metav1.UpdateOptions{})
			return err == nil, err
		})
		if err != nil {
			t.Fatalf("creating %s %q: %v", u.GetKind(), u.GetName(), err)
		}
	}
}

// read reads a copy as the user of config.
func read(t *testing.T, config *rest.Config, o Options) (*Copy, error) {
	t.Helper()
	kinds, err := cluster.Discover(t.Context(), config)
	for apierrors.IsForbidden(err) { // until the role that lets all users discover is in force
		kinds, err = cluster.Discover(t.Context(), config)
	}
	if err != nil {
		t.Fatal(err)
	}
	reader, err := cluster.NewReader(config)
	if err != nil {
		t.Fatal(err)
	}
	o.Kinds, o.Reader = kinds, reader
	return Read(t.Context(), o)
}

func mustRead(t *testing.T, config *rest.Config, o Options) *Copy {
	t.Helper()
	c, err := read(t, config, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
