package api

import (
	"net/http"

	"k8s.io/apiserver/pkg/endpoints/filterlatency"
	genericfilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	"k8s.io/apiserver/pkg/features"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverfilters "k8s.io/apiserver/pkg/server/filters"
)

// handlerChain is what every request passes before it reaches the API. It mirrors DefaultBuildHandlerChain of
// k8s.io/apiserver/pkg/server/config.go and leaves out what has nothing to do here: audit logs (audit identifiers stay), tracing,
// CORS, HSTS, and the wait for other servers' discovery.
func handlerChain(api http.Handler, c *genericapiserver.Config) http.Handler {
	timed := func(h http.Handler, filter string) http.Handler {
		return filterlatency.TrackStarted(h, c.TracerProvider, filter)
	}
	h := genericfilters.WithAuthorization(filterlatency.TrackCompleted(api), c.Authorization.Authorizer, c.Serializer)
	h = timed(h, "authorization")
	h = timed(withFlowControl(filterlatency.TrackCompleted(h), c), "priorityandfairness")
	h = filterlatency.TrackCompleted(h)
	if c.FeatureGate.Enabled(features.ConstrainedImpersonation) {
		h = impersonation.WithConstrainedImpersonation(h, c.Authorization.Authorizer, c.Serializer)
		h = timed(h, "constrainedimpersonation")
	} else {
		h = impersonation.WithImpersonation(h, c.Authorization.Authorizer, c.Serializer)
		h = timed(h, "impersonation")
	}
	unauthorized := filterlatency.TrackCompleted(genericfilters.Unauthorized(c.Serializer))
	h = genericfilters.WithAuthentication(
		filterlatency.TrackCompleted(h), c.Authentication.Authenticator, unauthorized, c.Authentication.APIAudiences, nil)
	h = timed(h, "authentication")
	h = genericfilters.WithWarningRecorder(h)
	h = serverfilters.WithTimeoutForNonLongRunningRequests(h, c.LongRunningFunc)
	h = genericfilters.WithRequestDeadline(h, c.AuditBackend, c.AuditPolicyRuleEvaluator, c.LongRunningFunc, c.Serializer, c.RequestTimeout)
	h = genericfilters.WithCacheControl(h)
	h = genericfilters.WithLatencyTrackers(h)
	h = genericfilters.WithRequestInfo(h, c.RequestInfoResolver)
	h = genericfilters.WithRequestReceivedTimestamp(h)
	h = serverfilters.WithPanicRecovery(h, c.RequestInfoResolver)
	return genericfilters.WithAuditInit(h)
}
