package nodes

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	volumehelpers "k8s.io/component-helpers/storage/volume"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/engine"
)

// withClaim adds a volume that is the claim's.
func withClaim(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}})
	}
}

// newStorageSandbox is a sandbox whose scheduler considers volumes; the test plays the volume binder and the
// provisioner.
func newStorageSandbox(t *testing.T, classes ...*storagev1.StorageClass) (*sandbox, *storage) {
	t.Helper()
	s := newSandbox(t, Options{Count: 3, Volumes: true})
	disks := &storage{Interface: s.Interface, t: t}
	for _, class := range classes {
		disks.class(class)
	}
	return s, disks
}

func delayed(c *storagev1.StorageClass) {
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	c.VolumeBindingMode = &mode
}

// disk makes a volume that is on that node only; on all if node is empty.
func (s *storage) disk(name, class, node string) *corev1.PersistentVolume {
	s.t.Helper()
	volume, err := volumeFor(claimOf(name, class), classOf(class))
	if err != nil {
		s.t.Fatal(err)
	}
	volume.Name, volume.Finalizers, volume.Spec.ClaimRef = name, nil, nil
	if node != "" {
		volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn,
				Values: []string{node}}},
		}}}}
	}
	volume, err = s.CoreV1().PersistentVolumes().Create(s.t.Context(), volume, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	volume.Status.Phase = corev1.VolumeAvailable
	if volume, err = s.CoreV1().PersistentVolumes().UpdateStatus(s.t.Context(), volume,
		metav1.UpdateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	return volume
}

// change changes the claim of that name until the API takes it.
func (s *storage) change(name string, change func(*corev1.PersistentVolumeClaim)) {
	s.t.Helper()
	claims := s.CoreV1().PersistentVolumeClaims("default")
	s.eventually("claim "+name+" to be changed", func() (bool, error) {
		claim, err := claims.Get(s.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		change(claim)
		_, err = claims.Update(s.t.Context(), claim, metav1.UpdateOptions{})
		return err == nil, nil
	})
}

// bind does what the volume binder does in the end.
func (s *storage) bind(claim, volume string) {
	s.t.Helper()
	s.change(claim, func(c *corev1.PersistentVolumeClaim) {
		c.Spec.VolumeName = volume
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, volumehelpers.AnnBindCompleted, "yes")
	})
}

// chosen waits until a node is chosen for the claim, and returns it.
func (s *storage) chosen(name string) string {
	s.t.Helper()
	node := ""
	s.eventually("a node to be chosen for claim "+name, func() (bool, error) {
		claim, err := s.CoreV1().PersistentVolumeClaims("default").Get(s.t.Context(), name, metav1.GetOptions{})
		if err == nil {
			node = claim.Annotations[volumehelpers.AnnSelectedNode]
		}
		return node != "", err
	})
	return node
}

// Ends of the scheduler's messages: without filtering nodes, and after it.
const (
	before = ". not found"
	after  = ". preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
)

// untilRefused waits until the scheduler says that of the pod.
func (s *sandbox) untilRefused(name, why string) {
	s.t.Helper()
	s.until(name, "refused for "+why, func(p *corev1.Pod) bool {
		message, ok := rejectionText(p, corev1.PodReasonUnschedulable)
		return ok && message == "0/3 nodes are available: "+why
	})
}

func TestPodWaitsForItsClaim(t *testing.T) {
	t.Parallel()
	s, disks := newStorageSandbox(t, classOf("fast"))
	s.create(podOf("web", withClaim("data")))
	s.untilRefused("web", `persistentvolumeclaim "data" not found`+before)
	disks.claim(claimOf("data", "fast"))
	s.untilRefused("web", "pod has unbound immediate PersistentVolumeClaims"+before)
	disks.disk("disk", "fast", "node-2")
	disks.bind("data", "disk")
	if pod := s.until("web", "ready", ready); pod.Spec.NodeName != "node-2" {
		t.Errorf("the pod is on %q, its volume on node-2", pod.Spec.NodeName)
	}
}

func TestVolumeIsOnNoNode(t *testing.T) {
	t.Parallel()
	s, disks := newStorageSandbox(t, classOf("fast"))
	disks.claim(claimOf("data", "fast"))
	disks.disk("disk", "fast", "node-9")
	disks.bind("data", "disk")
	s.create(podOf("web", withClaim("data")))
	s.untilRefused("web", "3 node(s) didn't match PersistentVolume's node affinity"+after)
}

func TestNoVolumeToBind(t *testing.T) {
	t.Parallel()
	s, disks := newStorageSandbox(t, classOf("manual", delayed,
		func(c *storagev1.StorageClass) { c.Provisioner = volumehelpers.NotSupportedProvisioner }))
	disks.claim(claimOf("data", "manual"))
	s.create(podOf("web", withClaim("data")))
	s.untilRefused("web", "3 node(s) didn't find available persistent volumes to bind"+after)
	disks.disk("disk", "manual", "node-3")
	disks.eventually("the volume to be meant for the claim", func() (bool, error) {
		volume, err := s.CoreV1().PersistentVolumes().Get(t.Context(), "disk", metav1.GetOptions{})
		return err == nil && volume.Spec.ClaimRef != nil && volume.Spec.ClaimRef.Name == "data", err
	})
	disks.bind("data", "disk")
	if pod := s.until("web", "ready", ready); pod.Spec.NodeName != "node-3" {
		t.Errorf("the pod is on %q, its volume on node-3", pod.Spec.NodeName)
	}
}

func TestNodeIsChosenForTheClaim(t *testing.T) {
	t.Parallel()
	s, disks := newStorageSandbox(t, classOf("slow", delayed))
	disks.claim(claimOf("data", "slow"))
	s.create(podOf("web", withClaim("data")))
	node := disks.chosen("data")
	if pod := s.get("web"); pod.Status.NominatedNodeName != node || scheduled(pod) {
		t.Errorf("while its claim waits the pod is nominated for %q, and on %q", pod.Status.NominatedNodeName,
			pod.Spec.NodeName)
	}
	disks.disk("disk", "slow", node)
	disks.bind("data", "disk")
	if pod := s.until("web", "ready", ready); pod.Spec.NodeName != node || pod.Status.NominatedNodeName != "" {
		t.Errorf("the pod is on %q and nominated for %q, its volume on %q", pod.Spec.NodeName, pod.Status.NominatedNodeName,
			node)
	}
}

func TestProvisionerWantsAnotherNode(t *testing.T) {
	t.Parallel()
	s, disks := newStorageSandbox(t, classOf("slow", delayed))
	disks.claim(claimOf("data", "slow"))
	s.create(podOf("web", withClaim("data")))
	disks.chosen("data")
	disks.change("data", func(c *corev1.PersistentVolumeClaim) { delete(c.Annotations, volumehelpers.AnnSelectedNode) })
	s.untilEvent("web", "FailedScheduling",
		`running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "data"`)
	disks.chosen("data")
}

func TestPodGoesWhileItsClaimWaits(t *testing.T) {
	t.Parallel()
	s, disks := newStorageSandbox(t, classOf("slow", delayed))
	disks.claim(claimOf("data", "slow"))
	s.create(podOf("web", withClaim("data"), requesting(corev1.ResourceCPU, "60")))
	first := disks.chosen("data")
	if err := s.CoreV1().Pods("default").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.untilGone("web")
	s.create(podOf("again", withClaim("data"), requesting(corev1.ResourceCPU, "60")))
	disks.disk("disk", "slow", first)
	disks.bind("data", "disk")
	if pod := s.until("again", "ready where the first pod's room was", ready); pod.Spec.NodeName != first {
		t.Errorf("the pod is on %q, its volume on %q", pod.Spec.NodeName, first)
	}
}

func TestEphemeralClaimIsWaitedFor(t *testing.T) {
	t.Parallel()
	s, _ := newStorageSandbox(t)
	s.create(podOf("web", func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{
			Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: claimOf("", "").Spec}},
		}}}
	}))
	s.untilRefused("web", `waiting for ephemeral volume controller to create the persistentvolumeclaim "web-scratch"`+before)
}

func TestWithoutVolumesClaimsDoNotCount(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, Options{Count: 1})
	s.create(podOf("web", withClaim("nowhere")))
	s.until("web", "ready", ready)
}

func TestTwoPodsDoNotGetOneVolume(t *testing.T) {
	t.Parallel()
	s, disks := newStorageSandbox(t, classOf("manual", delayed,
		func(c *storagev1.StorageClass) { c.Provisioner = volumehelpers.NotSupportedProvisioner }))
	for _, name := range []string{"a", "b"} {
		disks.claim(claimOf(name, "manual"))
		disks.disk("disk-"+name, "manual", "")
	}
	for _, name := range []string{"a", "b"} {
		s.create(podOf(name, withClaim(name)))
	}
	meant := map[string]string{}
	disks.eventually("each volume to be meant for a claim", func() (bool, error) {
		list, err := s.CoreV1().PersistentVolumes().List(t.Context(), metav1.ListOptions{})
		for _, v := range list.Items {
			if v.Spec.ClaimRef != nil {
				meant[v.Spec.ClaimRef.Name] = v.Name
			}
		}
		return len(meant) == 2, err
	})
	for claim, volume := range meant {
		disks.bind(claim, volume)
		s.until(claim, "ready", ready)
	}
}

// TestPodThatHasGoneIsForgotten: its deletion was seen before its claims had begun to be bound, and so nothing else
// tells.
func TestPodThatHasGoneIsForgotten(t *testing.T) {
	r := engine.Request{Namespace: "default", Name: "web"}
	for _, row := range []struct {
		reason string
		there  *corev1.Pod
	}{
		{"there is none of its name", nil},
		{"there is another of its name, which is scheduled",
			podOf("web", func(p *corev1.Pod) { p.UID, p.Spec.NodeName = "new", "node-1" })},
	} {
		pods := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
		if row.there != nil {
			row.there.Namespace = "default"
			if err := pods.Add(row.there); err != nil {
				t.Fatal(err)
			}
		}
		s := &scheduler{
			pods: corelisters.NewPodLister(pods), cache: newSchedulerCache(), waiting: map[engine.Request]schedulingAttempts{},
			volumes: &volumeBinder{
				plugin:   &volumebinding.VolumeBinding{Binder: volumebinding.NewFakeVolumeBinder(&volumebinding.FakeVolumeBinderConfig{})},
				bindings: map[engine.Request]*pendingBinding{r: {pod: podOf("web", func(p *corev1.Pod) { p.UID = "old" })}},
			},
		}
		if _, err := s.Reconcile(t.Context(), r); err != nil {
			t.Errorf("%s: %v", row.reason, err)
		}
		if s.volumes.get(r) != nil {
			t.Errorf("%s: it still waits for its claims", row.reason)
		}
	}
}

func TestUses(t *testing.T) {
	pod := podOf("web", withClaim("data"))
	for claim, want := range map[string]bool{"data": true, "other": false} {
		if uses(pod, claim) != want {
			t.Errorf("it uses %q: want %v", claim, want)
		}
	}
	v := &volumeBinder{bindings: map[engine.Request]*pendingBinding{{Namespace: "default", Name: "web"}: {pod: pod}}}
	for _, row := range []struct {
		namespace, claim string
		want             int
		reason           string
	}{
		{"default", "data", 1, "it waits for the claim"},
		{"default", "other", 0, "it does not wait for another"},
		{"elsewhere", "data", 0, "nor for one of that name elsewhere"},
		{"", "", 1, "a volume may concern all"},
	} {
		if got := len(v.podsUsing(row.namespace, row.claim)); got != row.want {
			t.Errorf("%s/%s: %d pods, want %d: %s", row.namespace, row.claim, got, row.want, row.reason)
		}
	}
}
