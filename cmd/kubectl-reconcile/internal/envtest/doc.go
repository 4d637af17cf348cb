// Package envtest lets this program stand in for the programs that controller-runtime's envtest starts. The command
// `envtest-assets` (assets.go) makes a folder for KUBEBUILDER_ASSETS with links to this program; Run (run.go)
// answers under the names of the links: kube-apiserver (apiserver.go, with upstream's flags: apiserverflags.go) is a
// session of pkg/runlocal, etcd (etcd.go) reports that it is healthy and keeps nothing, and kubectl is only there if
// none was on PATH. environment.go reads the variables that add controllers, nodes and a trace.
package envtest
