// Package kubectl drives the real kubectl, built from Go modules, against `kubectl reconcile sandbox`: every script of
// testdata/script is a session of commands with the output that a cluster would give. It is a separate module, so that
// the plugin does not depend on kubectl. It is no test of controllers, nor of the API beyond what kubectl shows of it.
package kubectl
