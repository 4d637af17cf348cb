package controllers

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// shardSession is bareSession for controllers that have to do with these namespaces only; "" is none.
func shardSession(t *testing.T, namespaces ...string) *session {
	t.Helper()
	keep := func(namespace string) bool { return slices.Contains(namespaces, namespace) }
	return recordedSessionOn(t, tap.Options{InScope: keep}, bareServers.Server)
}

// TestKeysThatAreNamespaces: the namespaces of the shard are worked on, and no others.
func TestKeysThatAreNamespaces(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		controller, write string
	}{
		{"serviceaccount", "create serviceaccounts by shop because ADDED Namespace shop seen by namespaceAdded"},
		{"root-ca-cert-publisher", "create configmaps by shop because ADDED Namespace shop seen by namespaceAdded"},
	} {
		t.Run(row.controller, func(t *testing.T) {
			t.Parallel()
			s := shardSession(t, "shop")
			s.run(t, 1, row.controller)
			s.namespace(t, "blog")
			s.namespace(t, "shop")
			s.expect(t, row.controller, row.write)
			if diff := cmp.Diff([]string{row.write}, s.writesWithCauses(row.controller)); diff != "" {
				t.Errorf("the shard and nothing else (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNamespacesOfTheShardAreEmptied checks what is queued: the controller waits five seconds before it begins.
func TestNamespacesOfTheShardAreEmptied(t *testing.T) {
	t.Parallel()
	s := shardSession(t, "shop")
	s.run(t, 1, "namespace")
	for _, name := range []string{"blog", "shop"} {
		s.namespace(t, name)
		must(t, s.client.CoreV1().Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
	var keys []string
	eventually(t, "a namespace to be queued", func() bool {
		for _, c := range s.tap.State().Controllers {
			for _, q := range c.Queues {
				for _, d := range q.Delayed {
					keys = append(keys, d.Key)
				}
			}
		}
		return len(keys) > 0
	})
	if diff := cmp.Diff([]string{"shop"}, keys); diff != "" {
		t.Errorf("queued (-want +got):\n%s", diff)
	}
}

// TestNodesMakeWorkInEveryShard: a shard does what a node causes in its namespaces.
func TestNodesMakeWorkInEveryShard(t *testing.T) {
	t.Parallel()
	s := shardSession(t, "default")
	s.run(t, 0, "daemonset", "endpointslice")
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}, Template: template("agent"),
		},
	}
	mustValue[*appsv1.DaemonSet](t)(s.client.AppsV1().DaemonSets("default").Create(t.Context(), set,
		metav1.CreateOptions{}))
	eventually(t, "a reconcile of the set without nodes", func() bool {
		return slices.ContainsFunc(s.writesWithCauses("daemonset"),
			func(d string) bool { return strings.HasPrefix(d, "update daemonsets/status") })
	})
	s.node(t, "node-1")
	eventually(t, "a pod for the node", func() bool {
		pods, err := s.client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		return err == nil && len(pods.Items) == 1
	})
	eventually(t, "endpointslice to learn of the node",
		func() bool { return s.tookKeyOf("endpointslice", "topologyQueue") })
}

// tookKeyOf reports whether a key of that queue was taken.
func (s *session) tookKeyOf(controller, queue string) bool {
	return slices.ContainsFunc(s.log.list(), func(e *trace.Event) bool {
		start, ok := e.Detail.(*trace.Start)
		return ok && e.Controller == controller && start.Queue == queue
	})
}

// TestClaimsOfTheShard: the keys of resourceclaim say what sort they are of before they name a namespace.
func TestClaimsOfTheShard(t *testing.T) {
	t.Parallel()
	s := shardSession(t, "default")
	s.run(t, 0, "resourceclaim-controller")
	s.podWithClaim(t)
	eventually(t, "the pod to know its claim", func() bool {
		got, err := s.client.CoreV1().Pods("default").Get(t.Context(), "train", metav1.GetOptions{})
		return err == nil && len(got.Status.ResourceClaimStatuses) == 1
	})
}

// TestTrustBundleIsInNoNamespace, though its signer has a name with a slash.
func TestTrustBundleIsInNoNamespace(t *testing.T) {
	t.Parallel()
	const name = "kube-apiserver-serving-clustertrustbundle-publisher"
	s := shardSession(t, "")
	s.run(t, 0, name)
	s.expect(t, name, "create clustertrustbundles by kubernetes.io:kube-apiserver-serving because of ")
}

// TestClusterScopedControllersSeeAll: who has what is in no namespace runs them, for all namespaces.
func TestClusterScopedControllersSeeAll(t *testing.T) {
	t.Parallel()
	s := shardSession(t, "")
	chosen := []Controller{volumeBinder()}
	chosen[0].build = buildVolumeBinder(100 * time.Millisecond)
	t.Cleanup(s.startThese(t, 0, chosen...))
	s.volume(t, "disk", "1Gi")
	s.claim(t, "data", "")
	s.claimIs(t, "data", "bound",
		func(c *corev1.PersistentVolumeClaim) bool { return c.Status.Phase == corev1.ClaimBound })
	unprotected := []byte(`{"metadata":{"finalizers":null}}`) // the controller that does it is in another shard
	mustValue[*corev1.PersistentVolumeClaim](t)(s.client.CoreV1().PersistentVolumeClaims("default").Patch(
		t.Context(), "data", types.MergePatchType, unprotected, metav1.PatchOptions{}))
	s.deleteClaim(t, "data")
	eventually(t, "the volume to be released", func() bool {
		v, err := s.client.CoreV1().PersistentVolumes().Get(t.Context(), "disk", metav1.GetOptions{})
		return err == nil && v.Status.Phase == corev1.VolumeReleased
	})
}

// TestClusterScopedWork: each of these works on more than the namespace of a key, or without a key.
func TestClusterScopedWork(t *testing.T) {
	var got []string
	for _, c := range All() {
		if c.ClusterScopedWork {
			got = append(got, c.Short)
		}
	}
	want := []string{
		"bootstrapsigner",                      // signs in kube-public what secrets in kube-system say
		"csrcleaner",                           // a timer
		"legacy-service-account-token-cleaner", // a timer
		"persistentvolume-binder",              // matches volumes, which are in none, and all claims
		"podcertificaterequest-cleaner",        // a timer
		"podgc",                                // a timer
		"volumeattributesclass-protection",     // lets a class go when the last claim does
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
