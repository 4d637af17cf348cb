// Package envtest is a project as kubebuilder makes them, with a kind Storefront of two versions (api), a controller
// that owns Deployments (internal/controller), and webhooks that set defaults, validate and convert (internal/webhook). Its
// tests start envtest, and are run unchanged with `kubectl reconcile envtest-assets`, alone and with controllers, and
// with envtest's own programs: compare does that, with controller-runtime's own suites too, and prints the table of
// docs/envtest.md. It is a separate module, so that the plugin depends neither on controller-runtime nor on Ginkgo.
package envtest
