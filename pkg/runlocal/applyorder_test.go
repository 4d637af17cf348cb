package runlocal

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

func TestInStages(t *testing.T) {
	for _, tt := range []struct {
		reason string
		given  []string
		want   []string
	}{
		{
			"what others need comes first",
			[]string{
				"{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: hook}}",
				"{apiVersion: v1, kind: Pod, metadata: {name: pod}}",
				"{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: binding}}",
				"{apiVersion: v1, kind: Secret, metadata: {name: token}}",
				"{apiVersion: v1, kind: PersistentVolume, metadata: {name: volume}}",
				"{apiVersion: v1, kind: ServiceAccount, metadata: {name: account}}",
				"{apiVersion: v1, kind: ResourceQuota, metadata: {name: quota}}",
				"{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: priority}}",
				"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: definition}}",
				"{apiVersion: v1, kind: Namespace, metadata: {name: namespace}}",
			},
			[]string{"namespace", "definition", "quota", "priority", "account", "token", "volume", "binding", "hook",
				"pod"},
		},
		{
			"the order given is kept within a stage",
			[]string{
				"{apiVersion: v1, kind: Service, metadata: {name: b}}",
				"{apiVersion: v1, kind: Pod, metadata: {name: a}}",
				"{apiVersion: v1, kind: Secret, metadata: {name: d}}",
				"{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}",
			},
			[]string{"d", "c", "b", "a"},
		},
		{
			"a policy needs its parameters, of whatever kind they are",
			[]string{
				"{apiVersion: example.com/v1, kind: Other, metadata: {name: other}}",
				"{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: policy}, " +
					"spec: {paramKind: {apiVersion: example.com/v1, kind: Limit}}}",
				"{apiVersion: example.com/v2, kind: Limit, metadata: {name: parameters}}",
			},
			[]string{"parameters", "policy", "other"},
		},
		{
			"kinds of other groups are not meant",
			[]string{"{apiVersion: v1, kind: Pod, metadata: {name: pod}}",
				"{apiVersion: example.com/v1, kind: Namespace, metadata: {name: theirs}}"},
			[]string{"pod", "theirs"},
		},
	} {
		var got []string
		for _, objects := range groupByStage(manifests(t, tt.given...)) {
			for _, m := range objects {
				got = append(got, m.Object.GetName())
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

// TestAdmissionKnowsWhatComesFirst: a pod whose class, account or runtime admission does not know is refused, and not
// tried again.
func TestAdmissionKnowsWhatComesFirst(t *testing.T) {
	s := start(t, Options{})
	applied, err := s.Apply(within(t), "default", manifests(t,
		"{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {priorityClassName: high, serviceAccountName: builder, "+
			"runtimeClassName: fast, containers: [{name: c, image: i}]}}",
		"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}",
		"{apiVersion: v1, kind: ServiceAccount, metadata: {name: builder}}",
		"{apiVersion: v1, kind: LimitRange, metadata: {name: l}, spec: {limits: [{type: Container, defaultRequest: {cpu: 100m}}]}}",
		"{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: fast}, handler: runc}",
		"{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}",
		"{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: usual, annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}, provisioner: p}",
	))
	if err != nil || len(applied) != 7 {
		t.Fatalf("applied %v: %v", applied, err)
	}
	client := kubernetes.NewForConfigOrDie(s.Config()).CoreV1()
	pod, err := client.Pods("default").Get(t.Context(), "p", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if *pod.Spec.Priority != 1000 || pod.Spec.Containers[0].Resources.Requests.Cpu().MilliValue() != 100 {
		t.Errorf("the pod has priority %d and requests %v", *pod.Spec.Priority,
			pod.Spec.Containers[0].Resources.Requests)
	}
	claim, err := client.PersistentVolumeClaims("default").Get(t.Context(), "c", metav1.GetOptions{})
	if err != nil || claim.Spec.StorageClassName == nil || *claim.Spec.StorageClassName != "usual" {
		t.Errorf("the claim has not the default class: %+v, %v", claim.Spec, err)
	}
}

// TestClaimsFindVolumesThatFollow: the binder looks at a claim for which it found no volume again 15 s later.
func TestClaimsFindVolumesThatFollow(t *testing.T) {
	s := start(t, Options{}, "persistentvolume-binder")
	if _, err := s.Apply(within(t), "default", manifests(t,
		"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {storageClassName: '', accessModes: [ReadWriteOnce], "+
			"resources: {requests: {storage: 1Gi}}}}",
		"{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, "+
			"hostPath: {path: /nowhere}}}",
	)); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitSettled(within(t)); err != nil {
		t.Fatal(err)
	}
	claim, err := kubernetes.NewForConfigOrDie(s.Config()).CoreV1().PersistentVolumeClaims("default").Get(t.Context(),
		"c", metav1.GetOptions{})
	if err != nil || claim.Status.Phase != corev1.ClaimBound {
		t.Errorf("when all is settled the claim is %s, %v", claim.Status.Phase, err)
	}
}

const twoPods = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: two}, spec: {hard: {pods: '2'}}}"

func TestUnenforcedQuotas(t *testing.T) {
	for _, tt := range []struct {
		reason      string
		controllers []string
		want        []string
	}{
		{"nothing sets the status", []string{"deployment"}, []string{"resourcequota/two"}},
		{"its controller does", []string{"resourcequota"}, nil},
	} {
		s := start(t, Options{}, tt.controllers...)
		applied, err := s.Apply(within(t), "default", manifests(t, twoPods,
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, quota := range s.Unenforced(applied) {
			got = append(got, quota.String())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

// interrupted is a client whose first use ends what it is used for.
type interrupted struct {
	dynamic.Interface
	interrupt context.CancelFunc
}

func (i interrupted) Resource(r schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	i.interrupt()
	return i.Interface.Resource(r)
}

// TestUncountedQuota wants nothing applied that a quota counts which is not in force.
func TestUncountedQuota(t *testing.T) {
	s := start(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.countsQuotas, s.reader = true, interrupted{s.reader, cancel} // which is used to look at the quota's status
	applied, err := s.Apply(ctx, "default", manifests(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}",
		twoPods))
	uncounted, ok := errors.AsType[*UncountedQuotaError](err)
	if !ok || uncounted.Quota.String() != "resourcequota/two" || !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if len(applied) != 1 {
		t.Errorf("applied %v, want the quota alone", applied)
	}
}
