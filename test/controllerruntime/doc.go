// Package controllerruntime has only tests: they run an operator that is built on controller-runtime against `kubectl
// reconcile sandbox`, as one would run it against envtest. It shows how that is done (sandbox_test.go), and that the
// embedded API behaves as controller-runtime expects. It is a separate module, so that the plugin does not depend on
// controller-runtime; it does not test the plugin's own packages.
package controllerruntime
