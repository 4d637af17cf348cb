package api

import (
	"runtime/debug"

	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/util/compatibility"
	basecompatibility "k8s.io/component-base/compatibility"
)

// kubernetesModule is the module whose version is the version that the server reports.
const kubernetesModule = "k8s.io/kubernetes"

// pinnedVersion is reported where build information has no module version: a test binary of an old toolchain, or a
// build with -buildvcs and modules switched off. A test compares it with go.mod.
const pinnedVersion = "v1.37.1"

// KubernetesVersion is the version of the Kubernetes code in this program, such as "v1.37.1": the version of module
// k8s.io/kubernetes in the build information.
func KubernetesVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return pinnedVersion
	}
	for _, m := range info.Deps {
		if m.Path == kubernetesModule && m.Replace == nil && m.Version != "" {
			return m.Version
		}
	}
	return pinnedVersion
}

// effectiveVersion is upstream's default version set with the git version that upstream's release builds get from
// linker flags. Clients refuse the placeholder that a library build would report at /version.
type effectiveVersion struct {
	basecompatibility.EffectiveVersion
	gitVersion string
}

func newEffectiveVersion() basecompatibility.EffectiveVersion {
	return effectiveVersion{compatibility.DefaultBuildEffectiveVersion(), KubernetesVersion()}
}

// Info is upstream's information with git version and tree state of a release.
func (v effectiveVersion) Info() *apimachineryversion.Info {
	info := v.EffectiveVersion.Info()
	info.GitVersion = v.gitVersion
	info.GitCommit = ""
	info.GitTreeState = "clean"
	return info
}
