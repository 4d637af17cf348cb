package diff

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
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/plugin/pkg/admission/serviceaccount"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/plan"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/seed"
)

// admissionRefusal is the creation of an object by a controller that the admission of the cluster refuses.
type admissionRefusal struct {
	controller string
	object     plan.ObjectID
	message    string
}

// line is the line about it below the steps of a plan.
func (r *admissionRefusal) line() string {
	return fmt.Sprintf("the cluster's admission refuses what is in the plan, tried in dry run as you: %s: %s",
		r.what(), render.TrimAPIError(r.message))
}

// what names the object, and who creates it.
func (r *admissionRefusal) what() string {
	name := cache.ObjectName{Namespace: r.object.Namespace, Name: r.object.Name}
	return fmt.Sprintf("%s %s of %s", r.object.Kind, name, r.controller)
}

const (
	// mostCreated bounds the objects of a plan that are tried on the cluster, and createdAtOnce those at a time.
	mostCreated   = 20
	createdAtOnce = 4
	// admissionTime bounds how long they are tried: each webhook may take half a minute.
	admissionTime = 20 * time.Second
)

// tryAdmission has the cluster create, in dry run, what controllers create in the plan, if the cluster may have
// webhooks, which the copy does not call: of what a controller creates for one owner, the first object of each kind. It
// adds to the plan what is refused, and a line about what it could not find out.
func (o *Options) tryAdmission(ctx context.Context, made *madePlan) {
	all := createdByControllers(made.Plan)
	if len(all) == 0 || !mayHaveWebhooks(made.copied) {
		return
	}
	shown := o.progress.Show(ctx, cli.ProgressText("trying in dry run what controllers create"))
	defer shown()
	client, err := dynamic.NewForConfig(o.withoutWarnings())
	if err != nil {
		made.leftOut = append(made.leftOut, fmt.Sprintf("the cluster's webhooks were not asked: %v", err))
		return
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
	made.judgeCreated(all, answers)
}

// judgeCreated takes what the cluster answers to what controllers create.
func (m *madePlan) judgeCreated(all []createdObject, answers []error) {
	var unknown []admissionRefusal
	for i, c := range all {
		if answers[i] == nil {
			continue
		}
		one := admissionRefusal{controller: c.controller, object: c.object, message: answers[i].Error()}
		switch inspect.Refusal(one.message).Type {
		case inspect.AdmissionDenied, inspect.WebhookUnreachable:
			m.refused = append(m.refused, one)
		default:
			unknown = append(unknown, one)
		}
	}
	if len(unknown) == 0 {
		return
	}
	line := fmt.Sprintf("not known whether the cluster's webhooks accept %s: %s", unknown[0].what(), unknown[0].message)
	if more := len(unknown) - 1; more > 0 {
		line += fmt.Sprintf("; and %d more", more)
	}
	m.leftOut = append(m.leftOut, line)
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
	object     plan.ObjectID
	after      *unstructured.Unstructured
}

// createdByControllers returns what controllers create in a plan and leave there: for each owner the first object of
// each kind.
func createdByControllers(p *plan.Plan) []createdObject {
	after := map[plan.ObjectID]*unstructured.Unstructured{}
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
			if w.Verb != plan.Create || w.Refused() || obj == nil {
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
