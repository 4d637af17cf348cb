package tap

import (
	"k8s.io/client-go/informers/admissionregistration"
	"k8s.io/client-go/informers/apiserverinternal"
	"k8s.io/client-go/informers/apps"
	"k8s.io/client-go/informers/autoscaling"
	"k8s.io/client-go/informers/batch"
	"k8s.io/client-go/informers/certificates"
	"k8s.io/client-go/informers/coordination"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/discovery"
	"k8s.io/client-go/informers/events"
	"k8s.io/client-go/informers/extensions"
	"k8s.io/client-go/informers/flowcontrol"
	"k8s.io/client-go/informers/lifecycle"
	"k8s.io/client-go/informers/networking"
	"k8s.io/client-go/informers/node"
	"k8s.io/client-go/informers/policy"
	"k8s.io/client-go/informers/rbac"
	"k8s.io/client-go/informers/resource"
	"k8s.io/client-go/informers/scheduling"
	"k8s.io/client-go/informers/storage"
	"k8s.io/client-go/informers/storagemigration"
)

// The accessors of the API groups, as client-go's informers/factory.go has them, but with the observing factory: an
// embedded factory would hand out informers of its own.

// Admissionregistration implements informers.SharedInformerFactory.
func (f *factory) Admissionregistration() admissionregistration.Interface {
	return admissionregistration.New(f, allNamespaces, nil)
}

// Internal implements informers.SharedInformerFactory.
func (f *factory) Internal() apiserverinternal.Interface {
	return apiserverinternal.New(f, allNamespaces, nil)
}

// Apps implements informers.SharedInformerFactory.
func (f *factory) Apps() apps.Interface { return apps.New(f, allNamespaces, nil) }

// Autoscaling implements informers.SharedInformerFactory.
func (f *factory) Autoscaling() autoscaling.Interface { return autoscaling.New(f, allNamespaces, nil) }

// Batch implements informers.SharedInformerFactory.
func (f *factory) Batch() batch.Interface { return batch.New(f, allNamespaces, nil) }

// Certificates implements informers.SharedInformerFactory.
func (f *factory) Certificates() certificates.Interface {
	return certificates.New(f, allNamespaces, nil)
}

// Coordination implements informers.SharedInformerFactory.
func (f *factory) Coordination() coordination.Interface {
	return coordination.New(f, allNamespaces, nil)
}

// Core implements informers.SharedInformerFactory.
func (f *factory) Core() core.Interface { return core.New(f, allNamespaces, nil) }

// Discovery implements informers.SharedInformerFactory.
func (f *factory) Discovery() discovery.Interface { return discovery.New(f, allNamespaces, nil) }

// Events implements informers.SharedInformerFactory.
func (f *factory) Events() events.Interface { return events.New(f, allNamespaces, nil) }

// Extensions implements informers.SharedInformerFactory.
func (f *factory) Extensions() extensions.Interface { return extensions.New(f, allNamespaces, nil) }

// Flowcontrol implements informers.SharedInformerFactory.
func (f *factory) Flowcontrol() flowcontrol.Interface { return flowcontrol.New(f, allNamespaces, nil) }

// Lifecycle implements informers.SharedInformerFactory.
func (f *factory) Lifecycle() lifecycle.Interface { return lifecycle.New(f, allNamespaces, nil) }

// Networking implements informers.SharedInformerFactory.
func (f *factory) Networking() networking.Interface { return networking.New(f, allNamespaces, nil) }

// Node implements informers.SharedInformerFactory.
func (f *factory) Node() node.Interface { return node.New(f, allNamespaces, nil) }

// Policy implements informers.SharedInformerFactory.
func (f *factory) Policy() policy.Interface { return policy.New(f, allNamespaces, nil) }

// Rbac implements informers.SharedInformerFactory.
func (f *factory) Rbac() rbac.Interface { return rbac.New(f, allNamespaces, nil) }

// Resource implements informers.SharedInformerFactory.
func (f *factory) Resource() resource.Interface { return resource.New(f, allNamespaces, nil) }

// Scheduling implements informers.SharedInformerFactory.
func (f *factory) Scheduling() scheduling.Interface { return scheduling.New(f, allNamespaces, nil) }

// Storage implements informers.SharedInformerFactory.
func (f *factory) Storage() storage.Interface { return storage.New(f, allNamespaces, nil) }

// Storagemigration implements informers.SharedInformerFactory.
func (f *factory) Storagemigration() storagemigration.Interface {
	return storagemigration.New(f, allNamespaces, nil)
}
