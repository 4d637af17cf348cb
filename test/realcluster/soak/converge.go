package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// convergence is that everything was as it should.
type convergence struct {
	after   time.Duration // the last change
	objects int
}

// reviver starts again what has ended of a control plane, beside the API server.
type reviver interface {
	Revive(ctx context.Context) error
}

// converge waits until everything is as it should, and stays so for a moment. The error names what is not, after so
// long.
func converge(ctx context.Context, client kubernetes.Interface, c reviver, within time.Duration) (convergence, error) {
	began := time.Now()
	good := 0
	for {
		if err := c.Revive(ctx); err != nil {
			return convergence{}, err
		}
		w, err := read(ctx, client)
		var wrong []string
		if err == nil {
			wrong = w.wrong()
		}
		if good++; err != nil || len(wrong) > 0 {
			good = 0
		}
		if good == 3 {
			n := 0
			for _, list := range w.objects() {
				n += len(list)
			}
			return convergence{time.Since(began), n}, nil
		}
		if time.Since(began) > within {
			first := strings.Join(wrong[:min(len(wrong), 20)], "\n")
			return convergence{}, errors.Join(err,
				fmt.Errorf("%s after the last change, %d are not as they should:\n%s", within, len(wrong), first))
		}
		if err := wait(ctx, time.Second); err != nil {
			return convergence{}, err
		}
	}
}

// removeAll removes all namespaces that were made here, and waits until nothing of them is left.
func removeAll(ctx context.Context, client kubernetes.Interface, c reviver, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		if err := c.Revive(ctx); err != nil {
			return err
		}
		w, err := read(ctx, client)
		if err != nil {
			return err
		}
		left := 0
		for _, n := range w.namespaces.Items {
			if !ours(n.Name) {
				continue
			}
			left++
			if n.DeletionTimestamp == nil {
				if err := client.CoreV1().Namespaces().Delete(ctx, n.Name, metav1.DeleteOptions{}); err != nil {
					return fmt.Errorf("removing namespace %q: %w", n.Name, err)
				}
			}
		}
		if left == 0 && len(w.objects()) == 0 {
			return nil
		}
		if err := wait(ctx, time.Second); err != nil {
			return fmt.Errorf("waiting until %d namespaces are gone: %w", left, err)
		}
	}
}

// wrong names what is not as it should, in a stable order.
func (w *world) wrong() []string {
	var out []string
	say := func(kind string, o metav1.Object, format string, args ...any) {
		problem := fmt.Sprintf(format, args...)
		out = append(out, fmt.Sprintf("%s %s/%s: %s", kind, o.GetNamespace(), o.GetName(), problem))
	}
	w.wrongWorkloads(say)
	w.wrongServices(say)
	w.wrongOwners(say)
	w.wrongNamespaces(say)
	slices.Sort(out)
	return out
}

// sayer tells what is wrong with an object.
type sayer func(kind string, o metav1.Object, format string, args ...any)

func (w *world) wrongWorkloads(say sayer) {
	for i := range w.deployments.Items {
		d := &w.deployments.Items[i]
		if s := d.Status; s.ObservedGeneration != d.Generation || s.UpdatedReplicas != *d.Spec.Replicas ||
			s.AvailableReplicas != *d.Spec.Replicas || s.Replicas != *d.Spec.Replicas {
			say("Deployment", d, "%d wanted, status %+v", *d.Spec.Replicas, s)
		}
	}
	for i := range w.statefulSets.Items {
		d := &w.statefulSets.Items[i]
		if s := d.Status; s.ObservedGeneration != d.Generation || s.UpdatedReplicas != *d.Spec.Replicas ||
			s.ReadyReplicas != *d.Spec.Replicas || s.Replicas != *d.Spec.Replicas {
			say("StatefulSet", d, "%d wanted, status %+v", *d.Spec.Replicas, s)
		}
	}
	for i := range w.daemonSets.Items {
		d := &w.daemonSets.Items[i]
		if s := d.Status; s.ObservedGeneration != d.Generation || s.DesiredNumberScheduled == 0 ||
			s.UpdatedNumberScheduled != s.DesiredNumberScheduled || s.NumberAvailable != s.DesiredNumberScheduled {
			say("DaemonSet", d, "status %+v", s)
		}
	}
	for i := range w.jobs.Items { // finished ones go by themselves
		say("Job", &w.jobs.Items[i], "is still there: %+v", w.jobs.Items[i].Status)
	}
	w.wrongPods(say)
}

// wrongPods: each that belongs to a workload is ready, and there are as many as that wants.
func (w *world) wrongPods(say sayer) {
	for i := range w.pods.Items {
		p := &w.pods.Items[i]
		if ours(p.Namespace) && p.Status.Phase != corev1.PodRunning {
			say("Pod", p, "is %s", p.Status.Phase)
		}
	}
}

// wrongServices: the addresses of a service are those of the pods that it selects.
func (w *world) wrongServices(say sayer) {
	for i := range w.services.Items {
		s := &w.services.Items[i]
		if !ours(s.Namespace) {
			continue
		}
		want, got := w.selected(s), w.addresses(s)
		if !slices.Equal(want, got) {
			say("Service", s, "its pods are %v, its addresses %v", want, got)
		}
	}
}

func (w *world) selected(s *corev1.Service) []string {
	var out []string
	for _, p := range w.pods.Items {
		if p.Namespace == s.Namespace && matches(s.Spec.Selector, p.Labels) && p.Status.PodIP != "" {
			out = append(out, p.Status.PodIP)
		}
	}
	slices.Sort(out)
	return out
}

func matches(selector, labels map[string]string) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return true
}

func (w *world) addresses(s *corev1.Service) []string {
	var out []string
	for _, slice := range w.slices.Items {
		if slice.Namespace != s.Namespace || slice.Labels["kubernetes.io/service-name"] != s.Name {
			continue
		}
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready != nil && *e.Conditions.Ready {
				out = append(out, e.Addresses...)
			}
		}
	}
	slices.Sort(out)
	return out
}

// wrongOwners: nothing is left whose owner is gone, and nothing is about to be removed forever.
func (w *world) wrongOwners(say sayer) {
	there := map[types.UID]bool{}
	for _, list := range w.objects() {
		for _, o := range list {
			there[o.GetUID()] = true
		}
	}
	for kind, list := range w.objects() {
		for _, o := range list {
			if o.GetDeletionTimestamp() != nil {
				say(kind, o, "is being deleted, finalizers %v", o.GetFinalizers())
			}
			for _, owner := range o.GetOwnerReferences() {
				if owner.Kind != "Node" && !there[owner.UID] {
					say(kind, o, "its owner %s %s is gone", owner.Kind, owner.Name)
				}
			}
		}
	}
}

// wrongNamespaces: each has what controllers put there, or is gone.
func (w *world) wrongNamespaces(say sayer) {
	for i := range w.namespaces.Items {
		n := &w.namespaces.Items[i]
		if !ours(n.Name) {
			continue
		}
		if n.Status.Phase != corev1.NamespaceActive {
			say("Namespace", n, "is %s", n.Status.Phase)
			continue
		}
		if !slices.ContainsFunc(w.accounts.Items, func(a corev1.ServiceAccount) bool {
			return a.Namespace == n.Name && a.Name == "default"
		}) {
			say("Namespace", n, "has no ServiceAccount default")
		}
		if !slices.ContainsFunc(w.configMaps.Items, func(c corev1.ConfigMap) bool {
			return c.Namespace == n.Name && c.Name == "kube-root-ca.crt"
		}) {
			say("Namespace", n, "has no ConfigMap kube-root-ca.crt")
		}
	}
}
