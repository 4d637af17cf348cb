package nodes

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	volumehelpers "k8s.io/component-helpers/storage/volume"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// storage is an embedded API server with the simulated provisioner; the test plays the volume binder.
type storage struct {
	kubernetes.Interface
	t     testing.TB
	nodes corelisters.NodeLister // the provisioner's
}

func newStorage(t testing.TB, before ...*storagev1.StorageClass) *storage {
	t.Helper()
	server := volumeServers.Server(t, nil)
	s := &storage{Interface: kubernetes.NewForConfigOrDie(server.Config()), t: t}
	for _, class := range before {
		s.class(class)
	}
	observer := tap.New(tap.Options{})
	informers := observer.Informers(s, 0)
	s.nodes = informers.Core().V1().Nodes().Lister()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	p, err := StartProvisioner(ctx, ProvisionerOptions{Config: server.Config(), Informers: informers, Tap: observer})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Stop()
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
		cancel()
		informers.Shutdown()
	})
	return s
}

func (s *storage) class(class *storagev1.StorageClass) {
	s.t.Helper()
	if _, err := s.StorageV1().StorageClasses().Create(s.t.Context(), class, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// claim creates the claim in the namespace default.
func (s *storage) claim(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	s.t.Helper()
	made, err := s.CoreV1().PersistentVolumeClaims("default").Create(s.t.Context(), claim, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return made
}

// eventually waits for the condition.
func (s *storage) eventually(what string, condition func() (bool, error)) {
	s.t.Helper()
	err := wait.PollUntilContextTimeout(s.t.Context(), 5*time.Millisecond, waitTimeout, true,
		func(context.Context) (bool, error) { return condition() })
	if err != nil {
		s.t.Fatalf("waiting for %s: %v", what, err)
	}
}

// volume waits for the claim's volume.
func (s *storage) volume(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	s.t.Helper()
	var volume *corev1.PersistentVolume
	s.eventually("the volume of claim "+claim.Name, func() (bool, error) {
		var err error
		volume, err = s.CoreV1().PersistentVolumes().Get(s.t.Context(), "pvc-"+string(claim.UID), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	return volume
}

// event waits for an Event about the claim.
func (s *storage) event(claim, reason string) corev1.Event {
	s.t.Helper()
	var found corev1.Event
	s.eventually("event "+reason+" of claim "+claim, func() (bool, error) {
		list, err := s.CoreV1().Events("default").List(s.t.Context(), metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for _, e := range list.Items {
			if e.InvolvedObject.Name == claim && e.Reason == reason {
				found = e
				return true, nil
			}
		}
		return false, nil
	})
	return found
}

func classOf(name string, change ...func(*storagev1.StorageClass)) *storagev1.StorageClass {
	c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: Provisioner}
	for _, f := range change {
		f(c)
	}
	return c
}

func claimOf(name, class string, change ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Annotations: map[string]string{
			volumehelpers.AnnStorageProvisioner: Provisioner,
		}},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class,
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")},
			},
		},
	}
	for _, f := range change {
		f(c)
	}
	return c
}

func selectedNode(name string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Annotations[volumehelpers.AnnSelectedNode] = name }
}

func TestVolumeIsMadeForClaim(t *testing.T) {
	t.Parallel()
	retain := corev1.PersistentVolumeReclaimRetain
	s := newStorage(t, classOf("keep", func(c *storagev1.StorageClass) { c.ReclaimPolicy = &retain }), classOf("drop"))
	claim := s.claim(claimOf("data", "drop"))
	volume := s.volume(claim)
	create, filesystem := corev1.HostPathDirectoryOrCreate, corev1.PersistentVolumeFilesystem
	want := corev1.PersistentVolumeSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Capacity:    corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")},
		ClaimRef: &corev1.ObjectReference{
			APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: "default", Name: "data", UID: claim.UID,
			ResourceVersion: claim.ResourceVersion,
		},
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
		PersistentVolumeSource: corev1.PersistentVolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: "/var/lib/kubectl-reconcile/" + volume.Name, Type: &create},
		},
		StorageClassName: "drop",
		VolumeMode:       &filesystem,
	}
	if diff := cmp.Diff(want, volume.Spec); diff != "" {
		t.Errorf("spec of the volume (-want +got):\n%s", diff)
	}
	if volume.Annotations[volumehelpers.AnnDynamicallyProvisioned] != Provisioner || !hasFinalizer(volume) {
		t.Errorf("the volume has annotations %v and finalizers %v", volume.Annotations, volume.Finalizers)
	}
	if e := s.event("data", "ProvisioningSucceeded"); e.Message != "Successfully provisioned volume "+volume.Name ||
		e.Source.Component != Provisioner {
		t.Errorf("event %q of %q", e.Message, e.Source.Component)
	}
	s.event("data", "Provisioning")
	if kept := s.volume(s.claim(claimOf("kept", "keep"))); hasFinalizer(kept) ||
		kept.Spec.PersistentVolumeReclaimPolicy != retain {
		t.Errorf("a volume that is kept has policy %s and finalizers %v", kept.Spec.PersistentVolumeReclaimPolicy,
			kept.Finalizers)
	}
}

func TestVolumeIsOnTheChosenNode(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	node := newNode(0, DefaultCapacity(), "v1.37.1", epoch)
	if _, err := s.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.eventually("the provisioner to know the node", func() (bool, error) {
		_, err := s.nodes.Get(node.Name)
		return err == nil, nil
	})
	claim := s.claim(claimOf("data", DefaultStorageClass))
	last := s.claim(claimOf("last", DefaultStorageClass, selectedNode("node-1")))
	volume := s.volume(last)
	if err := volumehelpers.CheckNodeAffinity(volume, node.Labels); err != nil {
		t.Error(err)
	}
	if err := volumehelpers.CheckNodeAffinity(volume, map[string]string{corev1.LabelHostname: "node-2"}); err == nil {
		t.Error("a volume of node-1 is on node-2 as well")
	}
	if _, err := s.CoreV1().PersistentVolumes().Get(t.Context(), "pvc-"+string(claim.UID),
		metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a claim without a node has a volume, or: %v", err)
	}
}

func TestAnotherNodeIsAskedFor(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	s.claim(claimOf("data", DefaultStorageClass, selectedNode("gone")))
	s.eventually("the node to be taken from the claim", func() (bool, error) {
		claim, err := s.CoreV1().PersistentVolumeClaims("default").Get(t.Context(), "data", metav1.GetOptions{})
		return err == nil && claim.Annotations[volumehelpers.AnnSelectedNode] == "", err
	})
	if e := s.event("data", "ProvisioningFailed"); e.Message != Provisioner+` finds no node "gone"` {
		t.Errorf("message %q", e.Message)
	}
}

func TestClaimWaitsForItsClass(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	claim := s.claim(claimOf("data", "late"))
	s.volume(s.claim(claimOf("first", "early", func(c *corev1.PersistentVolumeClaim) {
		s.class(classOf("early"))
	})))
	s.class(classOf("late"))
	s.volume(claim)
}

func TestClaimsThatGetNoVolume(t *testing.T) {
	t.Parallel()
	block, other := corev1.PersistentVolumeBlock, "other"
	for name, row := range map[string]struct {
		change func(*corev1.PersistentVolumeClaim)
		class  *storagev1.StorageClass
		want   string
		reason string
	}{
		"block": {
			change: func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeMode = &block },
			want:   Provisioner + " does not support block volume provisioning",
			reason: "a path is no device",
		},
		"selector": {
			change: func(c *corev1.PersistentVolumeClaim) { c.Spec.Selector = &metav1.LabelSelector{} },
			want:   Provisioner + " does not support claim selectors",
			reason: "a new volume has no labels that could be selected",
		},
		"source": {
			change: func(c *corev1.PersistentVolumeClaim) {
				c.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "other"}
			},
			want:   Provisioner + " does not support data sources",
			reason: "nothing is copied",
		},
		"foreign": {
			class:  classOf("slow", func(c *storagev1.StorageClass) { c.Provisioner = other }),
			want:   Provisioner + ` is not the provisioner of StorageClass "slow"`,
			reason: "the class may have been created again since the claim was annotated",
		},
	} {
		t.Run(name, func(t *testing.T) {
			class := classOf("fast")
			if row.class != nil {
				class = row.class
			}
			claim := claimOf("data", class.Name)
			if row.change != nil {
				row.change(claim)
			}
			if got := unsupportedReason(claim, class); got != row.want[len(Provisioner)+1:] {
				t.Errorf("%s: got %q, want %q", row.reason, got, row.want)
			}
		})
	}
	s := newStorage(t, classOf("fast"))
	s.claim(claimOf("raw", "fast", func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeMode = &block }))
	if e := s.event("raw", "ProvisioningFailed"); e.Type != corev1.EventTypeWarning {
		t.Errorf("the event is %s", e.Type)
	}
}

func TestReleasedVolumeIsDeleted(t *testing.T) {
	t.Parallel()
	s := newStorage(t, classOf("drop"))
	volume := s.volume(s.claim(claimOf("data", "drop")))
	volume.Status.Phase = corev1.VolumeReleased
	if _, err := s.CoreV1().PersistentVolumes().UpdateStatus(t.Context(), volume, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.eventually("the volume to be without our finalizer", func() (bool, error) {
		volume, err := s.CoreV1().PersistentVolumes().Get(t.Context(), volume.Name, metav1.GetOptions{})
		return err == nil && volume.DeletionTimestamp != nil && !hasFinalizer(volume), err
	})
}

func TestWhatVolumesNeed(t *testing.T) {
	now := metav1.Now()
	held := []string{volumehelpers.PVDeletionProtectionFinalizer}
	for _, row := range []struct {
		name             string
		phase            corev1.PersistentVolumePhase
		policy           corev1.PersistentVolumeReclaimPolicy
		finalizers       []string
		deleted          *metav1.Time
		over, finalizing bool
		reason           string
	}{
		{"bound", corev1.VolumeBound, corev1.PersistentVolumeReclaimDelete, held, nil, false, false, "it is in use"},
		{"released", corev1.VolumeReleased, corev1.PersistentVolumeReclaimDelete, held, nil, true, false, "it is released"},
		{"kept", corev1.VolumeReleased, corev1.PersistentVolumeReclaimRetain, nil, nil, false, false,
			"an administrator looks after it"},
		{"deleted by hand", corev1.VolumeReleased, corev1.PersistentVolumeReclaimDelete, held, &now, true, false,
			"our finalizer waits for us"},
		{"done with", corev1.VolumeReleased, corev1.PersistentVolumeReclaimDelete, nil, &now, false, false,
			"another finalizer is left"},
		{"now kept", corev1.VolumeBound, corev1.PersistentVolumeReclaimRetain, held, nil, false, true,
			"the policy was changed"},
		{"no longer kept", corev1.VolumeBound, corev1.PersistentVolumeReclaimDelete, nil, nil, false, true,
			"the policy was changed back"},
	} {
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Finalizers: row.finalizers,
			DeletionTimestamp: row.deleted}}
		volume.Status.Phase, volume.Spec.PersistentVolumeReclaimPolicy = row.phase, row.policy
		if over, finalizing := isReleased(volume), needsFinalizers(volume); over != row.over || finalizing != row.finalizing {
			t.Errorf("%s (%s): over %v, finalizers to change %v", row.name, row.reason, over, finalizing)
		}
	}
}

func TestFinalizerFollowsThePolicy(t *testing.T) {
	t.Parallel()
	s := newStorage(t, classOf("drop"))
	volume := s.volume(s.claim(claimOf("data", "drop")))
	volume.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	volume, err := s.CoreV1().PersistentVolumes().Update(t.Context(), volume, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.eventually("the finalizer to go", func() (bool, error) {
		volume, err = s.CoreV1().PersistentVolumes().Get(t.Context(), volume.Name, metav1.GetOptions{})
		return err == nil && !hasFinalizer(volume), err
	})
}

func TestDefaultClass(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		before []*storagev1.StorageClass
		want   []string
		reason string
	}{
		"none": {want: []string{DefaultStorageClass}, reason: "claims without a class are to be served"},
		"other": {
			before: []*storagev1.StorageClass{classOf("mine",
				func(c *storagev1.StorageClass) { c.Annotations = map[string]string{isDefaultClass: "true"} })},
			want: []string{"mine"}, reason: "two default classes would be a riddle",
		},
		"no default": {before: []*storagev1.StorageClass{classOf("mine")}, want: []string{"mine", DefaultStorageClass},
			reason: "a class alone is not the default"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStorage(t, row.before...)
			list, err := s.StorageV1().StorageClasses().List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range list.Items {
				got = append(got, c.Name)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("%s: classes (-want +got):\n%s", row.reason, diff)
			}
		})
	}
}

func TestClassTopologies(t *testing.T) {
	class := classOf("zoned", func(c *storagev1.StorageClass) {
		c.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "zone", Values: []string{"a", "b"}}}}}
	})
	affinity, err := (&provisioner{}).nodeAffinityFor(class, "")
	if err != nil {
		t.Fatal(err)
	}
	volume := &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{NodeAffinity: affinity}}
	for zone, want := range map[string]bool{"a": true, "b": true, "c": false} {
		if got := volumehelpers.CheckNodeAffinity(volume, map[string]string{"zone": zone}) == nil; got != want {
			t.Errorf("zone %s has the volume: %v, want %v", zone, got, want)
		}
	}
}
