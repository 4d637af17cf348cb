package api

import (
	"net/http"

	genericfilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	"k8s.io/apiserver/pkg/features"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverfilters "k8s.io/apiserver/pkg/server/filters"
)

// handlerChain is what every request passes before it reaches the API. It mirrors DefaultBuildHandlerChain of
// k8s.io/apiserver/pkg/server/config.go and leaves out what a server for one user has no use for: priority and fairness
// and the limit of requests in flight, audit logs (audit identifiers stay), tracing, CORS, HSTS, latency trackers and the
// wait for other servers' discovery.
func handlerChain(api http.Handler, c *genericapiserver.Config) http.Handler {
	h := genericfilters.WithAuthorization(api, c.Authorization.Authorizer, c.Serializer)
	if c.FeatureGate.Enabled(features.ConstrainedImpersonation) {
		h = impersonation.WithConstrainedImpersonation(h, c.Authorization.Authorizer, c.Serializer)
	} else {
		h = impersonation.WithImpersonation(h, c.Authorization.Authorizer, c.Serializer)
	}
	unauthorized := genericfilters.Unauthorized(c.Serializer)
	h = genericfilters.WithAuthentication(h, c.Authentication.Authenticator, unauthorized, c.Authentication.APIAudiences, nil)
	h = genericfilters.WithWarningRecorder(h)
	h = serverfilters.WithTimeoutForNonLongRunningRequests(h, c.LongRunningFunc)
	h = genericfilters.WithRequestDeadline(h, c.AuditBackend, c.AuditPolicyRuleEvaluator, c.LongRunningFunc, c.Serializer, c.RequestTimeout)
	h = genericfilters.WithCacheControl(h)
	h = genericfilters.WithRequestInfo(h, c.RequestInfoResolver)
	h = genericfilters.WithRequestReceivedTimestamp(h)
	h = serverfilters.WithPanicRecovery(h, c.RequestInfoResolver)
	return genericfilters.WithAuditInit(h)
}
