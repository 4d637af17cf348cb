package plans

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/realcluster/scenarios"
)

// Plan is what `kubectl reconcile diff -o json --show-status` prints, as far as it is compared: docs/diff.schema.json
// has all of it.
type Plan struct {
	End      string       `json:"end"`
	Steps    []planStep   `json:"steps"`
	Objects  []planObject `json:"objects"`
	Rollouts []struct {
		Sizes []struct {
			Object   planRef `json:"object"`
			Replicas int64   `json:"replicas"`
		} `json:"sizes"`
	} `json:"rollouts"`
}

type planStep struct {
	Controller string      `json:"controller"`
	Writes     []planWrite `json:"writes"`
}

type planWrite struct {
	Verb    string       `json:"verb"`
	Object  planRef      `json:"object"`
	Changes []planChange `json:"changes"`
	Refused string       `json:"refused"`
	Code    int          `json:"code"`
}

type planObject struct {
	Verb    string       `json:"verb"`
	Object  planRef      `json:"object"`
	Changes []planChange `json:"changes"`
}

type planRef struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
}

type planChange struct {
	Path string `json:"path"`
	New  any    `json:"new"`
}

// ParsePlan reads a plan.
func ParsePlan(data []byte) (*Plan, error) {
	var p Plan
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("reading the plan: %w", err)
	}
	return &p, nil
}

// object is the object of a reference, before anything is known of it.
func (r planRef) object() map[string]any {
	metadata := map[string]any{"name": r.Name}
	if r.Namespace != "" {
		metadata["namespace"] = r.Namespace
	}
	return map[string]any{"apiVersion": r.APIVersion, "kind": r.Kind, "metadata": metadata}
}

// key tells objects apart.
func (r planRef) key() string { return r.Kind + " " + r.Namespace + "/" + r.Name }

func keyOf(u *unstructured.Unstructured) string {
	return planRef{Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName()}.key()
}

// planned is what a plan says, beside the objects that it begins with.
type planned struct {
	home   string
	plan   *Plan
	before map[string]*unstructured.Unstructured // by key
}

func newPlanned(home string, plan *Plan, before []scenarios.Object) *planned {
	p := &planned{home: home, plan: plan, before: map[string]*unstructured.Unstructured{}}
	for _, object := range before {
		p.before[keyOf(object.Unstructured)] = object.Unstructured
	}
	return p
}

// changed returns the object with the changes; object is nil for one that is created.
func changed(object *unstructured.Unstructured, ref planRef, changes []planChange) *unstructured.Unstructured {
	content := ref.object()
	if object != nil {
		content = object.DeepCopy().Object
	}
	for _, c := range changes {
		value := c.New
		if m, ok := value.(map[string]any); ok && len(m) == 0 {
			continue
		}
		set(content, parsePath(c.Path), value)
	}
	return &unstructured.Unstructured{Object: content}
}

// writes are those of the plan, in their order, and what they make of the objects by key.
func (p *planned) writes() ([]write, map[string]*unstructured.Unstructured) {
	now := maps.Clone(p.before)
	var out []write
	for _, step := range p.plan.Steps {
		for _, w := range step.Writes {
			before := now[w.Object.key()]
			if w.Refused != "" || w.Code >= 400 {
				name := at(p.home, w.Object.Namespace, w.Object.Kind, w.Object.Name)
				out = append(out, write{
					controller: step.Controller, verb: w.Verb, at: name, object: name, code: w.Code,
				})
				continue
			}
			one, after := p.writeOf(w, before)
			one.controller = step.Controller
			out = append(out, one)
			now[w.Object.key()] = after
		}
	}
	return out, now
}

// writeOf is the write, and what the object is afterwards; nil if it is gone.
func (p *planned) writeOf(w planWrite, before *unstructured.Unstructured) (write, *unstructured.Unstructured) {
	switch w.Verb {
	case creates:
		after := changed(nil, w.Object, w.Changes)
		one, _ := describe(p.home, nil, after)
		return one, after
	case deletes:
		if before == nil {
			before = changed(nil, w.Object, nil)
		}
		one, _ := describe(p.home, before, nil)
		return one, before // it may be there until its finalizers are gone
	}
	if before == nil {
		before = changed(nil, w.Object, nil)
	}
	after := changed(before, w.Object, w.Changes)
	one, _ := describe(p.home, before, after)
	return one, after
}

// sizes are the numbers of replicas that the plan lists, by object. An object that another workload adopts is in the
// rollouts of both, and in the second begins with what it was last.
func (p *planned) sizes() map[string][]string {
	out := map[string][]string{}
	for _, rollout := range p.plan.Rollouts {
		for _, size := range rollout.Sizes {
			name := at(p.home, size.Object.Namespace, size.Object.Kind, size.Object.Name)
			text := fmt.Sprint(size.Replicas)
			if n := len(out[name]); n == 0 || out[name][n-1] != text {
				out[name] = append(out[name], text)
			}
		}
	}
	return out
}

// Words of a plan in the place of what is random or the time.
var (
	uidWord     = regexp.MustCompile(`<uid of [a-z]+ [^ <>]*(?:<[0-9]*>)?>`)
	addressWord = regexp.MustCompile(`<address [0-9]+ of service [^>]*>`)
	digestZeros = strings.Repeat("0", 64)
)

// clusterText returns a text of a plan as one of a cluster could be, for what normalises those of clusters.
func clusterText(text string) string {
	switch {
	case text == "<now>":
		return "2006-01-02T15:04:05Z"
	case !strings.Contains(text, "<"):
		return text
	}
	text = strings.ReplaceAll(text, "simulated://<>", "simulated://"+digestZeros)
	text = strings.ReplaceAll(text, "kube-api-access-<>", "kube-api-access-00000")
	text = uidWord.ReplaceAllStringFunc(text, func(word string) string {
		sum := sha256.Sum256([]byte(word)) // one for each object
		return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	})
	return addressWord.ReplaceAllString(text, "10.0.0.1")
}

func clusterValue(v any) any {
	switch v := v.(type) {
	case string:
		return clusterText(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = clusterValue(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[clusterText(key)] = clusterValue(value)
		}
		return out
	}
	return v
}

// copyField copies a field of metadata, if the other object is there and has it.
func copyField(to, from *unstructured.Unstructured, field string) {
	if from == nil {
		return
	}
	value, found, err := unstructured.NestedString(from.Object, "metadata", field)
	if err != nil || !found {
		return
	}
	set(to.Object, []element{{field: "metadata"}, {field: field}}, value)
}

// objects are what the plan makes of the objects of the beginning.
func (p *planned) objects() []scenarios.Object {
	now := maps.Clone(p.before)
	_, written := p.writes()
	for _, object := range p.plan.Objects {
		switch key := object.Object.key(); object.Verb {
		case deletes:
			delete(now, key)
		case creates:
			now[key] = changed(nil, object.Object, object.Changes)
		default:
			now[key] = changed(now[key], object.Object, object.Changes)
		}
		if object.Verb != deletes {
			for _, field := range []string{"uid", "creationTimestamp"} { // which are not shown of what is made anew
				copyField(now[object.Object.key()], written[object.Object.key()], field)
			}
		}
	}
	var out []scenarios.Object
	for _, key := range slices.Sorted(maps.Keys(now)) {
		content, _ := clusterValue(now[key].Object).(map[string]any) // a map stays one
		out = append(out, scenarios.Object{Unstructured: &unstructured.Unstructured{Object: content}})
	}
	return out
}
