package controllers

import (
	"fmt"
	"regexp"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/hostpath"
	"k8s.io/kubernetes/pkg/volume/nfs"
)

// volumePlugins are those that ProbeProvisionableRecyclableVolumePlugins of cmd/kube-controller-manager/app/plugins.go finds,
// with the defaults of pkg/controller/volume/persistentvolume/config/v1alpha1: of all plugins these two can recycle volumes,
// and the first can delete them. Its provisioning is off by default.
func volumePlugins() []volume.VolumePlugin {
	plugins := nfs.ProbeVolumePlugins(recycling(300))
	for _, p := range hostpath.ProbeVolumePlugins(recycling(60)) {
		plugins = append(plugins, asHarmless(p))
	}
	return plugins
}

// recycling configures a plugin whose recycler may take so many seconds at least, and 30 for each Gi.
func recycling(least int) volume.VolumeConfig {
	return volume.VolumeConfig{
		RecyclerMinimumTimeout: least, RecyclerTimeoutIncrement: 30,
		RecyclerPodTemplate: volume.NewPersistentVolumeRecyclerPodTemplate(),
	}
}

// hostPath is what the binder asks of the plugin for hostPath volumes.
type hostPath interface {
	volume.RecyclableVolumePlugin
	volume.DeletableVolumePlugin
	volume.ProvisionableVolumePlugin
}

// harmlessHostPath deletes nothing from the disk of the machine that it runs on. Upstream's plugin does: it takes that for
// the one node of a test cluster, and a released volume at /tmp/x for its own /tmp/x.
type harmlessHostPath struct{ hostPath }

func asHarmless(p volume.VolumePlugin) volume.VolumePlugin {
	if h, ok := p.(hostPath); ok {
		return harmlessHostPath{h}
	}
	return p
}

// NewDeleter implements volume.DeletableVolumePlugin.
func (p harmlessHostPath) NewDeleter(logger klog.Logger, spec *volume.Spec) (volume.Deleter, error) {
	d, err := p.hostPath.NewDeleter(logger, spec)
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
