package controllers

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/kubernetes/pkg/controller/bootstrap"
	"k8s.io/kubernetes/pkg/controller/certificates"
	"k8s.io/kubernetes/pkg/controller/certificates/cleaner"
	"k8s.io/kubernetes/pkg/controller/certificates/clustertrustbundlepublisher"
	"k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"
	"k8s.io/kubernetes/pkg/controller/certificates/signer"
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
	"k8s.io/kubernetes/pkg/controller/replication"
	"k8s.io/kubernetes/pkg/controller/resourceclaim"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/controller/servicecidrs"
	"k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/kubernetes/pkg/controller/storageversionmigrator"
	"k8s.io/kubernetes/pkg/controller/tainteviction"
	"k8s.io/kubernetes/pkg/controller/ttl"
	"k8s.io/kubernetes/pkg/controller/ttlafterfinished"
	"k8s.io/kubernetes/pkg/controller/validatingadmissionpolicystatus"
	"k8s.io/kubernetes/pkg/controller/volume/persistentvolume"
	"k8s.io/kubernetes/pkg/controller/volume/pvcprotection"
	"k8s.io/kubernetes/pkg/controller/volume/pvprotection"
	"k8s.io/kubernetes/pkg/controller/volume/vacprotection"
)

// parsed returns the files of an upstream package, without its tests.
func parsed(t *testing.T, path string) []*ast.File {
	t.Helper()
	found, err := build.Import(path, ".", build.FindOnly)
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob(filepath.Join(found.Dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// upstreamNames are the constants of kube-controller-manager's names package and their values.
func upstreamNames(t *testing.T) map[string]string {
	names := map[string]string{}
	for _, f := range parsed(t, "k8s.io/kubernetes/cmd/kube-controller-manager/names") {
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
				names[spec.Names[0].Name] = literal(spec.Values[0])
			}
			return true
		})
	}
	return names
}

func literal(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok {
		return ""
	}
	s, err := strconv.Unquote(lit.Value)
	if err != nil {
		return ""
	}
	return s
}

// row is what kube-controller-manager's descriptors and the table have in common.
type row struct {
	Aliases      []string
	OffByDefault bool
}

// upstreamRows reads the descriptors of kube-controller-manager. Importing its package instead would bring all its flags
// and metrics into the test.
func upstreamRows(t *testing.T) map[string]row {
	names := upstreamNames(t)
	rows := map[string]row{}
	for _, f := range parsed(t, "k8s.io/kubernetes/cmd/kube-controller-manager/app") {
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if id, ok := lit.Type.(*ast.Ident); ok && id.Name == "ControllerDescriptor" {
				name, r := descriptor(lit, names)
				rows[name] = r
			}
			return true
		})
	}
	return rows
}

func descriptor(lit *ast.CompositeLit, names map[string]string) (string, row) {
	var name string
	var r row
	for _, e := range lit.Elts {
		field := e.(*ast.KeyValueExpr)
		switch field.Key.(*ast.Ident).Name {
		case "name":
			name = names[field.Value.(*ast.SelectorExpr).Sel.Name]
		case "aliases":
			for _, a := range field.Value.(*ast.CompositeLit).Elts {
				r.Aliases = append(r.Aliases, literal(a))
			}
		case "isDisabledByDefault":
			r.OffByDefault = true
		}
	}
	return name, r
}

func TestTableIsUpstreams(t *testing.T) {
	got := map[string]row{}
	for _, c := range All() {
		if _, twice := got[c.Name]; twice {
			t.Errorf("%s is there twice", c.Name)
		}
		got[c.Name] = row{Aliases: c.Aliases, OffByDefault: c.OffByDefault}
	}
	if diff := cmp.Diff(upstreamRows(t), got); diff != "" {
		t.Errorf("the table and kube-controller-manager's descriptors differ (-upstream +table):\n%s", diff)
	}
	inNames := slices.Sorted(maps.Values(upstreamNames(t)))
	if diff := cmp.Diff(inNames, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("the table and upstream's names differ (-upstream +table):\n%s", diff)
	}
}

func TestEveryRowIsWhole(t *testing.T) {
	for _, c := range All() {
		switch {
		case c.Runs() == (c.NotRun != ""):
			t.Errorf("%s must either run or say why not", c.Name)
		case c.Runs() && (c.Short == "" || c.workers == 0 || len(c.Reads) == 0 || len(c.Writes) == 0):
			t.Errorf("%s runs, but its row is not filled in", c.Name)
		}
	}
}

// TestNoQueueIsOverlooked fails when an upgrade gives a controller another queue, which would run unseen.
func TestNoQueueIsOverlooked(t *testing.T) {
	for _, test := range []struct {
		controller reflect.Type
		tapped     []string
	}{
		{reflect.TypeFor[deployment.DeploymentController](), []string{"queue"}},
		{reflect.TypeFor[replicaset.ReplicaSetController](), []string{"queue"}},
		{reflect.TypeFor[replication.ReplicationManager](), []string{"queue"}},
		{reflect.TypeFor[statefulset.StatefulSetController](), []string{"queue"}},
		{reflect.TypeFor[daemon.DaemonSetsController](), []string{"queue", "nodeUpdateQueue"}},
		{reflect.TypeFor[job.Controller](), []string{"queue", "orphanQueue"}},
		{reflect.TypeFor[cronjob.ControllerV2](), []string{"queue"}},
		{reflect.TypeFor[ttlafterfinished.Controller](), []string{"queue"}},
		{reflect.TypeFor[disruption.DisruptionController](), []string{"queue", "recheckQueue", "stalePodDisruptionQueue"}},
		{reflect.TypeFor[endpoint.Controller](), []string{"queue", "podQueue"}},
		{reflect.TypeFor[endpointslice.Controller](), []string{"serviceQueue", "podQueue", "topologyQueue"}},
		{reflect.TypeFor[endpointslicemirroring.Controller](), []string{"queue"}},
		{reflect.TypeFor[persistentvolume.PersistentVolumeController](), []string{"claimQueue", "volumeQueue"}},
		{reflect.TypeFor[pvcprotection.Controller](), []string{"queue"}},
		{reflect.TypeFor[pvprotection.Controller](), []string{"queue"}},
		{reflect.TypeFor[vacprotection.Controller](), []string{"queue"}},
		{reflect.TypeFor[podautoscaler.HorizontalController](), []string{"queue"}},
		{reflect.TypeFor[resourcequota.Controller](), []string{"queue", "missingUsageQueue"}},
		{reflect.TypeFor[resourcequota.QuotaMonitor](), []string{"resourceChanges"}},
		{reflect.TypeFor[resourceclaim.Controller](), []string{"queue"}},
		{reflect.TypeFor[servicecidrs.Controller](), []string{"queue"}},
		{reflect.TypeFor[storageversionmigrator.SVMController](), []string{"queue", "rateLimiter"}}, // the queue's own
		{reflect.TypeFor[storageversionmigrator.ResourceVersionController](), []string{"queue"}},
		{reflect.TypeFor[storageversionmigrator.MigrationRunnerController](), []string{"queue"}},
		{reflect.TypeFor[validatingadmissionpolicystatus.Controller](), []string{"policyQueue"}},
		{reflect.TypeFor[garbagecollector.GarbageCollector](), []string{"attemptToDelete", "attemptToOrphan"}},
		{reflect.TypeFor[garbagecollector.GraphBuilder](), []string{"graphChanges", "attemptToDelete", "attemptToOrphan"}},
		{reflect.TypeFor[serviceaccount.ServiceAccountsController](), []string{"queue"}},
		{reflect.TypeFor[serviceaccount.TokensController](), []string{"syncServiceAccountQueue", "syncSecretQueue"}},
		{reflect.TypeFor[serviceaccount.LegacySATokenCleaner](), nil},
		{reflect.TypeFor[certificates.CertificateController](), []string{"queue"}},
		{reflect.TypeFor[signer.CSRSigningController](), nil}, // it has a CertificateController
		{reflect.TypeFor[cleaner.CSRCleanerController](), nil},
		{reflect.TypeFor[cleaner.PCRCleanerController](), nil},
		{reflect.TypeFor[rootcacertpublisher.Publisher](), []string{"queue"}},
		{reflect.TypeFor[clustertrustbundlepublisher.ClusterTrustBundlePublisher[certificatesv1.ClusterTrustBundle]](), []string{"queue"}},
		{reflect.TypeFor[clusterroleaggregation.ClusterRoleAggregationController](), []string{"queue"}},
		{reflect.TypeFor[bootstrap.Signer](), []string{"syncQueue"}},
		{reflect.TypeFor[bootstrap.TokenCleaner](), []string{"queue"}},
		{reflect.TypeFor[namespace.NamespaceController](), []string{"queue"}},
		{reflect.TypeFor[nodelifecycle.Controller](), []string{"nodeUpdateQueue", "podUpdateQueue"}},
		{reflect.TypeFor[tainteviction.Controller](), []string{"nodeUpdateQueue", "podUpdateQueue"}},
		{reflect.TypeFor[podgc.PodGCController](), []string{"nodeQueue"}},
		{reflect.TypeFor[ttl.Controller](), []string{"queue"}},
		{reflect.TypeFor[devicetainteviction.Controller](), []string{"workqueue"}},
	} {
		var got []string
		for _, field := range reflect.VisibleFields(test.controller) {
			if field.Type.PkgPath() == "k8s.io/client-go/util/workqueue" {
				got = append(got, field.Name)
			}
		}
		if diff := cmp.Diff(test.tapped, got); diff != "" {
			t.Errorf("queues of %v (-tapped +there):\n%s", test.controller, diff)
		}
	}
}
