package api

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// priority orders groups, and versions in a group, in discovery: the highest first.
type priority struct{ group, version int32 }

// priorities are those of pkg/controlplane/apiserver/aggregator.go and cmd/kube-apiserver/app/aggregator.go, for what is served. They
// decide which group an unqualified resource name means, and which version of a group clients prefer.
func priorities() map[schema.GroupVersion]priority {
	return map[schema.GroupVersion]priority{
		corev1.SchemeGroupVersion:                  {18000, 1},
		appsv1.SchemeGroupVersion:                  {17800, 15},
		eventsv1.SchemeGroupVersion:                {17750, 15},
		authenticationv1.SchemeGroupVersion:        {17700, 15},
		authorizationv1.SchemeGroupVersion:         {17600, 15},
		autoscalingv1.SchemeGroupVersion:           {17500, 15},
		autoscalingv2.SchemeGroupVersion:           {17500, 30},
		batchv1.SchemeGroupVersion:                 {17400, 15},
		certificatesv1.SchemeGroupVersion:          {17300, 15},
		networkingv1.SchemeGroupVersion:            {17200, 15},
		policyv1.SchemeGroupVersion:                {17100, 15},
		rbacv1.SchemeGroupVersion:                  {17000, 15},
		storagev1.SchemeGroupVersion:               {16800, 15},
		apiextensionsv1.SchemeGroupVersion:         {16700, 15},
		admissionregistrationv1.SchemeGroupVersion: {16700, 15},
		schedulingv1.SchemeGroupVersion:            {16600, 15},
		coordinationv1.SchemeGroupVersion:          {16500, 15},
		nodev1.SchemeGroupVersion:                  {16300, 15},
		discoveryv1.SchemeGroupVersion:             {16200, 15},
		resourcev1.SchemeGroupVersion:              {16200, 21},
		flowcontrolv1.SchemeGroupVersion:           {16100, 21},
		storagemigrationv1.SchemeGroupVersion:      {15800, 15},
	}
}

// priorities are those of what this server serves.
func (a *assembly) priorities() map[schema.GroupVersion]priority {
	all := priorities()
	if a.options.Metrics != nil {
		all[metricsv1beta1.SchemeGroupVersion] = priority{100, 100} // as metrics-server registers itself
	}
	return all
}

// registrationPriority is APIRegistrationGroupPriority of k8s.io/kube-aggregator/pkg/apiserver/handler_discovery.go.
const registrationPriority = 20001

// setPriorities orders the groups of manager. Those of custom resources are ordered by upstream's controller of their discovery.
func setPriorities(manager aggregated.ResourceManager, all map[schema.GroupVersion]priority) {
	// The aggregation layer puts its own group first; it has no APIService.
	manager.SetGroupVersionPriority(metav1.GroupVersion(apiregistrationv1.SchemeGroupVersion), registrationPriority, 0)
	for gv, p := range all {
		manager.SetGroupVersionPriority(metav1.GroupVersion(gv), int(p.group), int(p.version))
	}
}
