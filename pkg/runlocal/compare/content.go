package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kubernetes/plugin/pkg/admission/serviceaccount"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
)

// parse decodes an object. Its numbers are int64 or float64.
func parse(data []byte) (untyped.Map, error) {
	var out map[string]any
	if err := utiljson.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("decoding an object: %w", err)
	}
	if out == nil {
		return nil, fmt.Errorf("decoding an object: it is null")
	}
	return out, nil
}

// isDeleting reports whether the deletion of the object has begun.
func isDeleting(obj untyped.Map) bool { return obj.At("metadata", "deletionTimestamp") != nil }

// controllerOwner returns the owner reference of the controller; nil if there is none.
func controllerOwner(obj untyped.Map) untyped.Map {
	for _, owner := range obj.Maps("metadata", "ownerReferences") {
		if owner["controller"] == true {
			return owner
		}
	}
	return nil
}

// volatile are the metadata that the API sets, or that differ from one run to the next.
var volatile = []string{
	"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "managedFields",
	"resourceVersion", "selfLink", "uid",
}

// naming are the metadata that name an object, which are compared by isLike and isSame.
var naming = []string{"name", "namespace", "generateName"}

// generatedLetters and generatedLength are those of what the API appends to metadata.generateName:
// k8s.io/apiserver/pkg/storage/names and k8s.io/apimachinery/pkg/util/rand.
const (
	generatedLetters = "bcdfghjklmnpqrstvwxz2456789"
	generatedLength  = 5
)

// isGenerated reports whether the name of an object may be generated. A StatefulSet sets both, and its names are not.
func isGenerated(obj untyped.Map) bool {
	prefix := obj.Text("metadata", "generateName")
	suffix, ok := strings.CutPrefix(obj.Text("metadata", "name"), prefix)
	return ok && prefix != "" && len(suffix) == generatedLength && strings.Trim(suffix, generatedLetters) == ""
}

// contentOf returns a copy of the part of an object that a write of that verb sets, without its name and what differs
// from one run to the next, such as times.
func contentOf(obj untyped.Map, verb Verb) untyped.Map {
	out, name := untyped.Map{}, obj.Text("metadata", "name")
	if verb == VerbCreate {
		obj = requested(obj)
	}
	if verb == VerbUpdateStatus {
		if status := prune(obj["status"], true); status != nil {
			sortTexts(status)
			out["status"] = status
			maskIssued(out, name)
			addTransitionTimes(out)
		}
		return out
	}
	for name, value := range obj {
		switch name {
		case "apiVersion", "kind", "status":
			continue
		case "metadata":
			value = metadataOf(value)
		default:
			value = prune(value, false)
		}
		if value != nil {
			out[name] = value
		}
	}
	if obj["addressType"] != nil { // the endpoints of an EndpointSlice are a set, in the order of a Go map
		endpoints, _ := out["endpoints"].([]any)
		slices.SortFunc(endpoints, func(a, b any) int {
			return strings.Compare(contentText(untyped.Map{"": a}), contentText(untyped.Map{"": b}))
		})
	}
	stripAdmission(out)
	stripAllocated(out)
	stripGeneratedSelector(out)
	maskTaintTimes(out)
	maskIssued(out, name)
	return out
}

// maskTaintTimes replaces the times of a node's taints by a word, as in a status.
func maskTaintTimes(obj untyped.Map) {
	for _, taint := range obj.Maps("spec", "taints") {
		if taint["timeAdded"] != nil {
			taint["timeAdded"] = timeWord
		}
	}
}

// addTransitionTimes gives the conditions of a status a time that have none: the API sets it for a
// CertificateSigningRequest.
func addTransitionTimes(obj untyped.Map) {
	for _, condition := range obj.Maps("status", "conditions") {
		if condition["type"] != nil {
			condition["lastTransitionTime"] = timeWord
		}
	}
}

// issuedWord takes the place of what is issued.
const issuedWord = "<issued>"

// maskIssued replaces the certificates and tokens that controllers issue, or publish: they depend on the keys of a
// cluster, and on chance. name is that of the object.
func maskIssued(obj untyped.Map, name string) {
	for _, at := range []struct {
		parent, name string
		issued       bool
	}{
		{"status", "certificate", true}, // of a CertificateSigningRequest
		{"data", "ca.crt", name == rootCAConfigMap || obj.Text("type") == accountToken},
		{"data", "token", obj.Text("type") == accountToken},
	} {
		if parent, _ := obj[at.parent].(map[string]any); at.issued && parent[at.name] != nil {
			parent[at.name] = issuedWord
		}
	}
}

// rootCAConfigMap is RootCACertConfigMapName of k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher, and
// accountToken the type of Secrets with a token.
const (
	rootCAConfigMap = "kube-root-ca.crt"
	accountToken    = string(corev1.SecretTypeServiceAccountToken)
)

// requested returns what the request had that has created an object, by its managedFields: what admission added is
// others on every cluster. Without managedFields that is not known, and it is the object. It has the name in any case.
func requested(obj untyped.Map) untyped.Map {
	owned := untyped.Map(fields.Owned(object(obj)))
	if owned == nil {
		return obj
	}
	metadata, _ := owned["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		owned["metadata"] = metadata
	}
	metadata["name"] = obj.Text("metadata", "name")
	return owned
}

// generatedLabels are what the API sets on a Job with a generated selector, on its pods, and in the selector. They
// mirror generateSelector of k8s.io/kubernetes/pkg/registry/batch/job/strategy.go.
var generatedLabels = []string{
	"controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name",
}

// stripGeneratedSelector removes the selector that the API makes for a Job, and its labels: they have the uid.
func stripGeneratedSelector(obj untyped.Map) {
	selector, _ := obj.At("spec", "selector", "matchLabels").(map[string]any)
	if selector["batch.kubernetes.io/controller-uid"] != nil && obj.At("spec", "manualSelector") != true {
		delete(obj["spec"].(map[string]any), "selector")
	}
	if obj.At("spec", "template") == nil ||
		obj.At("spec", "completions") == nil && obj.At("spec", "backoffLimit") == nil {
		return // no Job
	}
	template, _ := obj.At("spec", "template").(map[string]any)
	for _, parent := range []map[string]any{obj, template} {
		metadata, _ := parent["metadata"].(map[string]any)
		labels, _ := metadata["labels"].(map[string]any)
		for _, name := range generatedLabels {
			delete(labels, name)
		}
		if len(labels) == 0 {
			delete(metadata, "labels")
		}
		if len(metadata) == 0 {
			delete(parent, "metadata")
		}
	}
}

// sortTexts sorts the lists of texts in a status, such as the uids of pods: they are sets.
func sortTexts(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, value := range v {
			sortTexts(value)
		}
	case []any:
		slices.SortStableFunc(v, func(a, b any) int {
			x, isText := a.(string)
			y, both := b.(string)
			if !isText || !both {
				return 0
			}
			return strings.Compare(x, y)
		})
		for _, entry := range v {
			sortTexts(entry)
		}
	}
}

func metadataOf(v any) any {
	m, _ := v.(map[string]any)
	kept := map[string]any{}
	for name, value := range m {
		if !slices.Contains(volatile, name) && !slices.Contains(naming, name) {
			kept[name] = value
		}
	}
	if annotations, ok := kept["annotations"].(map[string]any); ok {
		annotations = maps.Clone(annotations)
		delete(annotations, triggerTime)
		kept["annotations"] = annotations
	}
	return prune(kept, true)
}

// triggerTime is an annotation of EndpointSlices. Whether a write sets it depends on when the controller looks.
const triggerTime = "endpoints.kubernetes.io/last-change-trigger-time"

// timeWord takes the place of times.
const timeWord = "<time>"

// prune returns a copy without nulls, and without maps and lists that are empty; nil if nothing is left. With times, a
// word takes the place of each time.
func prune(v any, times bool) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, value := range v {
			if kept := prune(value, times); kept != nil {
				out[name] = kept
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, entry := range v {
			kept := prune(entry, times)
			if kept == nil {
				kept = map[string]any{} // the number of entries counts
			}
			out = append(out, kept)
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case string:
		if times && isTime(v) {
			return timeWord
		}
	}
	return v
}

// isTime reports whether a text is a time as the API writes it.
func isTime(text string) bool {
	if len(text) < len("2006-01-02T15:04:05Z") || text[4] != '-' || text[10] != 'T' {
		return false
	}
	_, err := time.Parse(time.RFC3339Nano, text)
	return err == nil
}

// stripAdmission removes from pods what admission plugins add, also to what the request had: the token of the account,
// what priorities say, and for how long a node may be unreachable.
func stripAdmission(obj untyped.Map) {
	spec, _ := obj["spec"].(map[string]any)
	if spec == nil || spec["containers"] == nil {
		return
	}
	for _, name := range []string{
		"nodeName", "serviceAccount", "serviceAccountName", "priority", "preemptionPolicy", "imagePullSecrets",
	} {
		delete(spec, name)
	}
	keepEntries(spec, "tolerations", func(entry untyped.Map) bool {
		return !strings.HasPrefix(entry.Text("key"), "node.kubernetes.io/") || entry.Text("effect") != "NoExecute" ||
			entry.At("tolerationSeconds") == nil
	})
	isToken := func(name string) bool { return strings.HasPrefix(name, serviceaccount.ServiceAccountVolumeName) }
	keepEntries(spec, "volumes", func(entry untyped.Map) bool { return !isToken(entry.Text("name")) })
	for _, list := range []string{"containers", "initContainers"} {
		for _, container := range (untyped.Map{"list": spec[list]}).Maps("list") {
			keepEntries(container, "volumeMounts", func(entry untyped.Map) bool { return !isToken(entry.Text("name")) })
		}
	}
}

// stripAllocated removes from a Service the addresses and ports that the API has allocated, which are others each time,
// and from a PersistentVolume the version of its claim, which is the one that the binder happened to see.
func stripAllocated(obj untyped.Map) {
	spec, _ := obj["spec"].(map[string]any)
	if claim, ok := spec["claimRef"].(map[string]any); ok {
		delete(claim, "resourceVersion")
	}
	if address, ok := spec["clusterIP"].(string); !ok || address == "None" {
		return
	}
	for _, name := range []string{"clusterIP", "clusterIPs", "ipFamilies", "healthCheckNodePort"} {
		delete(spec, name)
	}
	for _, port := range (untyped.Map{"ports": spec["ports"]}).Maps("ports") {
		delete(port, "nodePort")
	}
}

// keepEntries removes the entries of a list for which keep reports false, and the list if none is left.
func keepEntries(in map[string]any, name string, keep func(untyped.Map) bool) {
	list, _ := in[name].([]any)
	if list == nil {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(list), func(entry any) bool {
		m, ok := entry.(map[string]any)
		return ok && !keep(m)
	})
	if len(kept) == 0 {
		delete(in, name)
		return
	}
	in[name] = kept
}

// contentText is a text by which contents are equal.
func contentText(content untyped.Map) string {
	text, err := json.Marshal(content) // sorts the names of fields
	if err != nil {
		return err.Error()
	}
	return string(text)
}
