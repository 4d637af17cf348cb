package controllers

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func storageOf(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
}

// volume makes a volume at a path that no machine has, without a class, unless change says otherwise.
func (s *session) volume(
	t *testing.T, name, size string, change ...func(*corev1.PersistentVolumeSpec),
) *corev1.PersistentVolume {
	t.Helper()
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Capacity: storageOf(size),
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere/" +
				name}},
		},
	}
	for _, f := range change {
		f(&v.Spec)
	}
	v, err := s.client.CoreV1().PersistentVolumes().Create(t.Context(), v, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// claim makes a claim for a Gi.
func (s *session) claim(t *testing.T, name, class string) *corev1.PersistentVolumeClaim {
	t.Helper()
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: storageOf("1Gi")},
		},
	}
	c, err := s.client.CoreV1().PersistentVolumeClaims("default").Create(t.Context(), c, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *session) class(t *testing.T, name string, expandable bool) {
	t.Helper()
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "example.com/disk",
		AllowVolumeExpansion: &expandable}
	if _, err := s.client.StorageV1().StorageClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// claimIs waits until the claim is as it should be.
func (s *session) claimIs(t *testing.T, name, what string, is func(*corev1.PersistentVolumeClaim) bool) {
	t.Helper()
	eventually(t, "claim "+name+" to be "+what, func() bool {
		c, err := s.client.CoreV1().PersistentVolumeClaims("default").Get(t.Context(), name, metav1.GetOptions{})
		return err == nil && is(c)
	})
}

func (s *session) deleteClaim(t *testing.T, name string) {
	t.Helper()
	if err := s.client.CoreV1().PersistentVolumeClaims("default").Delete(t.Context(), name,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestBinderBindsTheSmallestVolumeThatFits(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.run(t, 0, "persistentvolume-binder")
	s.volume(t, "large", "10Gi")
	s.volume(t, "fitting", "2Gi")
	s.volume(t, "small", "500Mi")
	eventually(t, "the volumes to be available",
		func() bool { return len(s.activity("persistentvolume-binder").Writes) == 3 })
	s.claim(t, "data", "")
	s.claimIs(t, "data", "bound", func(c *corev1.PersistentVolumeClaim) bool {
		return c.Status.Phase == corev1.ClaimBound && c.Spec.VolumeName == "fitting"
	})
	s.expectActivity(t, "persistentvolume-binder", activity{
		Causes: []string{
			"ADDED PersistentVolume fitting seen by enqueueWork",
			"ADDED PersistentVolumeClaim data seen by enqueueWork",
		},
		Writes: []string{
			"update persistentvolumeclaims by default/data", "update persistentvolumeclaims/status by default/data",
			"update persistentvolumes by default/data",
			"update persistentvolumes/status by default/data",
			"update persistentvolumes/status by fitting", "update persistentvolumes/status by large",
			"update persistentvolumes/status by small",
		},
	})
}

func TestBinderLooksAgainAtItsPeriod(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	row := volumeBinder()
	row.build = buildVolumeBinder(50 * time.Millisecond)
	t.Cleanup(s.startThese(t, 0, row))
	s.claim(t, "data", "")
	s.claimIs(t, "data", "without a volume",
		func(c *corev1.PersistentVolumeClaim) bool { return c.Status.Phase == corev1.ClaimPending })
	s.volume(t, "late", "1Gi")
	s.claimIs(t, "data", "bound", func(c *corev1.PersistentVolumeClaim) bool { return c.Spec.VolumeName == "late" })
}

// TestBinderRequestsProvisioning needs that what the binder does on another goroutine belongs to the reconcile that
// started it.
func TestBinderRequestsProvisioning(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.class(t, "fast", false)
	s.run(t, 0, "persistentvolume-binder")
	const claims = 20
	for n := range claims {
		s.claim(t, fmt.Sprintf("data-%d", n), "fast")
	}
	eventually(t, "the claims to be the provisioner's, and nothing to be left", func() bool {
		return len(s.requests("update", "persistentvolumeclaims")) == claims && s.tap.State().Idle()
	})
	for _, e := range s.requests("update", "persistentvolumeclaims") {
		if name := e.Detail.(*trace.Request).Name; e.Reconcile == 0 || e.Key != "default/"+name {
			t.Errorf("claim %s was written by reconcile %d of %q", name, e.Reconcile, e.Key)
		}
	}
	ended := map[trace.ReconcileID]bool{}
	for _, e := range s.log.list() {
		switch d := e.Detail.(type) {
		case *trace.End:
			ended[e.Reconcile] = true
		case *trace.Request:
			if d.IsWrite() && d.Recorded == nil && ended[e.Reconcile] {
				t.Errorf("reconcile %d wrote after its end", e.Reconcile)
			}
		}
	}
}

func TestBinderLeavesThisMachineAlone(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "binder")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	file := filepath.Join(dir, "precious")
	if err := os.WriteFile(file, []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := recordedSession(t)
	s.run(t, 0, "persistentvolume-binder", "pvc-protection", "pv-protection")
	at := func(path string) func(*corev1.PersistentVolumeSpec) {
		return func(v *corev1.PersistentVolumeSpec) {
			v.HostPath.Path, v.PersistentVolumeReclaimPolicy = path, corev1.PersistentVolumeReclaimDelete
		}
	}
	for name, path := range map[string]string{"deleted": dir, "refused": "/nowhere"} {
		s.volume(t, name, "1Gi", at(path))
		eventually(t, "volume "+name+" to be available", func() bool {
			v, err := s.client.CoreV1().PersistentVolumes().Get(t.Context(), name, metav1.GetOptions{})
			return err == nil && v.Status.Phase == corev1.VolumeAvailable
		})
		s.claim(t, name, "")
		s.claimIs(t, name, "bound", func(c *corev1.PersistentVolumeClaim) bool { return c.Status.Phase == corev1.ClaimBound })
		s.deleteClaim(t, name)
	}
	eventually(t, "the volume in /tmp to be gone, and the other to have failed", func() bool {
		_, err := s.client.CoreV1().PersistentVolumes().Get(t.Context(), "deleted", metav1.GetOptions{})
		v, failed := s.client.CoreV1().PersistentVolumes().Get(t.Context(), "refused", metav1.GetOptions{})
		return apierrors.IsNotFound(err) && failed == nil && v.Status.Phase == corev1.VolumeFailed &&
			v.Status.Message == "host_path deleter only supports /tmp/.+ but received provided /nowhere"
	})
	if _, err := os.Stat(file); err != nil {
		t.Errorf("what is on this machine was deleted: %v", err)
	}
}

func TestClaimIsKeptWhileAPodUsesIt(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.run(t, 0, "pvc-protection")
	s.node(t, "node-1")
	s.claim(t, "data", "")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: template("web").Spec}
	pod.Spec.NodeName = "node-1"
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}}}
	if _, err := s.client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod to be seen",
		func() bool { return len(s.activity("pvc-protection").Causes) > 1 && s.tap.State().Idle() })
	s.deleteClaim(t, "data")
	eventually(t, "the claim to be reconciled and kept", func() bool {
		for _, e := range s.log.list() {
			if l, ok := e.Detail.(*trace.Log); ok && l.Message == "Keeping PVC because it is being used" {
				return e.Key == "default/data" && e.Reconcile != 0
			}
		}
		return false
	})
	zero := int64(0)
	if err := s.client.CoreV1().Pods("default").Delete(t.Context(), "web",
		metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
		t.Fatal(err)
	}
	s.expectActivity(t, "pvc-protection", activity{
		Causes: []string{
			"DELETED Pod web seen by podAddedDeletedUpdated > enqueuePVCs",
			"MODIFIED PersistentVolumeClaim data seen by pvcAddedUpdated",
		},
		Writes: []string{"update persistentvolumeclaims by default/data"},
	})
}

func TestVolumeIsKeptWhileItIsBound(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.run(t, 0, "pv-protection")
	v := s.volume(t, "data", "1Gi")
	v.Status.Phase = corev1.VolumeBound
	v.ResourceVersion = "" // controllers may have written it since
	if _, err := s.client.CoreV1().PersistentVolumes().UpdateStatus(t.Context(), v, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.client.CoreV1().PersistentVolumes().Delete(t.Context(), "data", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	v, err := s.client.CoreV1().PersistentVolumes().Get(t.Context(), "data", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	v.Status.Phase = corev1.VolumeReleased
	v.ResourceVersion = "" // controllers may have written it since
	if _, err := s.client.CoreV1().PersistentVolumes().UpdateStatus(t.Context(), v, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.expectActivity(t, "pv-protection", activity{
		Causes: []string{"MODIFIED PersistentVolume data seen by pvAddedUpdated"},
		Writes: []string{"update persistentvolumes by data"},
	})
}

func TestEphemeralVolumeGetsAClaim(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.run(t, 0, "ephemeral-volume")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: template("web").Spec}
	pod.Spec.Volumes = []corev1.Volume{{Name: "scratch",
		VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
			VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: storageOf("1Gi")},
			}},
		}}}}
	if _, err := s.client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.expectActivity(t, "ephemeral-volume", activity{
		Causes: []string{"ADDED Pod web seen by enqueuePod"},
		Writes: []string{"create persistentvolumeclaims by default/web"},
	})
	s.claimIs(t, "web-scratch", "the pod's", func(c *corev1.PersistentVolumeClaim) bool {
		owner := metav1.GetControllerOf(c)
		return owner != nil && owner.Kind == "Pod" && owner.Name == "web"
	})
}

func TestAttributesClassIsKeptWhileItIsUsed(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.run(t, 0, "volumeattributesclass-protection-controller")
	classes := s.client.StorageV1().VolumeAttributesClasses()
	class := &storagev1.VolumeAttributesClass{
		ObjectMeta: metav1.ObjectMeta{Name: "fast"}, DriverName: "example.com/disk",
		Parameters: map[string]string{"iops": "9"},
	}
	if _, err := classes.Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := classes.Delete(t.Context(), "fast", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.expectActivity(t, "volumeattributesclass-protection", activity{
		Causes: []string{"MODIFIED VolumeAttributesClass fast seen by vacAddedUpdated"},
		Writes: []string{"update volumeattributesclasses by fast"},
	})
}

func TestExpanderLeavesVolumesToTheirDriver(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.class(t, "fast", true)
	s.run(t, 0, "persistentvolume-binder", "persistentvolume-expander")
	s.volume(t, "disk", "1Gi", func(v *corev1.PersistentVolumeSpec) { v.StorageClassName = "fast" })
	eventually(t, "the volume to be available",
		func() bool { return len(s.activity("persistentvolume-binder").Writes) == 1 })
	s.claim(t, "data", "fast")
	s.claimIs(t, "data", "bound",
		func(c *corev1.PersistentVolumeClaim) bool { return c.Status.Phase == corev1.ClaimBound })
	claim, err := s.client.CoreV1().PersistentVolumeClaims("default").Get(t.Context(), "data", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	claim.Spec.Resources.Requests = storageOf("2Gi")
	if _, err := s.client.CoreV1().PersistentVolumeClaims("default").Update(t.Context(), claim,
		metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	const said = "waiting for an external controller to expand this PVC"
	eventually(t, "an Event that says so", func() bool {
		for _, e := range s.requests("create", "events") {
			if e.Controller == "persistentvolume-expander" && e.Detail.(*trace.Request).Recorded.Message == said {
				return e.Key == "default/data" && e.Reconcile != 0
			}
		}
		return false
	})
}

// TestAllOfThemTogether has a claim and its volume come and go with all controllers of volumes.
func TestAllOfThemTogether(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.run(t, 0, "persistentvolume-binder", "ephemeral-volume", "pvc-protection", "pv-protection",
		"volumeattributesclass-protection-controller", "persistentvolume-expander")
	s.volume(t, "kept", "1Gi")
	eventually(t, "the volume to be available",
		func() bool { return len(s.activity("persistentvolume-binder").Writes) == 1 })
	s.claim(t, "data", "")
	s.claimIs(t, "data", "bound and unused", func(c *corev1.PersistentVolumeClaim) bool {
		return c.Status.Phase == corev1.ClaimBound && len(c.Status.Conditions) == 1 &&
			c.Status.Conditions[0].Reason == "NoPodsUsingPVC"
	})
	s.deleteClaim(t, "data")
	eventually(t, "the volume to be released, and nothing left to do", func() bool {
		v, err := s.client.CoreV1().PersistentVolumes().Get(t.Context(), "kept", metav1.GetOptions{})
		return err == nil && v.Status.Phase == corev1.VolumeReleased && s.tap.State().Idle()
	})
	for _, gr := range []schema.GroupResource{{Resource: "persistentvolumes"}, {Resource: "persistentvolumeclaims"}} {
		eventually(t, gr.String()+" to be handled",
			func() bool { return s.tap.State().Handled[gr] == s.server.LastEvent(gr) })
	}
}
