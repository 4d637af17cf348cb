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

// volumePlugins are those that ProbeProvisionableRecyclableVolumePlugins of cmd/kube-controller-manager/app/plugins.go finds,
// with the defaults of pkg/controller/volume/persistentvolume/config/v1alpha1: of all plugins these two can recycle volumes,
// and the first can delete them. Its provisioning is off by default.
func volumePlugins() []volume.VolumePlugin {
	plugins := nfs.ProbeVolumePlugins(recyclerConfig(300))
	for _, p := range hostpath.ProbeVolumePlugins(recyclerConfig(60)) {
		plugins = append(plugins, asHarmless(p))
	}
	return plugins
}

// recyclerConfig configures a plugin whose recycler may take so many seconds at least, and 30 for each Gi.
func recyclerConfig(least int) volume.VolumeConfig {
	return volume.VolumeConfig{
		RecyclerMinimumTimeout: least, RecyclerTimeoutIncrement: 30,
		RecyclerPodTemplate: volume.NewPersistentVolumeRecyclerPodTemplate(),
	}
}

// hostPathPlugin is what the binder asks of the plugin for hostPath volumes.
type hostPathPlugin interface {
	volume.RecyclableVolumePlugin
	volume.DeletableVolumePlugin
	volume.ProvisionableVolumePlugin
}

// harmlessHostPath deletes nothing from the disk of the machine that it runs on. Upstream's plugin does: it takes that for
// the one node of a test cluster, and a released volume at /tmp/x for its own /tmp/x.
type harmlessHostPath struct{ hostPathPlugin }

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

// harmlessDeleter says what upstream's would, and does nothing.
type harmlessDeleter struct{ volume.Deleter }

// deletable are the paths that upstream's plugin deletes: see hostPathDeleter in pkg/volume/hostpath/host_path.go.
var deletable = regexp.MustCompile("/tmp/.+")

// Delete implements volume.Deleter.
func (d harmlessDeleter) Delete() error {
	if !deletable.MatchString(d.GetPath()) {
		return fmt.Errorf("host_path deleter only supports /tmp/.+ but received provided %s", d.GetPath())
	}
	return nil
}

// recyclingClient is a client of the binder of volumes, which makes pods only to recycle volumes: in a goroutine for each volume,
// which then waits until the pod has ended, without a limit (pkg/volume/util/recyclerclient). In a dry run the pod is not there, and
// nothing ever comes: so that goroutine ends when the pod has been tried, and with it the reconcile that it is a part of.
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

// Create implements corev1client.PodInterface. It does not return if the pod was accepted but is not stored, which shows in that it
// has no resource version. Returning an error instead would have the binder write that the volume could not be recycled.
func (p recyclerPods) Create(ctx context.Context, pod *corev1.Pod, o metav1.CreateOptions) (*corev1.Pod, error) {
	created, err := p.PodInterface.Create(ctx, pod, o)
	if err == nil && created.ResourceVersion == "" {
		runtime.Goexit() // what is deferred closes the watches and ends the operation
	}
	return created, err
}
