package tap

import (
	"fmt"
	"go/ast"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	endpointsliceutil "k8s.io/endpointslice/util"
	"k8s.io/kubernetes/pkg/controller/bootstrap"
	"k8s.io/kubernetes/pkg/controller/certificates"
	"k8s.io/kubernetes/pkg/controller/certificates/clustertrustbundlepublisher"
	"k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/cronjob"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/devicetainteviction"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/endpoint"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/endpointslicemirroring"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podgc"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/resourceclaim"
	"k8s.io/kubernetes/pkg/controller/resourcepoolstatusrequest"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	"k8s.io/kubernetes/pkg/controller/scheduling/podgroupprotection"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/controller/servicecidrs"
	"k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/kubernetes/pkg/controller/storageversiongc"
	"k8s.io/kubernetes/pkg/controller/storageversionmigrator"
	"k8s.io/kubernetes/pkg/controller/tainteviction"
	"k8s.io/kubernetes/pkg/controller/ttl"
	"k8s.io/kubernetes/pkg/controller/ttlafterfinished"
	"k8s.io/kubernetes/pkg/controller/validatingadmissionpolicystatus"
	"k8s.io/kubernetes/pkg/controller/volume/persistentvolume"
	"k8s.io/kubernetes/pkg/controller/volume/pvcprotection"
	"k8s.io/kubernetes/pkg/controller/volume/pvprotection"
	"k8s.io/kubernetes/pkg/controller/volume/vacprotection"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/upstreamsource"
)

// Keys of types that upstream does not export.
type (
	orphanPodKey struct {
		kind             int
		namespace, value string
	}
	serviceAccountQueueKey struct {
		namespace, name string
		uid             types.UID
	}
	secretQueueKey struct {
		namespace, name string
		uid             types.UID
		saName          string
		saUID           types.UID
	}
	podUpdateItem        struct{ namespace, name string }
	taintNodeUpdateItem  struct{ nodeName string }
	taintPodUpdateItem   struct{ podName, podNamespace, nodeName string }
	deviceTaintEvictItem struct {
		podRef, ruleRef tainteviction.NamespacedObject
	}
)

// fits finds why the queue in a field could not be replaced.
type fits func() error

// queueOfKeys is for a field of type C.
func queueOfKeys[C any, K comparable](field string) fits {
	return func() error { return CheckQueueField[K](reflect.TypeFor[C](), field) }
}

// queueOfStrings is for a field of type C.
func queueOfStrings[C any](field string) fits { return queueOfKeys[C, string](field) }

// queueOfPointers is for a field of type C whose keys are only passed on, or named by Identities.
func queueOfPointers[C any](field string) fits {
	return func() error {
		t, err := fieldType(reflect.TypeFor[C](), field)
		if err != nil {
			return err
		}
		if !isQueueOfPointers(t) {
			return fmt.Errorf("field %q is a %v, not a queue of pointers", field, t)
		}
		return nil
	}
}

// unseen is for a queue whose field cannot be looked at from outside of its package, or that is not observed. The
// reason is for readers of the table.
func unseen(string) fits { return func() error { return nil } }

// upstreamQueues are all the queues in upstream's controllers: the package below pkg/controller, the struct and the
// field.
var upstreamQueues = map[string]fits{
	"bootstrap Signer.syncQueue":                                                 queueOfStrings[bootstrap.Signer]("syncQueue"),
	"bootstrap TokenCleaner.queue":                                               queueOfStrings[bootstrap.TokenCleaner]("queue"),
	"certificates CertificateController.queue":                                   queueOfStrings[certificates.CertificateController]("queue"),
	"certificates/clustertrustbundlepublisher ClusterTrustBundlePublisher.queue": queueOfStrings[clustertrustbundlepublisher.ClusterTrustBundlePublisher[certificatesv1beta1.ClusterTrustBundle]]("queue"),
	"certificates/rootcacertpublisher Publisher.queue":                           queueOfStrings[rootcacertpublisher.Publisher]("queue"),
	"clusterroleaggregation ClusterRoleAggregationController.queue":              queueOfStrings[clusterroleaggregation.ClusterRoleAggregationController]("queue"),
	"cronjob ControllerV2.queue":                                                 queueOfStrings[cronjob.ControllerV2]("queue"),
	"daemon DaemonSetsController.nodeUpdateQueue":                                queueOfStrings[daemon.DaemonSetsController]("nodeUpdateQueue"),
	"daemon DaemonSetsController.queue":                                          queueOfStrings[daemon.DaemonSetsController]("queue"),
	"deployment DeploymentController.queue":                                      queueOfStrings[deployment.DeploymentController]("queue"),
	"devicetainteviction Controller.workqueue":                                   queueOfKeys[devicetainteviction.Controller, deviceTaintEvictItem]("workqueue"),
	"disruption DisruptionController.queue":                                      queueOfStrings[disruption.DisruptionController]("queue"),
	"disruption DisruptionController.recheckQueue":                               queueOfStrings[disruption.DisruptionController]("recheckQueue"),
	"disruption DisruptionController.stalePodDisruptionQueue":                    queueOfStrings[disruption.DisruptionController]("stalePodDisruptionQueue"),
	"endpoint Controller.podQueue":                                               queueOfKeys[endpoint.Controller, *endpointsliceutil.PodProjectionKey]("podQueue"),
	"endpoint Controller.queue":                                                  queueOfStrings[endpoint.Controller]("queue"),
	"endpointslice Controller.podQueue":                                          queueOfKeys[endpointslice.Controller, *endpointsliceutil.PodProjectionKey]("podQueue"),
	"endpointslice Controller.serviceQueue":                                      queueOfStrings[endpointslice.Controller]("serviceQueue"),
	"endpointslice Controller.topologyQueue":                                     queueOfStrings[endpointslice.Controller]("topologyQueue"),
	"endpointslicemirroring Controller.queue":                                    queueOfStrings[endpointslicemirroring.Controller]("queue"),
	"garbagecollector GarbageCollector.attemptToDelete":                          queueOfPointers[garbagecollector.GarbageCollector]("attemptToDelete"),
	"garbagecollector GarbageCollector.attemptToOrphan":                          queueOfPointers[garbagecollector.GarbageCollector]("attemptToOrphan"),
	"garbagecollector GraphBuilder.attemptToDelete":                              queueOfPointers[garbagecollector.GraphBuilder]("attemptToDelete"),
	"garbagecollector GraphBuilder.attemptToOrphan":                              queueOfPointers[garbagecollector.GraphBuilder]("attemptToOrphan"),
	"garbagecollector GraphBuilder.graphChanges":                                 queueOfPointers[garbagecollector.GraphBuilder]("graphChanges"),
	"job Controller.orphanQueue":                                                 queueOfKeys[job.Controller, orphanPodKey]("orphanQueue"),
	"job Controller.queue":                                                       queueOfStrings[job.Controller]("queue"),
	"namespace NamespaceController.queue":                                        queueOfStrings[namespace.NamespaceController]("queue"),
	"nodeipam/ipam rangeAllocator.queue":                                         unseen("it does not run here"),
	"nodelifecycle Controller.nodeUpdateQueue":                                   queueOfStrings[nodelifecycle.Controller]("nodeUpdateQueue"),
	"nodelifecycle Controller.podUpdateQueue":                                    queueOfKeys[nodelifecycle.Controller, podUpdateItem]("podUpdateQueue"),
	"podautoscaler HorizontalController.queue":                                   queueOfStrings[podautoscaler.HorizontalController]("queue"),
	"podgc PodGCController.nodeQueue":                                            queueOfStrings[podgc.PodGCController]("nodeQueue"),
	"replicaset ReplicaSetController.queue":                                      queueOfStrings[replicaset.ReplicaSetController]("queue"),
	"resourceclaim Controller.queue":                                             queueOfStrings[resourceclaim.Controller]("queue"),
	"resourcepoolstatusrequest Controller.workqueue":                             queueOfStrings[resourcepoolstatusrequest.Controller]("workqueue"),
	"resourcequota Controller.missingUsageQueue":                                 queueOfStrings[resourcequota.Controller]("missingUsageQueue"),
	"resourcequota Controller.queue":                                             queueOfStrings[resourcequota.Controller]("queue"),
	"resourcequota QuotaMonitor.resourceChanges":                                 queueOfPointers[resourcequota.QuotaMonitor]("resourceChanges"),
	"scheduling/podgroupprotection Controller.queue":                             queueOfStrings[podgroupprotection.Controller]("queue"),
	"serviceaccount ServiceAccountsController.queue":                             queueOfStrings[serviceaccount.ServiceAccountsController]("queue"),
	"serviceaccount TokensController.syncSecretQueue":                            queueOfKeys[serviceaccount.TokensController, secretQueueKey]("syncSecretQueue"),
	"serviceaccount TokensController.syncServiceAccountQueue":                    queueOfKeys[serviceaccount.TokensController, serviceAccountQueueKey]("syncServiceAccountQueue"),
	"servicecidrs Controller.queue":                                              queueOfStrings[servicecidrs.Controller]("queue"),
	"statefulset StatefulSetController.queue":                                    queueOfStrings[statefulset.StatefulSetController]("queue"),
	"storageversiongc Controller.leaseQueue":                                     queueOfStrings[storageversiongc.Controller]("leaseQueue"),
	"storageversiongc Controller.storageVersionQueue":                            queueOfStrings[storageversiongc.Controller]("storageVersionQueue"),
	"storageversionmigrator MigrationRunnerController.queue":                     queueOfKeys[storageversionmigrator.MigrationRunnerController, metav1.GroupResource]("queue"),
	"storageversionmigrator ResourceVersionController.queue":                     queueOfStrings[storageversionmigrator.ResourceVersionController]("queue"),
	"storageversionmigrator SVMController.queue":                                 queueOfStrings[storageversionmigrator.SVMController]("queue"),
	"tainteviction Controller.nodeUpdateQueue":                                   queueOfKeys[tainteviction.Controller, taintNodeUpdateItem]("nodeUpdateQueue"),
	"tainteviction Controller.podUpdateQueue":                                    queueOfKeys[tainteviction.Controller, taintPodUpdateItem]("podUpdateQueue"),
	"ttl Controller.queue":                                                       queueOfStrings[ttl.Controller]("queue"),
	"ttlafterfinished Controller.queue":                                          queueOfStrings[ttlafterfinished.Controller]("queue"),
	"validatingadmissionpolicystatus Controller.policyQueue":                     queueOfStrings[validatingadmissionpolicystatus.Controller]("policyQueue"),
	"volume/attachdetach attachDetachController.pvcQueue":                        unseen("its type is not exported"),
	"volume/ephemeral ephemeralController.queue":                                 unseen("its type is not exported"),
	"volume/expand expandController.queue":                                       unseen("its type is not exported"),
	"volume/persistentvolume PersistentVolumeController.claimQueue":              queueOfStrings[persistentvolume.PersistentVolumeController]("claimQueue"),
	"volume/persistentvolume PersistentVolumeController.volumeQueue":             queueOfStrings[persistentvolume.PersistentVolumeController]("volumeQueue"),
	"volume/pvcprotection Controller.queue":                                      queueOfStrings[pvcprotection.Controller]("queue"),
	"volume/pvcprotection pvcProcessingStore.namespaceQueue":                     queueOfStrings[pvcprotection.Controller]("pvcProcessingStore.namespaceQueue"),
	"volume/pvprotection Controller.queue":                                       queueOfStrings[pvprotection.Controller]("queue"),
	"volume/selinuxwarning Controller.queue":                                     unseen("it does not run here"),
	"volume/vacprotection Controller.queue":                                      queueOfStrings[vacprotection.Controller]("queue"),
}

// TestUpstreamsQueuesCanBeObserved names the type and the field of a queue that an upgrade has moved, or of whose keys
// it has changed the type.
func TestUpstreamsQueuesCanBeObserved(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(upstreamQueues)) {
		if err := upstreamQueues[name](); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUpstreamsQueuesAreKnown fails when an upgrade brings a queue that would go unseen.
func TestUpstreamsQueuesAreKnown(t *testing.T) {
	if diff := cmp.Diff(slices.Sorted(maps.Keys(upstreamQueues)),
		queuesIn(t, "k8s.io/kubernetes/pkg/controller")); diff != "" {
		t.Errorf("queues in fields of upstream's controllers (-known +there):\n%s", diff)
	}
}

// queuesIn finds the fields of structs that hold queues, in the source of a package and those below it.
func queuesIn(t *testing.T, path string) []string {
	t.Helper()
	var out []string
	for below, files := range upstreamsource.FilesBelow(t, path) {
		for _, file := range files {
			for _, field := range queueFields(file) {
				out = append(out, below+" "+field)
			}
		}
	}
	slices.Sort(out)
	return out
}

// queueFields are the fields of a file's structs that hold queues, with the names of the structs.
func queueFields(file *ast.File) []string {
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		s, ok := spec.Type.(*ast.StructType)
		if !ok {
			return true
		}
		for _, field := range s.Fields.List {
			for _, name := range field.Names {
				if isQueue(field.Type) {
					out = append(out, fmt.Sprintf("%s.%s", spec.Name, name))
				}
			}
		}
		return true
	})
	return out
}

// isQueue reports whether a type is one of the interfaces of client-go's queues.
func isQueue(e ast.Expr) bool {
	if generic, ok := e.(*ast.IndexExpr); ok {
		e = generic.X
	}
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := s.X.(*ast.Ident)
	return ok && pkg.Name == "workqueue" && strings.HasSuffix(s.Sel.Name, "Interface")
}
