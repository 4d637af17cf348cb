package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	admissionmetrics "k8s.io/apiserver/pkg/admission/metrics"
	genericapiserver "k8s.io/apiserver/pkg/server"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
	controlplaneadmission "k8s.io/kubernetes/pkg/controlplane/apiserver/admission"
	kubeadmission "k8s.io/kubernetes/pkg/kubeapiserver/admission"
	kubeoptions "k8s.io/kubernetes/pkg/kubeapiserver/options"
)

// AdmissionPlugin is one of kube-apiserver's admission plugins.
type AdmissionPlugin struct {
	// Name is the name for --enable-admission-plugins and --disable-admission-plugins.
	Name string
	// OnByDefault reports whether a server without admission options runs it; it is upstream's default.
	OnByDefault bool
}

// AdmissionPlugins lists every plugin of kube-apiserver in the order in which they run. The caller owns the slice.
func AdmissionPlugins() []AdmissionPlugin {
	off := kubeoptions.DefaultOffAdmissionPlugins()
	plugins := make([]AdmissionPlugin, 0, len(kubeoptions.AllOrderedPlugins))
	for _, name := range kubeoptions.AllOrderedPlugins {
		plugins = append(plugins, AdmissionPlugin{Name: name, OnByDefault: !off.Has(name)})
	}
	return plugins
}

// validatePlugins returns an error for unknown names and for names that are both enabled and disabled, as
// kube-apiserver does.
func validatePlugins(enable, disable []string) error {
	var problems []error
	for _, name := range slices.Concat(enable, disable) {
		if !slices.Contains(kubeoptions.AllOrderedPlugins, name) {
			problems = append(problems,
				&UnknownPluginError{Name: name, Known: slices.Clone(kubeoptions.AllOrderedPlugins)})
		}
	}
	for _, name := range enable {
		if slices.Contains(disable, name) {
			problems = append(problems, fmt.Errorf("admission plugin %q is both enabled and disabled", name))
		}
	}
	return errors.Join(problems...)
}

// UnknownPluginError is the error of an admission plugin that kube-apiserver does not have.
type UnknownPluginError struct {
	Name string
	// Known are the names of all plugins, in the order in which they run.
	Known []string
}

// Error implements error.
func (e *UnknownPluginError) Error() string {
	return fmt.Sprintf("no admission plugin %q in kube-apiserver", e.Name)
}

// enabledPlugins returns the names of the plugins that run. It mirrors AdmissionOptions.enabledPluginNames of
// k8s.io/apiserver/pkg/server/options/admission.go.
func enabledPlugins(enable, disable []string) []string {
	var names []string
	for _, p := range AdmissionPlugins() {
		if slices.Contains(enable, p.Name) || p.OnByDefault && !slices.Contains(disable, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// noConfig is the admission configuration of a kube-apiserver that was given no file.
type noConfig struct{}

var _ admission.ConfigProvider = noConfig{}

// ConfigFor implements admission.ConfigProvider: no plugin has a configuration.
func (noConfig) ConfigFor(string) (io.Reader, error) { return nil, nil }

// admissionChain builds the plugins of these names. It mirrors AdmissionOptions.ApplyTo of
// k8s.io/apiserver/pkg/server/options/admission.go.
func (a *assembly) admissionChain(
	names []string, initializers admission.PluginInitializers,
) (admission.Interface, error) {
	plugins := admission.NewPlugins()
	genericapiserver.RegisterAllAdmissionPlugins(plugins)
	kubeoptions.RegisterAllAdmissionPlugins(plugins)
	decorators := admission.Decorators{a.policies, admission.DecoratorFunc(admissionmetrics.WithControllerMetrics)}
	var config admission.ConfigProvider = noConfig{}
	if a.options.CommandLine != nil {
		var err error
		if config, err = a.options.CommandLine.pluginConfig(names); err != nil {
			return nil, err
		}
	}
	chain, err := plugins.NewFromPlugins(names, config, initializers, decorators)
	if err != nil {
		return nil, fmt.Errorf("building the admission plugins: %w", err)
	}
	return admissionmetrics.WithStepMetrics(chain), nil
}

// basicInitializers returns what plugins need that call no webhooks and count no quotas: clients and informers.
func (a *assembly) basicInitializers() admission.PluginInitializers {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(a.client.Discovery()))
	return admission.PluginInitializers{
		initializer.NewAPIServerIDInitializer(a.serverID),
		initializer.New(a.client, a.dynamic, a.informers, a.auth.authorizer, utilfeature.DefaultFeatureGate,
			a.version, a.admissionCtx.Done(), mapper),
	}
}

// initializers returns what all plugins need. It mirrors CreateConfig of
// k8s.io/kubernetes/pkg/controlplane/apiserver/config.go in its initializers. Some of them add informers.
func (a *assembly) initializers() (admission.PluginInitializers, error) {
	out := a.basicInitializers()
	controlplane := controlplaneadmission.Config{
		ExternalInformers:    a.informers,
		LoopbackClientConfig: a.loopback,
		APIResourceConfig:    a.served,
	}
	more, err := controlplane.New(noNetwork(), nil, noServices{a.ctx, a.client}, a.tracer)
	if err != nil {
		return nil, fmt.Errorf("building the admission initializers: %w", err)
	}
	out = append(out, more...)
	if more, err = (&kubeadmission.Config{}).New(); err != nil {
		return nil, fmt.Errorf("building kube-apiserver's admission initializers: %w", err)
	}
	return append(out, more...), nil
}

// errNoAdmission is the answer to writes before the admission plugins exist.
var errNoAdmission = errors.New("admission is not ready")

// admissionGate is the admission of the API groups when they are installed, so that the plugins can be built later,
// when their informers have synced. Several of upstream's plugins check their informers once when they are built and
// then only every 100 ms; built first, they would delay readiness by two or three of these rounds.
//
// It also counts the writes that are inside the plugins: upstream continues a write whose client has disconnected, and
// the workers of ResourceQuota must not end before it.
type admissionGate struct {
	chain atomic.Pointer[admission.Interface]

	mu     sync.Mutex // orders inside.Add before the Wait of shut
	closed bool
	inside sync.WaitGroup
}

// enter counts a write in and returns true, unless the gate is shut. The caller must call leave then.
func (g *admissionGate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.inside.Add(1)
	}
	return !g.closed
}

func (g *admissionGate) leave() { g.inside.Done() }

// shut rejects further writes, and returns when those inside have left.
func (g *admissionGate) shut() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.inside.Wait()
}

var (
	_ admission.MutationInterface   = (*admissionGate)(nil)
	_ admission.ValidationInterface = (*admissionGate)(nil)
)

// open lets writes through to chain.
func (g *admissionGate) open(chain admission.Interface) { g.chain.Store(&chain) }

// Handles implements admission.Interface. It is true before open, so that Admit can reject.
func (g *admissionGate) Handles(operation admission.Operation) bool {
	chain := g.chain.Load()
	return chain == nil || (*chain).Handles(operation)
}

// Admit runs the mutating plugins.
func (g *admissionGate) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	chain := g.chain.Load()
	if chain == nil {
		return admission.NewForbidden(a, errNoAdmission)
	}
	mutating, ok := (*chain).(admission.MutationInterface)
	if !ok {
		return nil
	}
	if !g.enter() {
		return errStopped
	}
	defer g.leave()
	return mutating.Admit(ctx, a, o)
}

// Validate runs the validating plugins.
func (g *admissionGate) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	chain := g.chain.Load()
	if chain == nil {
		return admission.NewForbidden(a, errNoAdmission)
	}
	validating, ok := (*chain).(admission.ValidationInterface)
	if !ok {
		return nil
	}
	if !g.enter() {
		return errStopped
	}
	defer g.leave()
	return validating.Validate(ctx, a, o)
}
