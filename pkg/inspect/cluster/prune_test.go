package cluster

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// leftOut returns the names of the fields of a Go type that are omitted, by the numbers in upstream's tags.
func leftOut(t *testing.T, of reflect.Type, b omitted, prefix string) []string {
	t.Helper()
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	var names []string
	found := 0
	for field := range of.Fields() {
		tag := strings.Split(field.Tag.Get("protobuf"), ",")
		if len(tag) < 3 {
			continue
		}
		number, err := strconv.ParseInt(tag[1], 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		inner, known := b[protowire.Number(number)]
		name := prefix + field.Name
		if len(tag) > 3 {
			name = prefix + strings.TrimPrefix(tag[3], "name=")
		}
		switch {
		case known && inner == nil:
			names = append(names, name)
			found++
		case known:
			names = append(names, leftOut(t, field.Type, inner, name+".")...)
			found++
		}
	}
	if found != len(b) {
		t.Errorf("%s%v: %d of %d numbers are fields", prefix, of, found, len(b))
	}
	return names
}

func TestBulkOf(t *testing.T) {
	container := []string{
		"command", "args", "workingDir", "ports", "envFrom", "env", "resources", "resizePolicy", "restartPolicyRules", "volumeMounts", "volumeDevices",
		"livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "terminationMessagePath", "terminationMessagePolicy", "imagePullPolicy",
		"securityContext", "stdin", "stdinOnce", "tty",
	}
	below := func(prefix string) (names []string) {
		for _, name := range container {
			names = append(names, prefix+name)
		}
		return names
	}
	pod := append([]string{"spec.volumes"}, below("spec.initContainers.")...)
	pod = append(append(pod, below("spec.containers.")...), below("spec.ephemeralContainers.EphemeralContainerCommon.")...)
	pod = append(pod, "spec.affinity", "spec.tolerations", "spec.topologySpreadConstraints")
	for kind, want := range map[schema.GroupVersionKind][]string{
		{Version: "v1", Kind: "Pod"}:                                 pod,
		{Version: "v1", Kind: "ConfigMap"}:                           {"data", "binaryData"},
		{Version: "v1", Kind: "Secret"}:                              {"data"},
		{Version: "v1", Kind: "Service"}:                             nil,
		{Version: "v1", Kind: "ReplicationController"}:               {"spec.template"},
		{Group: "apps", Version: "v1", Kind: "Deployment"}:           {"spec.template"},
		{Group: "apps", Version: "v1", Kind: "ReplicaSet"}:           {"spec.template"},
		{Group: "apps", Version: "v1", Kind: "StatefulSet"}:          {"spec.template"},
		{Group: "apps", Version: "v1", Kind: "DaemonSet"}:            {"spec.template"},
		{Group: "apps", Version: "v1", Kind: "ControllerRevision"}:   {"data"},
		{Group: "batch", Version: "v1", Kind: "Job"}:                 {"spec.template"},
		{Group: "batch", Version: "v1", Kind: "CronJob"}:             {"spec.jobTemplate.spec.template"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}: nil,
	} {
		object, err := scheme.Scheme.New(kind)
		if err != nil {
			t.Fatal(err)
		}
		want = append([]string{"metadata.managedFields"}, want...)
		if diff := cmp.Diff(want, leftOut(t, reflect.TypeOf(object), omittedForStatus(kind), "")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}

// TestBulkBesideNames: nothing is left out in which a kind that is read for its references names others.
func TestBulkBesideNames(t *testing.T) {
	keeps := []string{
		"spec.volumes", "spec.serviceAccountName", "spec.nodeName", "spec.imagePullSecrets", "spec.priorityClassName", "spec.runtimeClassName",
		"spec.containers.env", "spec.containers.envFrom", "spec.initContainers.env", "spec.initContainers.envFrom",
		"spec.ephemeralContainers.EphemeralContainerCommon.env", "spec.ephemeralContainers.EphemeralContainerCommon.envFrom",
		"spec.selector", "spec.volumeClaimTemplates", "spec.volumeName", "spec.storageClassName", "spec.claimRef", "spec.scaleTargetRef", "spec.rules",
		"spec.tls", "spec.defaultBackend", "spec.ingressClassName", "secrets", "imagePullSecrets", "roleRef", "subjects", "metadata.labels",
		"spec.podSelector", "aggregationRule", "spec.source", "spec.attacher", "spec.csi", "parameters", "provisioner",
	}
	for kind, want := range map[schema.GroupVersionKind][]string{
		{Version: "v1", Kind: "Pod"}:                                                    nil, // looked at below
		{Version: "v1", Kind: "Service"}:                                                {"status"},
		{Version: "v1", Kind: "PersistentVolumeClaim"}:                                  {"status"},
		{Version: "v1", Kind: "PersistentVolume"}:                                       {"status"},
		{Version: "v1", Kind: "ServiceAccount"}:                                         nil,
		{Group: "apps", Version: "v1", Kind: "StatefulSet"}:                             {"spec.template", "status"},
		{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}:               {"endpoints", "ports"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}:                    {"status"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}:              {"spec.ingress", "spec.egress"},
		{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}:                   {"status"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}:        {"rules"},
		{Group: "storage.k8s.io", Version: "v1", Kind: "VolumeAttachment"}:              nil,
		{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"}:                  nil,
		{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}:          {"status"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"}:        nil,
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"}: nil,
	} {
		object, err := scheme.Scheme.New(kind)
		if err != nil {
			t.Fatal(err)
		}
		got := leftOut(t, reflect.TypeOf(object), omittedForReferences(kind), "")
		for _, name := range keeps {
			if slices.Contains(got, name) {
				t.Errorf("%s: %s is left out", kind.Kind, name)
			}
		}
		if kind.Kind == "Pod" {
			if !slices.Contains(got, "status") || !slices.Contains(got, "spec.containers.resources") {
				t.Errorf("of pods only this is left out: %v", got)
			}
			continue
		}
		if diff := cmp.Diff(append([]string{"metadata.annotations", "metadata.managedFields"}, want...), got, cmpopts.SortSlices(strings.Compare)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}

// TestPrune: what is left out before decoding is what is dropped after it.
func TestPrune(t *testing.T) {
	for _, pod := range somePods().Items {
		pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}}
		data, err := pod.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		kept, err := prune(nil, data, omittedForStatus(pods.GroupVersionKind))
		if err != nil || len(kept) >= len(data) {
			t.Fatalf("%d of %d bytes are kept, %v", len(kept), len(data), err)
		}
		var got, want corev1.Pod
		for object, bytes := range map[runtime.Object][]byte{&got: kept, &want: data} {
			if err := object.(interface{ Unmarshal([]byte) error }).Unmarshal(bytes); err != nil {
				t.Fatal(err)
			}
			trimTyped(object)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-dropped +left out):\n%s", diff)
		}
	}
	if _, err := prune(nil, []byte{0x12, 0x02, 0x0a, 0x05}, omitted{2: {1: nil}}); err == nil {
		t.Error("a message that ends too early is pruned")
	}
}
