package runlocal

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/guard"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// reconciles is a sink that counts those that have begun and not ended.
type reconciles struct{ n atomic.Int64 }

func (r *reconciles) Record(e *trace.Event) {
	switch e.Detail.(type) {
	case *trace.Start:
		r.n.Add(1)
	case *trace.End:
		r.n.Add(-1)
	}
}

func (r *reconciles) open() int64 { return r.n.Load() }

// TestDryRunOfARecycler: the binder of volumes waits for the pod that recycles a released volume, and in a dry run
// there is none. What it would do up to there must be shown, and neither settling nor the end of the session may wait.
func TestDryRunOfARecycler(t *testing.T) {
	for _, mode := range []guard.Mode{guard.Server, guard.Client} {
		t.Run(string(mode), func(t *testing.T) {
			cluster := start(t, Options{NoScheduling: true})
			client := kubernetes.NewForConfigOrDie(cluster.Config()).CoreV1()
			for _, source := range []corev1.PersistentVolumeSource{
				{HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"}},
				{NFS: &corev1.NFSVolumeSource{Server: "nowhere", Path: "/"}},
			} {
				volume := &corev1.PersistentVolume{
					ObjectMeta: metav1.ObjectMeta{GenerateName: "released-"},
					Spec: corev1.PersistentVolumeSpec{
						AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
						PersistentVolumeSource:        source,
						Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
						PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRecycle,
						ClaimRef: &corev1.ObjectReference{Namespace: "default", Name: "gone",
							UID: "1"},
					},
				}
				volume, err := client.PersistentVolumes().Create(t.Context(), volume, metav1.CreateOptions{})
				if err != nil {
					t.Fatal(err)
				}
				volume.Status.Phase = corev1.VolumeReleased
				if _, err := client.PersistentVolumes().UpdateStatus(t.Context(), volume,
					metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			made, begun := &requests{}, &reconciles{}
			s, err := onCluster(t, cluster, ClusterOptions{DryRun: mode}, Options{
				Recorder: trace.NewRecorder(clock.RealClock{}, made, begun),
			}, "persistentvolume-binder")
			if err != nil {
				t.Fatal(err)
			}
			if err := s.WaitSettled(within(t)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"create pods dry", "create pods dry"}, made.list()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			if open := begun.open(); open != 0 {
				t.Errorf("%d reconciles have not ended, so they are not shown", open)
			}
			at, cancel := context.WithCancel(t.Context())
			cancel() // what is not done at this moment would be waited for
			if err := s.tap.Drain(at); err != nil {
				t.Error(err)
			}
		})
	}
}
