package controllers

import (
	"context"
	"fmt"
	"regexp"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/hostpath"
	"k8s.io/kubernetes/pkg/volume/nfs"
)

// volumePlugins mirrors ProbeProvisionableRecyclableVolumePlugins of
// k8s.io/kubernetes/cmd/kube-controller-manager/app/plugins.go, and
// RecommendedDefaultPersistentVolumeRecyclerConfiguration of
// k8s.io/kubernetes/pkg/controller/volume/persistentvolume/config/v1alpha1/defaults.go. Of all plugins only nfs and
// hostPath can recycle volumes, and only hostPath can delete them; its provisioning is off by default.
func volumePlugins() []volume.VolumePlugin {
	plugins := nfs.ProbeVolumePlugins(recyclerConfig(300))
	for _, p := range hostpath.ProbeVolumePlugins(recyclerConfig(60)) {
		plugins = append(plugins, asHarmless(p))
	}
	return plugins
}

// recyclerConfig configures a plugin whose recycler may take the given seconds at least, and 30 seconds for each Gi.
func recyclerConfig(minSeconds int) volume.VolumeConfig {
	return volume.VolumeConfig{
		RecyclerMinimumTimeout: minSeconds, RecyclerTimeoutIncrement: 30,
		RecyclerPodTemplate: volume.NewPersistentVolumeRecyclerPodTemplate(),
	}
}

// hostPathPlugin is what the binder uses of the plugin for hostPath volumes.
type hostPathPlugin interface {
	volume.RecyclableVolumePlugin
	volume.DeletableVolumePlugin
	volume.ProvisionableVolumePlugin
}

// harmlessHostPath deletes nothing from the disk of the machine that it runs on. Upstream's plugin would delete the
// machine's own /tmp/x for a released volume at /tmp/x: it is made for test clusters with a single node.
type harmlessHostPath struct{ hostPathPlugin }

// asHarmless wraps the plugin for hostPath volumes; any other plugin it returns as it is.
func asHarmless(p volume.VolumePlugin) volume.VolumePlugin {
	if h, ok := p.(hostPathPlugin); ok {
		return harmlessHostPath{h}
	}
	return p
}

// NewDeleter implements volume.DeletableVolumePlugin.
func (p harmlessHostPath) NewDeleter(logger klog.Logger, spec *volume.Spec) (volume.Deleter, error) {
	d, err := p.hostPathPlugin.NewDeleter(logger, spec)
	if err != nil {
		return nil, err
	}
	return harmlessDeleter{d}, nil
}

// harmlessDeleter returns the errors that upstream's deleter would, and deletes nothing.
type harmlessDeleter struct{ volume.Deleter }

// deletable matches the paths that upstream's plugin deletes. It mirrors hostPathDeleter.Delete of
// k8s.io/kubernetes/pkg/volume/hostpath/host_path.go.
var deletable = regexp.MustCompile("/tmp/.+")

// Delete implements volume.Deleter.
func (d harmlessDeleter) Delete() error {
	if !deletable.MatchString(d.GetPath()) {
		return fmt.Errorf("host_path deleter only supports /tmp/.+ but received provided %s", d.GetPath())
	}
	return nil
}

// recyclingClient is the volume binder's client. The binder creates pods only to recycle volumes, in a goroutine for
// each volume, which then waits without a limit until the pod has ended (pkg/volume/util/recyclerclient). In a dry run
// the pod is never stored and the wait would never end: so the goroutine ends when the API has accepted the pod, and
// with it the reconcile that the goroutine belongs to.
type recyclingClient struct{ kubernetes.Interface }

// CoreV1 implements kubernetes.Interface.
func (c recyclingClient) CoreV1() corev1client.CoreV1Interface {
	return recyclingCore{c.Interface.CoreV1()}
}

type recyclingCore struct{ corev1client.CoreV1Interface }

// Pods implements corev1client.PodsGetter.
func (c recyclingCore) Pods(namespace string) corev1client.PodInterface {
	return recyclerPods{c.CoreV1Interface.Pods(namespace)}
}

type recyclerPods struct{ corev1client.PodInterface }

// Create implements corev1client.PodInterface. If the pod was accepted but not stored, so that it has no resource
// version, it ends the goroutine instead of returning. With an error the binder would write that the volume could not
// be recycled.
func (p recyclerPods) Create(ctx context.Context, pod *corev1.Pod, o metav1.CreateOptions) (*corev1.Pod, error) {
	created, err := p.PodInterface.Create(ctx, pod, o)
	if err == nil && created.ResourceVersion == "" {
		runtime.Goexit() // the deferred calls close the watches and end the operation
	}
	return created, err
}
