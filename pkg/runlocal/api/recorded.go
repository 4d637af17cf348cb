package api

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
	custommetrics "k8s.io/metrics/pkg/apis/custom_metrics"
	externalmetrics "k8s.io/metrics/pkg/apis/external_metrics"
	"k8s.io/metrics/pkg/apis/metrics"
	netutils "k8s.io/utils/net"
)

// Recorded makes a server one that serves what was recorded of another: the kinds that were recorded with
// Options.Objects, and nothing that an API server makes of its own. It runs no controllers, and all who authenticate
// may do what can be done: the policy of the cluster need not be among the objects.
type Recorded struct {
	// Resources are the kinds that were recorded. Others are not served: requests for them are answered with an error
	// that gives the reason.
	Resources []RecordedResource
	// Definitions are CustomResourceDefinitions of recorded kinds that were not recorded themselves. Clients do not see
	// them. They are used only if the kind of definitions is not among Resources.
	Definitions []StoredObject
	// Writable lets clients write. Of kube-apiserver's admission plugins those run whose kinds were recorded, and that
	// neither count quotas nor call webhooks or evaluate policies.
	Writable bool
	// ReadOnly is the message of refused writes, "" for a default.
	ReadOnly string
	// Users authenticate by their tokens, beside the administrator.
	Users []RecordedUser
	// Handler, if it is not nil, is put around what serves the requests of clients, after authentication and
	// authorization; the context has the request info and the user. It is called once.
	Handler func(next http.Handler) http.Handler
}

// RecordedUser is a user with a bearer token.
type RecordedUser struct {
	Name  string
	Token string
}

// NewToken returns a token that cannot be guessed.
func NewToken() string { return rand.Text() }

// RecordedResource is a kind of which objects were recorded.
type RecordedResource struct {
	Kind     schema.GroupVersionKind
	Resource string // the plural name in URLs
	// ResourceVersion is that of lists and of new watches: of the newest list, event or bookmark that was recorded.
	ResourceVersion uint64
	// Scopes are the selections that were recorded. Requests for others are answered with a warning, or with an error
	// for a single object. Nil means all objects.
	Scopes []RecordedScope
}

// RecordedScope selects objects of a kind: a namespace, empty for all of them, and selectors, empty for all objects.
type RecordedScope struct {
	Namespace, Labels, Fields string
}

// GroupResource returns the name of the kind that is the same in all versions.
func (r *RecordedResource) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Kind.Group, Resource: r.Resource}
}

// hidden returns the definitions that clients do not see.
func (k recordedKinds) hidden(o *Recorded) []StoredObject {
	if k == nil || k.find(definitionsResource) != nil {
		return nil
	}
	return o.Definitions
}

// definitionsResource is the resource of CustomResourceDefinitions.
var definitionsResource = apiextensionsv1.Resource("customresourcedefinitions")

// recordedKinds are the kinds of a server with Options.Recorded, by the name under which they are stored: the Events of
// the two groups are the same objects.
type recordedKinds map[schema.GroupResource]*RecordedResource

// StoredAs returns the name under which the objects of a kind are stored, which is another one for Events of
// events.k8s.io only. Of two kinds that are stored as one only one may be among Recorded.Resources.
func StoredAs(gr schema.GroupResource) schema.GroupResource {
	if gr == eventsv1.Resource("events") {
		return corev1.Resource("events")
	}
	return gr
}

func newRecordedKinds(o *Recorded) recordedKinds {
	if o == nil {
		return nil
	}
	kinds := recordedKinds{}
	for i := range o.Resources {
		kinds[StoredAs(o.Resources[i].GroupResource())] = &o.Resources[i]
	}
	return kinds
}

// find returns the kind of a resource; nil if it was not recorded.
func (k recordedKinds) find(gr schema.GroupResource) *RecordedResource { return k[StoredAs(gr)] }

// isAnswered reports whether the resources of a group are questions to the server, which are answered and not stored:
// reviews, and metrics, which are those of simulated pods or none.
func isAnswered(group string) bool {
	switch group {
	case "authentication.k8s.io", "authorization.k8s.io",
		metrics.GroupName, custommetrics.GroupName, externalmetrics.GroupName:
		return true
	}
	return false
}

// keep removes from a group what was not recorded. The storage of what is removed has nothing that must be ended: its
// watches cannot be requested.
func (k recordedKinds) keep(group string, info *genericapiserver.APIGroupInfo) {
	if k == nil || isAnswered(group) {
		return
	}
	for version, resources := range info.VersionedResourcesStorageMap {
		for name := range resources {
			parent, _ := splitSubresource(name)
			if k.find(schema.GroupResource{Group: group, Resource: parent}) == nil {
				delete(resources, name)
			}
		}
		if len(resources) == 0 {
			delete(info.VersionedResourcesStorageMap, version)
		}
	}
}

// splitSubresource divides the name of a storage such as "pods/status".
func splitSubresource(name string) (resource, subresource string) {
	for i, c := range name {
		if c == '/' {
			return name[:i], name[i+1:]
		}
	}
	return name, ""
}

// recordedAuthorizer allows everything to all who authenticate. What cannot be done is refused elsewhere.
type recordedAuthorizer struct {
	authorizer.Authorizer
	authorizer.RuleResolver
}

func newRecordedAuthorizer() recordedAuthorizer {
	all := authorizerfactory.NewAlwaysAllowAuthorizer()
	return recordedAuthorizer{all, all}
}

// Authorize implements authorizer.Authorizer.
func (a recordedAuthorizer) Authorize(
	ctx context.Context, request authorizer.Attributes,
) (authorizer.Decision, string, error) {
	who := request.GetUser()
	if who == nil || !slices.Contains(who.GetGroups(), user.AllAuthenticated) && who.GetName() != user.APIServerUser {
		return authorizer.DecisionNoOpinion, "", nil
	}
	return a.Authorizer.Authorize(ctx, request)
}

// ConditionsAwareAuthorize implements authorizer.Authorizer: there are no conditions.
func (a recordedAuthorizer) ConditionsAwareAuthorize(
	ctx context.Context, request authorizer.Attributes,
) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(a.Authorize(ctx, request))
}

// memoryAddresses returns allocators of cluster addresses that need no objects: ServiceCIDRs and IPAddresses may not
// have been recorded. The addresses of recorded Services are taken.
func (p *coreProvider) memoryAddresses() (map[core.IPFamily]ipallocator.Interface, core.IPFamily, error) {
	allocators := map[core.IPFamily]ipallocator.Interface{}
	for _, text := range p.serviceRanges {
		_, cidr, err := net.ParseCIDR(text)
		if err != nil {
			return nil, "", fmt.Errorf("reading the service range %q: %w", text, err)
		}
		allocator, err := ipallocator.NewInMemory(cidr)
		if err != nil {
			return nil, "", err
		}
		for _, text := range p.clusterIPs {
			if ip := netutils.ParseIPSloppy(text); ip != nil {
				_ = allocator.Allocate(ip) // of a range that is the cluster's, not this one
			}
		}
		allocators[familyOf(text)] = allocator
	}
	return allocators, familyOf(p.serviceRanges[0]), nil
}

// plugins returns the admission plugins of a writable server, in the order in which they run: those that read no kind
// but the recorded ones.
func (k recordedKinds) plugins() []string {
	none := schema.GroupResource{}
	reads := map[string]schema.GroupResource{
		"NamespaceLifecycle":           corev1.Resource("namespaces"),
		"LimitRanger":                  corev1.Resource("limitranges"),
		"ServiceAccount":               corev1.Resource("serviceaccounts"),
		"TaintNodesByCondition":        none,
		"Priority":                     schedulingv1.Resource("priorityclasses"),
		"DefaultTolerationSeconds":     none,
		"DefaultStorageClass":          storagev1.Resource("storageclasses"),
		"StorageObjectInUseProtection": none,
		"RuntimeClass":                 nodev1.Resource("runtimeclasses"),
		"DefaultIngressClass":          networkingv1.Resource("ingressclasses"),
	}
	var out []string
	for _, plugin := range enabledPlugins(nil, nil) {
		if kind, ok := reads[plugin]; ok && (kind == none || k.find(kind) != nil) {
			out = append(out, plugin)
		}
	}
	return out
}

// openRecordedAdmission builds the plugins of a writable server; a server that is read-only has none.
func (s *Server) openRecordedAdmission(ctx context.Context, a *assembly) error {
	var chain admission.Interface = admission.NewChainHandler()
	if a.options.Recorded.Writable {
		var err error
		if chain, err = a.admissionChain(a.recorded.plugins(), a.basicInitializers()); err != nil {
			return err
		}
		if err := s.fill(ctx, a.informers); err != nil {
			return err
		}
		s.caches = startedCaches(a.informers)
	}
	a.gate.open(chain)
	return nil
}

// startRecorded does what start does with Options.Recorded in place of making system objects and running controllers.
func (s *Server) startRecorded(ctx context.Context, a *assembly) error {
	if err := s.openRecordedAdmission(ctx, a); err != nil {
		return err
	}
	if err := s.runHooks(); err != nil {
		return err
	}
	for _, step := range s.steps {
		s.steps.finish(step.name)
	}
	if err := s.awaitRecordedKinds(ctx); err != nil {
		return err
	}
	s.tasks.Go(func() { s.logs.run(s.ctx) })
	if s.listener != nil {
		s.listener.Serve(s.ctx, s.generic.Handler)
	}
	return nil
}
