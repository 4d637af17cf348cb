package nodes

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	volumehelpers "k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/engine"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

// Names of the simulated provisioner: in a trace, and in StorageClasses.
const (
	ProvisionerName = "provisioner"
	// Provisioner is the provisioner of a StorageClass with simulated volumes.
	Provisioner = "kubectl-reconcile.github.io/hostpath"
	// DefaultStorageClass is the class that StartProvisioner creates if no class is the default.
	DefaultStorageClass = "standard"
)

// ProvisionerOptions say what a provisioner works on. Config and Informers are needed.
type ProvisionerOptions struct {
	// Config reaches the API; its user must be allowed to write volumes, claims, StorageClasses and Events.
	Config *rest.Config
	// Informers provide claims, volumes, classes and nodes; if they are those of Tap, their events are recorded.
	// StartProvisioner starts them.
	Informers informers.SharedInformerFactory
	// Tap observes the provisioner, under ProvisionerName. It may be nil.
	Tap *tap.Tap
	// Workers is how many claims and volumes are worked on at once; 0 means 4.
	Workers int
	// Copied is true if the API begins with a copy of a cluster. Then no StorageClass is created, and claims that were
	// not copied get volumes whatever the provisioner of their class, unless that is for volumes made by hand.
	Copied bool
}

// RunningProvisioner makes volumes until it is stopped. Its methods may be called concurrently.
type RunningProvisioner struct {
	controller *engine.Controller
	events     record.EventBroadcaster
	finished   chan struct{}
	err        error
}

// provisioner does what the external provisioner of a storage driver does (controller/controller.go of
// sigs.k8s.io/sig-storage-lib-external-provisioner): it makes a volume for each claim that has its name in an
// annotation, and deletes the volume when it is released. It keeps no state.
type provisioner struct {
	client  kubernetes.Interface
	claims  corelisters.PersistentVolumeClaimLister
	volumes corelisters.PersistentVolumeLister
	classes storagelisters.StorageClassLister
	nodes   corelisters.NodeLister
	events  record.EventRecorder

	copied bool // ProvisionerOptions.Copied
	mu     sync.Mutex
	before map[types.UID]bool // claims that were copied; mu guards it
}

var _ engine.Reconciler = (*provisioner)(nil)

// StartProvisioner creates the default StorageClass if there is none, and begins to make volumes. It blocks only to
// create the class. When ctx ends, the informers end too, and everything stops as after Stop.
func StartProvisioner(ctx context.Context, o ProvisionerOptions) (*RunningProvisioner, error) {
	if o.Config == nil || o.Informers == nil {
		return nil, errors.New("starting the provisioner: a config and informers are needed")
	}
	if o.Tap == nil {
		o.Tap = tap.New(tap.Options{})
	}
	if o.Workers <= 0 {
		o.Workers = 4
	}
	observer := o.Tap.Controller(ProvisionerName)
	client, err := client(observer, "external-provisioner", Options{Config: o.Config})
	if err != nil {
		return nil, err
	}
	if !o.Copied {
		if err := ensureDefaultClass(ctx, client.StorageV1().StorageClasses()); err != nil {
			return nil, err
		}
	}
	// Events that are not written yet when ctx ends are written before the broadcaster is shut down.
	broadcaster := record.NewBroadcaster(record.WithContext(observer.Context(context.WithoutCancel(ctx))))
	events := client.CoreV1().Events(corev1.NamespaceAll)
	broadcaster.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: events})
	p := &RunningProvisioner{events: broadcaster, finished: make(chan struct{})}
	if p.controller, err = newProvisioner(ctx, o, observer, client, broadcaster); err == nil {
		err = p.controller.Start(ctx)
	}
	if err != nil {
		broadcaster.Shutdown()
		return nil, err
	}
	o.Informers.StartWithContext(ctx)
	go p.run()
	return p, nil
}

// newProvisioner makes the controller and registers its event handlers. It is not started.
func newProvisioner(
	ctx context.Context, o ProvisionerOptions, observer *tap.Controller, client kubernetes.Interface,
	events record.EventBroadcaster,
) (*engine.Controller, error) {
	core, storage := o.Informers.Core().V1(), o.Informers.Storage().V1()
	p := &provisioner{
		client: client, claims: core.PersistentVolumeClaims().Lister(), volumes: core.PersistentVolumes().Lister(),
		classes: storage.StorageClasses().Lister(), nodes: core.Nodes().Lister(),
		events: events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: Provisioner}),
		copied: o.Copied, before: map[types.UID]bool{},
	}
	c, err := engine.New(engine.Options{
		Name: ProvisionerName, Reconciler: p, Workers: o.Workers, MaxRetries: -1, Observer: tapObserver{observer},
	})
	if err != nil {
		return nil, err
	}
	err = observer.Build(ctx, func(ctx context.Context) error {
		return errors.Join(
			c.Watch(ctx, core.PersistentVolumeClaims().Informer(), p.onClaim, 0),
			c.Watch(ctx, core.PersistentVolumes().Informer(), onVolume, 0),
			c.Watch(ctx, storage.StorageClasses().Informer(), p.onClass, 0),
		)
	})
	if err != nil {
		c.Stop()
		return nil, errors.Join(err, c.Wait())
	}
	return c, nil
}

// run waits until the controller has stopped, and shuts the broadcaster down.
func (p *RunningProvisioner) run() {
	defer close(p.finished)
	p.err = ignoreNotSynced(p.controller.Wait())
	p.events.Shutdown()
}

// Stop has the provisioner stop and does not wait for that: volumes stay as they are. It may be called more than once.
func (p *RunningProvisioner) Stop() { p.controller.Stop() }

// Wait waits until everything has stopped, and returns why the controller did not stop in order. It may be called more
// than once, and concurrently.
func (p *RunningProvisioner) Wait() error {
	<-p.finished
	return p.err
}

// onClaim enqueues a claim that waits for a volume of the provisioner.
func (p *provisioner) onClaim(e engine.Event) []engine.Request {
	claim, ok := e.New.(*corev1.PersistentVolumeClaim)
	if ok && p.copied && e.Initial {
		p.mu.Lock()
		p.before[claim.UID] = true
		p.mu.Unlock()
		return nil
	}
	if ok && p.isForUs(claim) {
		return engine.Self(e)
	}
	return nil
}

// isForUs reports whether the claim waits for a volume of the provisioner.
func (p *provisioner) isForUs(claim *corev1.PersistentVolumeClaim) bool {
	name := provisionerOf(claim)
	if !p.copied {
		return name == Provisioner && claim.Spec.VolumeName == ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return name != "" && name != noProvisioner && claim.Spec.VolumeName == "" && !p.before[claim.UID]
}

// noProvisioner is the provisioner of classes whose volumes are made by hand. It mirrors NotSupportedProvisioner of
// k8s.io/component-helpers/storage/volume/pv_helpers.go.
const noProvisioner = "kubernetes.io/no-provisioner"

// onVolume enqueues a volume of Provisioner that is to be deleted, or whose finalizer is to be changed.
func onVolume(e engine.Event) []engine.Request {
	if volume, ok := e.New.(*corev1.PersistentVolume); ok && isOurs(volume) &&
		(isReleased(volume) || needsFinalizers(volume)) {
		return engine.Self(e)
	}
	return nil
}

// onClass enqueues the claims that wait for the class to be created.
func (p *provisioner) onClass(e engine.Event) []engine.Request {
	class, ok := e.New.(*storagev1.StorageClass)
	if !ok || e.Old != nil || !p.copied && class.Provisioner != Provisioner {
		return nil
	}
	claims, err := p.claims.List(labels.Everything())
	if err != nil {
		return nil // cannot happen: a lister reads a cache
	}
	var requests []engine.Request
	for _, claim := range claims {
		if p.isForUs(claim) && volumehelpers.GetPersistentVolumeClaimClass(claim) == class.Name {
			requests = append(requests, engine.Request{Namespace: claim.Namespace, Name: claim.Name})
		}
	}
	return requests
}

// Reconcile implements engine.Reconciler. A request with a namespace is about a claim, one without about a volume.
func (p *provisioner) Reconcile(ctx context.Context, r engine.Request) (engine.Result, error) {
	if r.Namespace == "" {
		return engine.Result{}, p.reclaim(ctx, r.Name)
	}
	return engine.Result{}, p.provision(ctx, r)
}

// claimKey returns the name of a claim in the Events of provisioners.
func claimKey(claim *corev1.PersistentVolumeClaim) string { return klog.KObj(claim).String() }

// recordFailure logs and records why a claim gets no volume. The claim is not retried until it changes.
func (p *provisioner) recordFailure(ctx context.Context, claim *corev1.PersistentVolumeClaim, why string) {
	klog.FromContext(ctx).Info("No volume for the claim", "claim", klog.KObj(claim), "reason", why)
	p.events.Event(claim, corev1.EventTypeWarning, "ProvisioningFailed", fmt.Sprintf("%s %s", Provisioner, why))
}
