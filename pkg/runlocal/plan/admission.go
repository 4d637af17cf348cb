package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/kubernetes/plugin/pkg/admission/serviceaccount"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

// Refusal is the creation of an object by a controller, and what a cluster has answered to it in dry run.
type Refusal struct {
	Controller string
	Object     ObjectID
	Message    string
}

const (
	// mostCreated bounds the objects of a plan that are tried on the cluster, and createdAtOnce those at a time.
	mostCreated   = 20
	createdAtOnce = 4
	// admissionTime bounds how long they are tried: each webhook may take half a minute.
	admissionTime = 20 * time.Second
)

// tryAdmission has the cluster create, in dry run, what controllers create in the plan for a change, if the cluster may
// have webhooks, which the copy does not call: of what a controller creates for one owner, the first object of each
// kind. It adds to the plan what is refused, and what it could not find out.
func (m *making) tryAdmission(ctx context.Context, p *Plan) error {
	all := createdByControllers(p)
	if m.state.cluster == nil || len(m.change.Manifests) == 0 || len(all) == 0 || !mayHaveWebhooks(m.state.Copy) {
		return nil
	}
	m.begin(StageAdmission)
	client, err := dynamic.NewForConfig(m.state.cluster.c.withoutWarnings())
	if err != nil {
		return fmt.Errorf("making a client of the cluster: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, admissionTime)
	defer cancel()
	answers := make([]error, len(all))
	var group errgroup.Group
	group.SetLimit(createdAtOnce)
	for i, c := range all {
		if i >= mostCreated {
			answers[i] = fmt.Errorf("only %d objects are tried", mostCreated)
			continue
		}
		group.Go(func() error {
			objects := client.Resource(c.object.Resource).Namespace(c.object.Namespace)
			dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
			_, answers[i] = objects.Create(limited, asSent(c.after), dry)
			return nil
		})
	}
	_ = group.Wait() // what fails is an answer
	p.judgeCreated(all, answers)
	return nil
}

// judgeCreated takes what the cluster answers to what controllers create.
func (p *Plan) judgeCreated(all []createdObject, answers []error) {
	for i, c := range all {
		if answers[i] == nil {
			continue
		}
		one := Refusal{c.controller, c.object, answers[i].Error()}
		switch inspect.Refusal(one.Message).Type {
		case inspect.AdmissionDenied, inspect.WebhookUnreachable:
			p.Refused = append(p.Refused, one)
		default:
			p.Untried = append(p.Untried, one)
		}
	}
}

// webhookResources are the kinds that configure webhooks.
var webhookResources = []schema.GroupResource{
	{Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations"},
	{Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations"},
}

// mayHaveWebhooks reports whether the cluster of a copy has webhooks, or could not be asked for them.
func mayHaveWebhooks(copied *seed.Copy) bool {
	return slices.ContainsFunc(webhookResources, copied.Unread) ||
		slices.ContainsFunc(copied.LeftOut, func(l seed.LeftOut) bool { return l.Reason == seed.ReasonWebhook })
}

// createdObject is an object that a controller creates in a plan.
type createdObject struct {
	controller string
	object     ObjectID
	after      *unstructured.Unstructured
}

// createdByControllers returns what controllers create in a plan and leave there: for each owner the first object of
// each kind.
func createdByControllers(p *Plan) []createdObject {
	after := map[ObjectID]*unstructured.Unstructured{}
	for i := range p.Objects {
		after[p.Objects[i].ObjectID] = p.Objects[i].After
	}
	var out []createdObject
	seen := map[string]bool{}
	for i := range p.Steps {
		step := &p.Steps[i]
		if step.Simulated || step.Controller == "" {
			continue
		}
		for _, w := range step.Writes {
			obj := after[w.Object]
			if w.Verb != Create || w.Refused() || obj == nil {
				continue
			}
			owner := ""
			if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
				owner = ref.Kind + " " + ref.Name
			}
			alike := fmt.Sprint(step.Controller, " ", w.Object.Resource, " ", w.Object.Namespace, " ", owner)
			if !seen[alike] {
				seen[alike] = true
				out = append(out, createdObject{step.Controller, w.Object, obj})
			}
		}
	}
	return out
}

// asSent returns an object as it is at the end of a plan, without what an API server and nodes have added to it, which
// is in words that a server would not accept.
func asSent(obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := obj.DeepCopy()
	unstructured.RemoveNestedField(out.Object, "status")
	for _, field := range []string{
		"uid", "creationTimestamp", "deletionTimestamp", "generation", "managedFields",
	} {
		unstructured.RemoveNestedField(out.Object, "metadata", field)
	}
	if isWord(out.GetName()) {
		unstructured.RemoveNestedField(out.Object, "metadata", "name")
	}
	removeWords(out.Object, "metadata", "labels")
	removeWords(out.Object, "spec", "template", "metadata", "labels")
	switch out.GroupVersionKind().GroupKind().String() {
	case "Pod":
		unstructured.RemoveNestedField(out.Object, "spec", "nodeName")
		removeAccessVolumes(out.Object["spec"])
	case "Job.batch":
		removeWords(out.Object, "spec", "selector", "matchLabels")
	case "PersistentVolumeClaim":
		unstructured.RemoveNestedField(out.Object, "spec", "volumeName")
	}
	return out
}

// isWord reports whether a text has one of the words in brackets that a plan has for what a server generates.
func isWord(text string) bool { return strings.Contains(text, "<") }

// removeWords removes the labels whose values are words.
func removeWords(obj map[string]any, path ...string) {
	labels, _, _ := unstructured.NestedStringMap(obj, path...) // an API server has checked that they are
	for name, value := range labels {
		if isWord(value) {
			unstructured.RemoveNestedField(obj, append(slices.Clone(path), name)...)
		}
	}
}

// removeAccessVolumes removes the volumes for ServiceAccounts, and where they are mounted.
func removeAccessVolumes(spec any) {
	fields, _ := spec.(map[string]any)
	remove := func(in map[string]any, list string) {
		items, _ := in[list].([]any)
		items = slices.DeleteFunc(items, func(item any) bool {
			m, _ := item.(map[string]any)
			name, _ := m["name"].(string)
			return strings.HasPrefix(name, serviceaccount.ServiceAccountVolumeName)
		})
		if len(items) > 0 {
			in[list] = items
		} else {
			delete(in, list)
		}
	}
	remove(fields, "volumes")
	for _, list := range []string{"initContainers", "containers"} {
		containers, _ := fields[list].([]any)
		for _, c := range containers {
			if container, ok := c.(map[string]any); ok {
				remove(container, "volumeMounts")
			}
		}
	}
}
