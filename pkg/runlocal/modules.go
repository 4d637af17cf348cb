//go:build modules

package runlocal

// Nothing is built with these packages. Kubernetes and Argo CD require their modules at versions that only a replace
// directive of their own go.mod files makes exist, and such a directive does not count elsewhere: without a requirement
// of versions that can be downloaded, "go list -m all" and "go doc" fail in every module that requires this one. An
// import is what keeps a requirement when go.mod is tidied.
import (
	_ "github.com/argoproj/gitops-engine/pkg/utils/text"
	_ "k8s.io/cri-streaming"
	_ "k8s.io/sample-apiserver/pkg/apis/wardle"
)
