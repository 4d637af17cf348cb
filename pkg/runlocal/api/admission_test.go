package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/kubernetes/pkg/kubeapiserver/options"
)

func TestAdmissionPluginsAreUpstreams(t *testing.T) {
	var order, on []string
	for _, p := range AdmissionPlugins() {
		order = append(order, p.Name)
		if p.OnByDefault {
			on = append(on, p.Name)
		}
	}
	if !slices.Equal(order, options.AllOrderedPlugins) {
		t.Errorf("the order is %v", order)
	}
	for _, name := range []string{
		"NamespaceLifecycle", "LimitRanger", "ServiceAccount", "TaintNodesByCondition", "Priority", "DefaultTolerationSeconds",
		"DefaultStorageClass", "StorageObjectInUseProtection", "RuntimeClass", "ResourceQuota", "ValidatingAdmissionPolicy",
		"MutatingAdmissionPolicy", "MutatingAdmissionWebhook", "ValidatingAdmissionWebhook", "PodSecurity",
	} {
		if !slices.Contains(on, name) {
			t.Errorf("plugin %q is off by default", name)
		}
	}
	if slices.Contains(on, "AlwaysDeny") {
		t.Error("a plugin that upstream leaves off is on")
	}
}

// Each row is one plugin's effect on a pod.
func TestAdmissionOfPods(t *testing.T) {
	f := plain.fixture(t)
	if _, err := f.SchedulingV1().PriorityClasses().Create(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}, Value: 1000}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	overhead := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}, Handler: "vm",
		Overhead: &nodev1.Overhead{PodFixed: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}}}
	if _, err := f.NodeV1().RuntimeClasses().Create(t.Context(), overhead, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		plugin string
		change func(*corev1.Pod)
		check  func(*corev1.Pod) bool
	}{
		{"ServiceAccount", nil, func(p *corev1.Pod) bool {
			return p.Spec.ServiceAccountName == "default" && len(p.Spec.Volumes) == 1 &&
				p.Spec.Volumes[0].Projected != nil
		}},
		{"DefaultTolerationSeconds", nil, func(p *corev1.Pod) bool { return len(p.Spec.Tolerations) == 2 }},
		{"Priority", func(p *corev1.Pod) { p.Spec.PriorityClassName = f.namespace }, func(p *corev1.Pod) bool { return *p.Spec.Priority == 1000 }},
		{"RuntimeClass", func(p *corev1.Pod) { p.Spec.RuntimeClassName = &f.namespace }, func(p *corev1.Pod) bool { return len(p.Spec.Overhead) == 1 }},
	} {
		p := pod("")
		p.GenerateName = "p-"
		if tt.change != nil {
			tt.change(p)
		}
		var created *corev1.Pod
		// its caches follow the writes above
		eventually(t, tt.plugin+" lets the pod in", func(ctx context.Context) (bool, error) {
			var err error
			created, err = f.CoreV1().Pods(f.namespace).Create(ctx, p, metav1.CreateOptions{})
			return err == nil, nil
		})
		if !tt.check(created) {
			t.Errorf("%s has not changed the pod: %+v", tt.plugin, created.Spec)
		}
	}
}

func TestServiceAccountAdmissionRefusesUntilThereIsOne(t *testing.T) {
	create := func(f *fixture) error {
		name := f.namespace + "-bare"
		if _, err := f.CoreV1().Namespaces().Create(t.Context(),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		_, err := f.CoreV1().Pods(name).Create(t.Context(), pod("p"), metav1.CreateOptions{})
		return err
	}
	if err := create(plain.fixture(t)); !apierrors.IsForbidden(err) {
		t.Errorf("a pod without a service account: %v", err)
	}
	if err := create(start(t, Options{DisableAdmission: []string{"ServiceAccount"}})); err != nil {
		t.Errorf("with the plugin disabled: %v", err)
	}
}

func TestEnabledPlugin(t *testing.T) {
	f := start(t, Options{EnableAdmission: []string{"AlwaysPullImages"}})
	if p := f.createPod(t, pod("p")); p.Spec.Containers[0].ImagePullPolicy != corev1.PullAlways {
		t.Errorf("the pull policy is %q", p.Spec.Containers[0].ImagePullPolicy)
	}
}

func TestNamespaceLifecycle(t *testing.T) {
	f := plain.fixture(t)
	if _, err := f.CoreV1().Pods("nowhere").Create(t.Context(), pod("p"),
		metav1.CreateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a pod in a namespace that does not exist: %v", err)
	}
	if err := f.CoreV1().Namespaces().Delete(t.Context(), "default",
		metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("deleting namespace default: %v", err)
	}
}

func TestPodSecurity(t *testing.T) {
	f := plain.fixture(t)
	strict := f.namespace + "-strict"
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: strict, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "baseline"}}}
	if _, err := f.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := createDefaultAccount(t.Context(), f, strict); err != nil {
		t.Fatal(err)
	}
	yes := true
	p := pod("p")
	p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: &yes}
	if _, err := f.CoreV1().Pods(strict).Create(t.Context(), p, metav1.CreateOptions{}); !apierrors.IsForbidden(err) ||
		!strings.Contains(err.Error(), "privileged") {
		t.Errorf("a privileged pod in a baseline namespace: %v", err)
	}
	f.createPod(t, p) // as on a cluster, privileged pods are allowed elsewhere
}

func TestLimitRangeAndQuota(t *testing.T) {
	f := plain.fixture(t)
	one := resource.MustParse("1")
	limits := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "l"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer, DefaultRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
			Max: corev1.ResourceList{corev1.ResourceCPU: one}, Default: corev1.ResourceList{corev1.ResourceCPU: one},
		}}}}
	if _, err := f.CoreV1().LimitRanges(f.namespace).Create(t.Context(), limits, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: one}}}
	quota, err := f.CoreV1().ResourceQuotas(f.namespace).Create(t.Context(), quota, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// The resourcequota controller would fill the status in.
	quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard,
		Used: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}}
	if _, err := f.CoreV1().ResourceQuotas(f.namespace).UpdateStatus(t.Context(), quota,
		metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	greedy := pod("greedy")
	greedy.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	greedy.Spec.Containers[0].Resources.Limits = greedy.Spec.Containers[0].Resources.Requests
	eventually(t, "the limit range is enforced", func(ctx context.Context) (bool, error) {
		_, err := f.CoreV1().Pods(f.namespace).Create(ctx, greedy,
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "maximum cpu"), nil
	})
	eventually(t, "the quota refuses the second pod", func(ctx context.Context) (bool, error) {
		p := pod("")
		p.GenerateName = "p-"
		created, err := f.CoreV1().Pods(f.namespace).Create(ctx, p, metav1.CreateOptions{})
		if err == nil && created.Spec.Containers[0].Resources.Requests.Cpu().MilliValue() != 100 {
			t.Errorf("the pod has no default request: %+v", created.Spec.Containers[0].Resources)
		}
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"), nil
	})
}

func TestStoragePlugins(t *testing.T) {
	f := start(t, Options{})
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}}, Provisioner: "p"}
	if _, err := f.StorageV1().StorageClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}}
	eventually(t, "a claim gets the default class and the finalizer", func(ctx context.Context) (bool, error) {
		created, err := f.CoreV1().PersistentVolumeClaims(f.namespace).Create(ctx, claim,
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return false, err
		}
		return created.Spec.StorageClassName != nil && *created.Spec.StorageClassName == "fast" &&
			slices.Contains(created.Finalizers, "kubernetes.io/pvc-protection"), nil
	})
}

func TestNodesAreTainted(t *testing.T) {
	f := plain.fixture(t)
	node, err := f.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}},
		metav1.CreateOptions{})
	if err != nil || len(node.Spec.Taints) != 1 || node.Spec.Taints[0].Key != corev1.TaintNodeNotReady {
		t.Errorf("the node has taints %v, %v", node.Spec.Taints, err)
	}
}

func TestValidatingAdmissionPolicy(t *testing.T) {
	f := plain.fixture(t)
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: f.namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: configMaps(f.namespace),
			Validations:      []admissionregistrationv1.Validation{{Expression: "object.metadata.name != 'forbidden'", Message: "not this name"}},
		},
	}
	if _, err := f.AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(t.Context(), policy,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: f.namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: f.namespace, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	if _, err := f.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Create(t.Context(), binding,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the policy is enforced", func(ctx context.Context) (bool, error) {
		_, err := f.CoreV1().ConfigMaps(f.namespace).Create(ctx, configMap("forbidden"),
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), "not this name"), nil
	})
	if _, err := f.CoreV1().ConfigMaps(f.namespace).Create(t.Context(), configMap("allowed"),
		metav1.CreateOptions{}); err != nil {
		t.Errorf("a config map that the policy allows: %v", err)
	}
}

func TestMutatingAdmissionPolicy(t *testing.T) {
	f := plain.fixture(t)
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: f.namespace},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			MatchConstraints:   configMaps(f.namespace),
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType:          admissionregistrationv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: `Object{data: {"added": "yes"}}`},
			}},
		},
	}
	if _, err := f.AdmissionregistrationV1().MutatingAdmissionPolicies().Create(t.Context(), policy,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: f.namespace}, Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: f.namespace},
	}
	if _, err := f.AdmissionregistrationV1().MutatingAdmissionPolicyBindings().Create(t.Context(), binding,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the policy adds its key", func(ctx context.Context) (bool, error) {
		created, err := f.CoreV1().ConfigMaps(f.namespace).Create(ctx, configMap("c"),
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && created.Data["added"] == "yes", nil
	})
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"a": "1"}}
}

// inNamespace selects a namespace.
func inNamespace(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: name}}
}

// configMaps matches the creation of config maps in a namespace.
func configMaps(namespace string) *admissionregistrationv1.MatchResources {
	return &admissionregistrationv1.MatchResources{NamespaceSelector: inNamespace(namespace),
		ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
					Resources: []string{"configmaps"}},
			},
		}}}
}

func TestWebhook(t *testing.T) {
	var calls atomic.Int32
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{
			UID: review.Request.UID, Allowed: review.Request.Name != "forbidden", Result: &metav1.Status{Message: "says the webhook"},
		}
		review.Request = nil
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(hook.Close)
	f := plain.fixture(t)
	none, fail, seconds := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail, int32(5)
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: f.namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "w.example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &hook.URL,
				CABundle: certificatePEM(hook.Certificate().Raw)},
			Rules:             []admissionregistrationv1.RuleWithOperations{configMaps(f.namespace).ResourceRules[0].RuleWithOperations},
			NamespaceSelector: inNamespace(f.namespace),
			SideEffects:       &none, FailurePolicy: &fail, TimeoutSeconds: &seconds, AdmissionReviewVersions: []string{"v1"},
		}},
	}
	if _, err := f.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), configuration,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the webhook refuses", func(ctx context.Context) (bool, error) {
		_, err := f.CoreV1().ConfigMaps(f.namespace).Create(ctx, configMap("forbidden"),
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), "says the webhook"), nil
	})
	if _, err := f.CoreV1().ConfigMaps(f.namespace).Create(t.Context(), configMap("allowed"),
		metav1.CreateOptions{}); err != nil {
		t.Errorf("a config map that the webhook allows: %v", err)
	}
	if calls.Load() == 0 {
		t.Error("the webhook was not called")
	}
}

// A webhook that cannot be reached must not be taken for one that allows.
func TestWebhookByServiceIsRefused(t *testing.T) {
	for _, tt := range []struct{ service, want, reason string }{
		{"kubernetes", errNoPodNetwork.Error(), "the service is there, but leads nowhere"},
		{"hook", `service "hook" not found`, "there is no such service"},
	} {
		t.Run(tt.service, func(t *testing.T) { refusedByService(t, tt.service, tt.want, tt.reason) })
	}
}

func refusedByService(t *testing.T, service, want, reason string) {
	t.Helper()
	f := plain.fixture(t)
	none, fail := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: f.namespace},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:              "w.example.com",
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: service}},
			Rules:             []admissionregistrationv1.RuleWithOperations{configMaps(f.namespace).ResourceRules[0].RuleWithOperations},
			NamespaceSelector: inNamespace(f.namespace),
			SideEffects:       &none, FailurePolicy: &fail, AdmissionReviewVersions: []string{"v1"},
		}},
	}
	if _, err := f.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(t.Context(), configuration,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the webhook fails, for "+reason, func(ctx context.Context) (bool, error) {
		_, err := f.CoreV1().ConfigMaps(f.namespace).Create(ctx, configMap("c"),
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), want), nil
	})
}

// recorder is an admission plugin that refuses with err and counts.
type recorder struct {
	*admission.Handler
	err      error
	admitted int
}

func (r *recorder) Admit(context.Context, admission.Attributes, admission.ObjectInterfaces) error {
	r.admitted++
	return r.err
}

func TestAdmissionGate(t *testing.T) {
	gate := &admissionGate{}
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	attributes := admission.NewAttributesRecord(pod("p"), nil, kind, "default", "p",
		schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "",
		admission.Create, nil, false, nil)
	if !gate.Handles(admission.Create) {
		t.Error("a closed gate lets operations pass unasked")
	}
	for name, ask := range map[string]func() error{
		"Admit":    func() error { return gate.Admit(t.Context(), attributes, nil) },
		"Validate": func() error { return gate.Validate(t.Context(), attributes, nil) },
	} {
		if err := ask(); err == nil || !strings.Contains(err.Error(), errNoAdmission.Error()) {
			t.Errorf("%s at a closed gate: %v", name, err)
		}
	}
	refusal := errors.New("no")
	plugin := &recorder{Handler: admission.NewHandler(admission.Create), err: refusal}
	gate.open(plugin)
	if gate.Handles(admission.Delete) {
		t.Error("the open gate handles what its plugins do not")
	}
	if err := gate.Admit(t.Context(), attributes, nil); !errors.Is(err, refusal) || plugin.admitted != 1 {
		t.Errorf("Admit: %v after %d calls", err, plugin.admitted)
	}
	if err := gate.Validate(t.Context(), attributes, nil); err != nil {
		t.Errorf("Validate with plugins that only mutate: %v", err)
	}
}
