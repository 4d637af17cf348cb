package inspect

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"testing"

	"github.com/argoproj/argo-cd/v3/resource_customizations"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/argocd"
)

// TestChecksAreNotReadForOthers: what has a rule here, or is of a group of Kubernetes, does not touch the checks.
func TestChecksAreNotReadForOthers(t *testing.T) {
	files := &opened{FS: resource_customizations.Embedded}
	checks := argocd.New(files)
	for _, row := range misleading {
		obj := fromYAML(t, row.object)
		if group := obj.GroupVersionKind().Group; isBuiltInGroup(group) || ruleOf(group, obj.GetKind()) != nil {
			inspect(obj, Options{}, checks)
		}
	}
	inspect(fromYAML(t, `{apiVersion: v1, kind: ConfigMap, metadata: {generation: 1}, spec: {}}`), Options{}, checks)
	inspect(fromYAML(t, `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 1}}`), Options{}, checks)
	if len(files.names) > 0 {
		t.Errorf("they opened %q", files.names)
	}
	inspect(fromYAML(t, `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {generation: 1}, spec: {}, status: {a: b}}`), Options{}, checks)
	if !slices.Contains(files.names, "cert-manager.io/Certificate/health.lua") {
		t.Errorf("a kind with a check opened %q", files.names)
	}
}

type opened struct {
	fs.FS
	names []string
}

func (o *opened) Open(name string) (fs.File, error) {
	o.names = append(o.names, name)
	return o.FS.Open(name)
}

// argoCase is an object that Argo CD tests a check with, and what it expects of it.
type argoCase struct {
	InputPath    string
	HealthStatus struct{ Status, Message string }
}

// TestBesideArgoCD judges the objects that Argo CD tests its checks with. Where we say something better, or worse, than
// the check does, it is for one of the reasons of docs/status.md.
func TestBesideArgoCD(t *testing.T) {
	files, err := fs.Glob(resource_customizations.Embedded, "*/*/health_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	objects, unmet := 0, maps.Clone(differences)
	for _, file := range files {
		for _, c := range argoCases(t, file) {
			name := path.Join(path.Dir(file), c.InputPath)
			objects++
			t.Run(name, func(t *testing.T) {
				text, err := fs.ReadFile(resource_customizations.Embedded, name)
				if err != nil {
					t.Fatal(err)
				}
				got := Inspect(fromYAML(t, string(text)), nil)
				want := argoWords[c.HealthStatus.Status]
				differs := !slices.Contains(want, got.Status.Status)
				if _, known := differences[name]; known != differs && !expected(got, c) {
					t.Errorf("%s (%s) by %s; Argo CD says %s (%s)", got.Status.Status, got.Reason, got.JudgedBy, c.HealthStatus.Status, c.HealthStatus.Message)
				}
				delete(unmet, name)
			})
		}
	}
	if objects < 1000 || len(unmet) > 0 {
		t.Errorf("%d objects; these are none: %v", objects, unmet)
	}
}

func argoCases(t *testing.T, file string) []argoCase {
	t.Helper()
	text, err := fs.ReadFile(resource_customizations.Embedded, file)
	if err != nil {
		t.Fatal(err)
	}
	var tests struct{ Tests []argoCase }
	if err := yaml.Unmarshal(text, &tests); err != nil {
		t.Fatal(err)
	}
	return tests.Tests
}

var argoWords = map[string][]string{
	argocd.Healthy: {Current}, argocd.Progressing: {InProgress}, argocd.Degraded: {Degraded, Failed},
	argocd.Suspended: {Suspended}, argocd.Missing: {InProgress}, argocd.Unknown: {Unknown},
}

// expected knows the differences that are a rule: an object that is being deleted is Terminating, one that nothing has
// written a status to is Unknown, and one that Argo CD knows nothing of may be known.
func expected(got Report, c argoCase) bool {
	return got.Status.Status == Terminating || got.Unreported() || c.HealthStatus.Status == argocd.Unknown
}

// differences are the others, and why ours is said.
var differences = map[string]string{
	"apps.kruise.io/CloneSet/testdata/partition_suspended.yaml":                "none of its replicas is ready",
	"apps.kruise.io/CloneSet/testdata/suspended.yaml":                          "none of its replicas is ready",
	"apps.kruise.io/StatefulSet/testdata/suspended.yaml":                       "none of its replicas is ready",
	"game.kruise.io/GameServerSet/testdata/suspended-partition.yaml":           "none of its replicas is ready",
	"game.kruise.io/GameServerSet/testdata/suspended-paused.yaml":              "none of its replicas is ready",
	"_.cnrm.cloud.google.com/_/testdata/dependency_not_ready.yaml":             "what waits for another resource does not rest",
	"apps.openshift.io/DeploymentConfig/testdata/healthy_zero_replicas.yaml":   "three replicas are wanted, there is none, and Available is False",
	"argoproj.io/Experiment/testdata/successfulExperiment.yaml":                "conditions without a status leave a doubt",
	"argoproj.io/Rollout/testdata/bluegreen/healthy_servingActiveService.yaml": "a generation that is no number leaves a doubt",
	"argoproj.io/Rollout/testdata/canary/healthy_emptyStepsList.yaml":          "a generation that is no number leaves a doubt",
	"argoproj.io/Rollout/testdata/canary/healthy_executedAllSteps.yaml":        "a generation that is no number leaves a doubt",
	"argoproj.io/Rollout/testdata/canary/healthy_executedAllStepsPreV0.8.yaml": "a generation that is no number leaves a doubt",
	"argoproj.io/Rollout/testdata/canary/healthy_noSteps.yaml":                 "a generation that is no number leaves a doubt",
	"argoproj.io/Rollout/testdata/healthy_legacy_v0.9_observedGeneration.yaml": "a generation that is no number leaves a doubt",
	"argoproj.io/Rollout/testdata/suspended_controllerPause.yaml":              "a generation that is no number leaves a doubt",
	"argoproj.io/Rollout/testdata/suspended_userPause.yaml":                    "a generation that is no number leaves a doubt",
	"batch/CronJob/testdata/degraded.yaml":                                     "a kind with a rule of ours: its jobs are judged themselves",
	"batch/CronJob/testdata/suspended.yaml":                                    "a kind with a rule of ours",
	"monitoring.coreos.com/Prometheus/testdata/progressing.yaml":               "Available is Degraded",
	"image.toolkit.fluxcd.io/ImagePolicy/testdata/degraded.yaml":               "Reconciling is True: it is being worked on",
	"kubevirt.io/VirtualMachine/testdata/healthy_halted_runstrategy.yaml":      "stopped as wanted is at rest",
	"kubevirt.io/VirtualMachine/testdata/healthy_stopped.yaml":                 "stopped as wanted is at rest",
	"pkg.crossplane.io/Provider/testdata/progressing_paused.yaml":              "paused by its annotation",
	"rabbitmq.com/Exchange/testdata/degraded.yaml":                             "two generations behind",
	"rabbitmq.com/Exchange/testdata/healthy.yaml":                              "two generations behind",
	"spot.io/SpotDeployment/testdata/healthy_spotdeployment.yaml":              "a generation that is no number leaves a doubt",
}
