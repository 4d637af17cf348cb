package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/plugin/pkg/admission/serviceaccount"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

// names replaces what is random in a session, or the time, by words that are the same in every one: names that the API
// generated, uids, addresses and ports. Its methods may be called concurrently, but for give and those that say so.
type names struct {
	began time.Time
	uids  atomic.Int64
	given map[string]bool // texts of the change that the plan is for: they are not random

	mu     sync.RWMutex // guards what follows
	words  map[string]string
	order  map[string]string // by namespace/name: what objects of generated names are sorted by
	counts map[string]int
	// undecided are the pods, by namespace/name, whose node is not decided: see Object.Undecided.
	undecided map[string]bool
	replacer  *strings.Replacer // of words; nil after a word was added
}

func newNames(began time.Time) *names {
	return &names{
		began: began.Truncate(time.Second), given: map[string]bool{}, words: map[string]string{},
		order: map[string]string{}, counts: map[string]int{}, undecided: map[string]bool{},
	}
}

// give makes the texts of an object be left as they are. It must not be called concurrently with other methods than
// listOrder and newUID.
func (n *names) give(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, field := range v {
			n.give(field)
		}
	case []any:
		for _, entry := range v {
			n.give(entry)
		}
	case nil, bool:
	default:
		n.given[fmt.Sprint(v)] = true
	}
}

// learn finds what was made at random in objects that were created. Several of one reconcile are numbered by what is in
// them, since they may have been created concurrently.
func (n *names) learn(writes []api.Write) {
	var created []*unstructured.Unstructured
	for _, w := range writes {
		n.learnUndecided(w)
		if w.Before == nil && w.After != nil {
			created = append(created, w.After)
			if w.After.GetKind() == "Pod" {
				n.learnVolumes(w.After)
			}
		}
	}
	if len(created) > 1 {
		sorted := make(map[*unstructured.Unstructured]string, len(created))
		for _, obj := range created {
			sorted[obj] = n.sortText(obj)
		}
		slices.SortStableFunc(created, func(a, b *unstructured.Unstructured) int {
			return cmp.Compare(sorted[a], sorted[b])
		})
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, obj := range created {
		n.learnOne(obj)
	}
}

// accessVolume begins the names of the volumes that the API adds to pods for their ServiceAccounts.
const accessVolume = serviceaccount.ServiceAccountVolumeName + "-"

// learnVolumes finds the random names of the volumes of pods.
func (n *names) learnVolumes(pod *unstructured.Unstructured) {
	volumes, _, _ := unstructured.NestedSlice(pod.Object, "spec", "volumes")
	for _, v := range volumes {
		m, _ := v.(map[string]any)
		name, _ := m["name"].(string)
		if strings.HasPrefix(name, accessVolume) && !n.given[name] {
			n.mu.Lock()
			n.word(name, accessVolume+"<>")
			n.mu.Unlock()
		}
	}
}

// generatedLetters and generatedLength are those of what the API appends to metadata.generateName:
// k8s.io/apiserver/pkg/storage/names and k8s.io/apimachinery/pkg/util/rand.
const (
	generatedLetters = "bcdfghjklmnpqrstvwxz2456789"
	generatedLength  = 5
)

// isGenerated reports whether a name may be generated. A StatefulSet sets both, and its names are not.
func isGenerated(name, prefix string) bool {
	suffix, ok := strings.CutPrefix(name, prefix)
	return ok && prefix != "" && len(suffix) == generatedLength && strings.Trim(suffix, generatedLetters) == ""
}

// learnRefused finds the generated name of an object that was refused, in the message.
func (n *names) learnRefused(prefix, message string) {
	pattern, err := regexp.Compile(regexp.QuoteMeta(prefix) +
		fmt.Sprintf(`[%s]{%d}\b`, generatedLetters, generatedLength))
	if err != nil {
		return // cannot happen
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range pattern.FindAllString(message, -1) {
		if n.words[name] == "" && !n.given[name] {
			n.word(name, prefix+"<>")
		}
	}
}

// learnOne is learn for one object. n.mu must be held.
func (n *names) learnOne(obj *unstructured.Unstructured) {
	name, kind := obj.GetName(), strings.ToLower(obj.GetKind())
	shown := name
	if prefix := obj.GetGenerateName(); isGenerated(name, prefix) && !n.given[name] {
		count := n.next(kind + " " + obj.GetNamespace() + "/" + prefix)
		shown = fmt.Sprintf("%s<%d>", prefix, count)
		n.word(name, shown)
		// The latest comes first: of equals, controllers delete the first that they list, and in a cluster the
		// youngest.
		n.order[obj.GetNamespace()+"/"+name] = fmt.Sprintf("%s%08d", prefix, 99_999_999-count)
	}
	if uid := string(obj.GetUID()); uid != "" {
		n.word(uid, fmt.Sprintf("<uid of %s %s>", kind, shown))
	}
	if kind != "service" {
		return
	}
	spec, _, _ := unstructured.NestedMap(obj.Object, "spec")
	addresses, _, _ := unstructured.NestedStringSlice(spec, "clusterIPs")
	for i, address := range addresses {
		if address != "None" && !n.given[address] {
			n.word(address, fmt.Sprintf("<address %d of service %s>", i+1, shown))
		}
	}
}

// newUID is api.Options.NewUID: the uid of each pod is less than those before.
func (n *names) newUID(r schema.GroupResource) types.UID {
	if r != (schema.GroupResource{Resource: "pods"}) {
		return ""
	}
	return types.UID(fmt.Sprintf("ffffffff-ffff-4fff-bfff-%012x", 1<<48-n.uids.Add(1)))
}

// next counts what is named alike. n.mu must be held.
func (n *names) next(of string) int {
	n.counts[of]++
	return n.counts[of]
}

// word has a text replaced from now on. n.mu must be held.
func (n *names) word(from, to string) {
	n.words[from], n.replacer = to, nil
}

// sortText is a text of an object without what is random in it.
func (n *names) sortText(obj *unstructured.Unstructured) string {
	c := obj.DeepCopy()
	for _, field := range []string{"name", "uid", "resourceVersion", "creationTimestamp", "managedFields"} {
		unstructured.RemoveNestedField(c.Object, "metadata", field)
	}
	text, err := json.Marshal(n.object(c).Object)
	if err != nil {
		return ""
	}
	return string(text)
}

// replace replaces the words in a text.
func (n *names) replace(text string) string {
	n.mu.RLock()
	r := n.replacer
	n.mu.RUnlock()
	if r == nil {
		r = n.newReplacer()
	}
	return r.Replace(text)
}

// newReplacer makes the replacer: a longer text before one that it begins with.
func (n *names) newReplacer() *strings.Replacer {
	n.mu.Lock()
	defer n.mu.Unlock()
	var pairs []string
	for _, from := range slices.SortedFunc(maps.Keys(n.words), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	}) {
		pairs = append(pairs, from, n.words[from])
	}
	n.replacer = strings.NewReplacer(pairs...)
	return n.replacer
}

// key returns the text of a queue key.
func (n *names) key(key string) string { return n.replace(key) }

// numbers are the numbers of generated names.
var numbers = regexp.MustCompile(`<[0-9]+>`)

// sortKey returns a text of the queue key by which it is sorted: by number among generated names.
func (n *names) sortKey(key string) string {
	return numbers.ReplaceAllStringFunc(n.key(key), func(number string) string { return fmt.Sprintf("%010s", number) })
}

// listOrder is tap.Options.ListOrder.
func (n *names) listOrder(namespace, name string) string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if order, ok := n.order[namespace+"/"+name]; ok {
		return namespace + "/" + order
	}
	return namespace + "/" + name
}

// object returns a copy of an object with words in the place of what is random; nil for nil.
func (n *names) object(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if obj == nil {
		return nil
	}
	out := &unstructured.Unstructured{Object: n.value(obj.Object).(map[string]any)}
	unstructured.RemoveNestedField(out.Object, "metadata", "resourceVersion")
	removeTriggerTime(out)
	if deleted := obj.GetDeletionTimestamp(); deleted != nil && !deleted.Time.Before(n.began) {
		_ = unstructured.SetNestedField(out.Object, nowWord, "metadata", "deletionTimestamp") // there is metadata
	}
	sortManagedFields(out)
	if obj.GetKind() == "Pod" && n.isUndecided(obj.GetNamespace(), obj.GetName()) {
		hideNode(out)
	}
	if out.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Service"}) {
		n.hidePorts(out)
	}
	return out
}

// removeTriggerTime removes the annotation by which a controller says since when endpoints are what they are: whether
// it does depends on which changes it has seen at once.
func removeTriggerTime(obj *unstructured.Unstructured) {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if _, ok := annotations[corev1.EndpointsLastChangeTriggerTime]; !ok {
		return
	}
	if delete(annotations, corev1.EndpointsLastChangeTriggerTime); len(annotations) == 0 {
		delete(metadata, "annotations")
	}
}

// sortManagedFields sorts the entries of managedFields, which the API sorts by times to the second.
func sortManagedFields(obj *unstructured.Unstructured) {
	entries, _, err := unstructured.NestedFieldNoCopy(obj.Object, "metadata", "managedFields")
	list, ok := entries.([]any)
	if err != nil || !ok {
		return
	}
	slices.SortStableFunc(list, func(a, b any) int {
		x, _ := a.(map[string]any)
		y, _ := b.(map[string]any)
		for _, field := range []string{"time", "operation", "manager", "subresource", "apiVersion"} {
			if c := cmp.Compare(fmt.Sprint(x[field]), fmt.Sprint(y[field])); c != 0 {
				return c
			}
		}
		return 0
	})
}

func (n *names) value(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, field := range v {
			out[n.replace(k)] = n.value(field)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, entry := range v {
			out[i] = n.value(entry)
		}
		return out
	case string:
		return n.text(v)
	}
	return v
}

// nowWord takes the place of times after the beginning.
const nowWord = "<now>"

// text replaces the words in a text, or the text if it is a time after the beginning that is not in the future.
func (n *names) text(text string) string {
	if len(text) >= len("2006-01-02T15:04:05Z") && text[4] == '-' && !n.given[text] {
		if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
			if t.Before(n.began) || t.After(time.Now().Add(time.Second)) {
				return text
			}
			return nowWord
		}
	}
	if strings.HasPrefix(text, simulatedID) {
		return simulatedID + "<>"
	}
	return n.replace(text)
}

// simulatedID begins the IDs of simulated containers, which are made of uids.
const simulatedID = "simulated://"

// hidePorts replaces the node ports that the API chose.
func (n *names) hidePorts(service *unstructured.Unstructured) {
	spec, _ := service.Object["spec"].(map[string]any)
	if spec == nil || service.GetUID() == "" || !strings.HasPrefix(string(service.GetUID()), "<") {
		return // it was there
	}
	if port, ok := spec["healthCheckNodePort"]; ok && !n.given[fmt.Sprint(port)] {
		spec["healthCheckNodePort"] = "<port>"
	}
	ports, _ := spec["ports"].([]any)
	for _, p := range ports {
		m, _ := p.(map[string]any)
		if port, ok := m["nodePort"]; ok && !n.given[fmt.Sprint(port)] {
			m["nodePort"] = "<port>"
		}
	}
}
