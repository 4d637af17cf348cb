package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	oteltrace "go.opentelemetry.io/otel/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"
	apiextensionsserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/endpoints/filterlatency"
	genericfilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverfilters "k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/server/healthz"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	utilopenapi "k8s.io/apiserver/pkg/util/openapi"
	"k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/klog/v2"
	registrationinstall "k8s.io/kube-aggregator/pkg/apis/apiregistration/install"
	openapicommon "k8s.io/kube-openapi/pkg/common"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/capabilities"
	generatedopenapi "k8s.io/kubernetes/pkg/generated/openapi"
	"k8s.io/kubernetes/pkg/routes"
	"k8s.io/kubernetes/pkg/serviceaccount"
	metricsinstall "k8s.io/metrics/pkg/apis/metrics/install"
)

// serverAgent is the user agent of the server's requests to itself. Its first part becomes their field manager.
const serverAgent = "kube-apiserver/embedded"

// assembly holds the parts of a server while they are put together. It mirrors CreateServerChain of
// k8s.io/kubernetes/cmd/kube-apiserver/app/server.go without the aggregator in front: aggregation.go has its API group.
type assembly struct {
	options      Options
	ctx          context.Context // ends with the server
	admissionCtx context.Context // ends when no write is left in the admission plugins
	version      basecompatibility.EffectiveVersion
	served       *serverstorage.ResourceConfig
	backend      *backend
	address      string // host:port for discovery
	advertised   string // host:port for the Service kubernetes
	// serviceRanges are the ranges of cluster addresses, at most one of each family, the primary family first. They are
	// given if the server begins with ServiceCIDRs.
	serviceRanges      []string
	serviceRangesGiven bool
	copied             bool          // the server begins with objects
	recorded           recordedKinds // nil without Options.Recorded

	loopback       *rest.Config // the server's own privileged identity, as kube-apiserver has one
	client         kubernetes.Interface
	dynamic        dynamic.Interface
	informers      informers.SharedInformerFactory
	auth           *auth
	flows          *flowControl
	logs           *logCheck
	endpointSlices proxy.EndpointSliceGetter
	tracer         oteltrace.TracerProvider
	gate           *admissionGate
	policies       policyPlugins
	audit          audit.Backend             // nil unless Options.CommandLine has an audit log
	auditRules     audit.PolicyRuleEvaluator // nil if audit is
	serverID       string
	accounts       *defaultAccounts // nil without Options.DefaultServiceAccounts

	apiServiceScheme *runtime.Scheme // of apiregistration.k8s.io
	metricsScheme    *runtime.Scheme // of metrics.k8s.io
}

// newAssembly prepares the clients, informers and identities that the groups are built from.
func newAssembly(o Options, s *Server) (*assembly, error) {
	registerMetrics()
	a := &assembly{
		options:      o,
		policies:     policyPlugins{},
		ctx:          s.ctx,
		admissionCtx: s.admissionCtx,
		version:      newEffectiveVersion(),
		served:       servedVersions(),
		backend:      s.backend,
		address:      "127.0.0.1:443",
		tracer:       nooptrace.NewTracerProvider(),
		gate:         &s.gate,
		logs:         s.logs,

		apiServiceScheme: newScheme(registrationinstall.Install),
		metricsScheme:    newScheme(metricsinstall.Install),
	}
	if s.listener != nil {
		a.address = s.listener.Address
	}
	a.advertised = a.address
	if err := a.readCommandLine(); err != nil {
		return nil, err
	}
	a.copied = len(o.Objects) > 0
	a.recorded = s.recorded
	a.chooseServiceRanges()
	// Clusters allow privileged pods, unless the command line has said otherwise. The first call in a process counts,
	// upstream ignores all others.
	capabilities.Setup(true, 0)

	a.loopback = inProcessConfig(s.transport, rand.Text())
	a.loopback.WarningHandlerWithContext = rest.NoWarnings{}
	a.loopback.UserAgent = serverAgent
	var err error
	if a.client, err = kubernetes.NewForConfig(a.loopback); err != nil {
		return nil, fmt.Errorf("building the server's client: %w", err)
	}
	if a.dynamic, err = dynamic.NewForConfig(a.loopback); err != nil {
		return nil, fmt.Errorf("building the server's dynamic client: %w", err)
	}
	if s.informerName, err = cache.NewInformerName("kube-apiserver"); err != nil {
		s.informerName = nil // another server of this process has the name: only one is measured
	}
	a.informers = informers.NewSharedInformerFactoryWithOptions(a.client, 0,
		informers.WithTransform(dropManagedFields), informers.WithInformerName(s.informerName))
	s.informers = a.informers
	forSlices := a.informers
	if o.Recorded != nil { // its informers are only those of kinds that were recorded
		forSlices = informers.NewSharedInformerFactory(a.client, 0)
	}
	a.endpointSlices, err = proxy.NewEndpointSliceIndexerGetter(forSlices.Discovery().V1().EndpointSlices())
	if err != nil {
		return nil, fmt.Errorf("building the getter of endpoint slices: %w", err)
	}
	if a.auth, err = newAuth(a.ctx, a.client, a.informers, o); err != nil {
		return nil, err
	}
	for _, file := range a.auth.files {
		s.tasks.Go(func() { file.Run(s.ctx, 1) })
	}
	a.startFlowControl(s)
	s.key = a.auth.key
	s.admin = inProcessConfig(s.transport, a.auth.token)
	if o.DefaultServiceAccounts {
		a.accounts, err = newDefaultAccounts(a.ctx, a.client, a.informers)
	}
	return a, err
}

// startFlowControl starts API priority and fairness, unless the command line has turned it off. A recording is served
// without it.
func (a *assembly) startFlowControl(s *Server) {
	if line := a.options.CommandLine; line != nil && !line.Features.EnablePriorityAndFairness {
		s.steps.finish(stepFlowControl)
		return
	}
	if a.options.Recorded != nil {
		return
	}
	a.flows = newFlowControl(a.client, a.requestsAtOnce())
	s.tasks.Go(func() {
		s.steps.finish(stepFlowControl)
		a.flows.run(s.ctx, func(ctx context.Context) error { return s.steps.wait(ctx, stepFlowSchemas) })
	})
}

// requestsAtOnce returns how many requests are served at a time.
func (a *assembly) requestsAtOnce() int {
	if line := a.options.CommandLine; line != nil {
		run := line.GenericServerRunOptions
		return run.MaxRequestsInFlight + run.MaxMutatingRequestsInFlight
	}
	return requestsAtOnce
}

// readCommandLine sets what depends on Options.CommandLine alone; nothing without one.
func (a *assembly) readCommandLine() error {
	line := a.options.CommandLine
	if line == nil {
		return nil
	}
	var errs [2]error
	a.served, errs[0] = line.served()
	a.audit, a.auditRules, errs[1] = line.auditing()
	run := line.GenericServerRunOptions
	a.version = effectiveVersion{run.ComponentGlobalsRegistry.EffectiveVersionFor(run.ComponentName),
		KubernetesVersion()}
	_, port, err := net.SplitHostPort(a.address)
	a.advertised = net.JoinHostPort(run.AdvertiseAddress.String(), port)
	return errors.Join(errs[0], errs[1], err)
}

// chooseServiceRanges sets the ranges of the addresses of Services: those of the ServiceCIDRs among the objects, else
// those of the options, else kubeadm's.
func (a *assembly) chooseServiceRanges() {
	a.serviceRanges = serviceRanges(a.options.Objects)
	switch a.serviceRangesGiven = a.serviceRanges != nil; {
	case a.serviceRangesGiven:
	case len(a.options.ServiceRanges) > 0:
		a.serviceRanges = a.options.ServiceRanges
	default:
		a.serviceRanges = []string{serviceRange}
	}
}

// build makes the two generic servers and connects them.
func (a *assembly) build(s *Server) error {
	groups := a.recorded.discovery(aggregated.NewResourceManager("apis"))
	setPriorities(groups, a.priorities())
	storage, err := newBuiltInStorage(a.backend, a.version, a.served)
	if err != nil {
		return err
	}
	schemes := []*runtime.Scheme{legacyscheme.Scheme, apiextensionsserver.Scheme, a.apiServiceScheme}
	if a.options.Metrics != nil {
		schemes = append(schemes, a.metricsScheme)
	}
	config := a.genericConfig(genericOptions{
		definitions: generatedopenapi.GetOpenAPIDefinitions,
		schemes:     schemes,
		served:      a.served,
		storage:     storage,
		discovery:   groups,
	})
	config.SkipOpenAPIInstallation = true
	config.EnableDiscovery = false
	a.serverID = config.APIServerID
	if s.custom, err = a.customResourceServer(groups); err != nil {
		return err
	}
	if s.kinds, err = newKinds(s.custom.Informers.Apiextensions().V1().CustomResourceDefinitions()); err != nil {
		return fmt.Errorf("observing the definitions of kinds: %w", err)
	}
	if s.generic, err = config.Complete(a.informers).New("kube-apiserver", s.custom.GenericAPIServer); err != nil {
		return fmt.Errorf("building the API server: %w", err)
	}
	if err := a.installGroups(s.generic, storage); err != nil {
		return err
	}
	if err := a.installOpenID(s.generic); err != nil {
		return err
	}
	if err := s.addHealthChecks(); err != nil {
		return err
	}
	s.generic.PrepareRun()
	installOpenAPI(s.generic, s.custom.GenericAPIServer, config)
	root := newRootDiscovery(groups, config.Serializer)
	s.generic.Handler.NonGoRestfulMux.Handle("/apis", root)
	s.generic.Handler.NonGoRestfulMux.UnlistedHandle("/apis/", root)
	return nil
}

// installOpenID serves the OpenID metadata of the issuer of service account tokens.
func (a *assembly) installOpenID(server *genericapiserver.GenericAPIServer) error {
	provider, err := serviceaccount.NewOpenIDMetadataProvider(a.auth.issuers[0], a.auth.jwksURI, a.address, a.auth.keys)
	if err != nil && a.options.CommandLine != nil {
		klog.FromContext(a.ctx).Info("Not publishing the issuer of service account tokens", "reason", err)
		return nil // as upstream: an issuer need not be a URL
	}
	if err != nil {
		return fmt.Errorf("publishing the issuer of service account tokens: %w", err)
	}
	routes.NewOpenIDMetadataServer(provider).Install(server.Handler.GoRestfulContainer)
	return nil
}

// inProcessConfig returns a client configuration that authenticates with token.
func inProcessConfig(t http.RoundTripper, token string) *rest.Config {
	return &rest.Config{
		Host:        "https://kubernetes.default.svc",
		Transport:   t,
		BearerToken: token,
		QPS:         -1,
		ContentConfig: rest.ContentConfig{
			ContentType:        runtime.ContentTypeProtobuf,
			AcceptContentTypes: runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON,
		},
	}
}

// dropManagedFields keeps the server's caches small. It mirrors BuildGenericConfig of
// k8s.io/kubernetes/pkg/controlplane/apiserver/config.go.
func dropManagedFields(obj any) (any, error) {
	if object, err := meta.Accessor(obj); err == nil && object.GetManagedFields() != nil {
		object.SetManagedFields(nil)
	}
	return obj, nil
}

// storageTimeout is kube-apiserver's default --storage-initialization-timeout.
const storageTimeout = time.Minute

// genericOptions are what differs between the server of the built-in groups and that of custom resources.
type genericOptions struct {
	definitions openapicommon.GetOpenAPIDefinitions
	schemes     []*runtime.Scheme
	served      *serverstorage.ResourceConfig
	storage     generic.RESTOptionsGetter
	discovery   aggregated.ResourceManager
}

// genericConfig returns the configuration of a generic server. It mirrors BuildGenericConfig of
// k8s.io/kubernetes/pkg/controlplane/apiserver/config.go.
func (a *assembly) genericConfig(p genericOptions) *genericapiserver.Config {
	c := genericapiserver.NewConfig(legacyscheme.Codecs)
	c.EffectiveVersion = a.version
	c.ExternalAddress = a.address
	c.LoopbackClientConfig = a.loopback
	c.MergedResourceConfig = p.served
	c.RESTOptionsGetter = p.storage
	c.AggregatedDiscoveryGroupManager = p.discovery
	c.AdmissionControl = a.gate
	c.Authentication.Authenticator = a.auth.authenticator
	c.Authentication.APIAudiences = a.auth.audiences
	c.Authentication.RequestHeaderConfig = a.auth.requestHeaders
	c.AuditBackend, c.AuditPolicyRuleEvaluator = a.audit, a.auditRules
	c.Authorization.Authorizer = a.auth.authorizer
	c.RuleResolver = a.auth.rules
	c.BuildHandlerChainFunc = a.handlerChain
	c.LongRunningFunc = serverfilters.BasicLongRunningRequestCheck(
		sets.NewString("watch", "proxy"), sets.NewString("attach", "exec", "proxy", "log", "portforward"))
	c.EnableProfiling = false
	c.DisabledPostStartHooks.Insert("priority-and-fairness-config-consumer") // Start runs it
	if a.flows != nil {
		c.FlowControl = a.flows
	} else if a.recorded != nil {
		c.DisabledPostStartHooks.Insert("generic-apiserver-start-informers", "max-in-flight-filter")
	}
	c.StorageObjectCountTracker = a.backend.counts
	c.StorageInitializationTimeout = storageTimeout
	basic := []healthz.HealthChecker{healthz.PingHealthz, a.logs}
	c.HealthzChecks, c.LivezChecks, c.ReadyzChecks = slices.Clone(basic), slices.Clone(basic), slices.Clone(basic)
	addStorageChecks(c, a.backend.store)

	if a.options.CommandLine != nil {
		a.options.CommandLine.configureGeneric(c)
	}
	definitions := utilopenapi.GetOpenAPIDefinitionsWithoutDisabledFeatures(p.definitions)
	namer := openapinamer.NewDefinitionNamer(p.schemes...)
	c.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(definitions, namer)
	c.OpenAPIConfig.Info.Title = "Kubernetes"
	c.OpenAPIConfig.SecurityDefinitions = a.auth.security
	c.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(definitions, namer)
	c.OpenAPIV3Config.Info.Title = "Kubernetes"
	c.OpenAPIV3Config.SecuritySchemes = a.auth.schemes
	return c
}

// handlerChain returns api behind the filters that every request passes. It mirrors DefaultBuildHandlerChain of
// k8s.io/apiserver/pkg/server/config.go without what is not needed here: tracing, and the wait for other servers'
// discovery. Audit logs, CORS and HSTS do nothing without Options.CommandLine.
func (a *assembly) handlerChain(api http.Handler, c *genericapiserver.Config) http.Handler {
	api = a.recordedHandler(api, c.Serializer)
	timed := func(h http.Handler, filter string) http.Handler {
		return filterlatency.TrackStarted(h, c.TracerProvider, filter)
	}
	h := genericfilters.WithAuthorization(filterlatency.TrackCompleted(api), c.Authorization.Authorizer, c.Serializer)
	h = timed(h, "authorization")
	switch {
	case c.FlowControl != nil:
		h = timed(withFlowControl(filterlatency.TrackCompleted(h), c), "priorityandfairness")
	case a.recorded == nil:
		h = serverfilters.WithMaxInFlightLimit(h, c.MaxRequestsInFlight, c.MaxMutatingRequestsInFlight,
			c.LongRunningFunc)
	}
	h = filterlatency.TrackCompleted(h)
	if c.FeatureGate.Enabled(features.ConstrainedImpersonation) {
		h = impersonation.WithConstrainedImpersonation(h, c.Authorization.Authorizer, c.Serializer)
		h = timed(h, "constrainedimpersonation")
	} else {
		h = impersonation.WithImpersonation(h, c.Authorization.Authorizer, c.Serializer)
		h = timed(h, "impersonation")
	}
	if c.AuditBackend != nil {
		h = genericfilters.WithAudit(filterlatency.TrackCompleted(h), c.AuditBackend, c.AuditPolicyRuleEvaluator,
			c.LongRunningFunc)
		h = timed(h, "audit")
	}
	unauthorized := genericfilters.WithFailedAuthenticationAudit(genericfilters.Unauthorized(c.Serializer),
		c.AuditBackend, c.AuditPolicyRuleEvaluator)
	h = genericfilters.WithAuthentication(
		filterlatency.TrackCompleted(h), c.Authentication.Authenticator, filterlatency.TrackCompleted(unauthorized),
		c.Authentication.APIAudiences, c.Authentication.RequestHeaderConfig)
	h = timed(h, "authentication")
	h = serverfilters.WithCORS(h, c.CorsAllowedOriginList, nil, nil, nil, "true")
	h = genericfilters.WithWarningRecorder(h)
	h = serverfilters.WithTimeoutForNonLongRunningRequests(h, c.LongRunningFunc)
	h = genericfilters.WithRequestDeadline(h, c.AuditBackend, c.AuditPolicyRuleEvaluator, c.LongRunningFunc,
		c.Serializer, c.RequestTimeout)
	if c.GoawayChance > 0 {
		h = serverfilters.WithProbabilisticGoaway(h, c.GoawayChance)
	}
	h = serverfilters.WithHSTS(genericfilters.WithCacheControl(h), c.HSTSDirectives)
	h = genericfilters.WithLatencyTrackers(h)
	h = genericfilters.WithRequestInfo(h, c.RequestInfoResolver)
	h = genericfilters.WithRequestReceivedTimestamp(h)
	h = serverfilters.WithPanicRecovery(h, c.RequestInfoResolver)
	return genericfilters.WithAuditInit(h)
}
