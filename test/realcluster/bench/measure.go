package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// load is what the sides have to do.
type load struct {
	controllers []string // by the names of kube-controller-manager
	deployments int
	replicas    int32 // of each
	rounds      int
}

func (l load) pods() int { return l.deployments * int(l.replicas) }

// String says what the load is.
func (l load) String() string {
	return fmt.Sprintf("%d pods of %d Deployments, controllers %s",
		l.pods(), l.deployments, strings.Join(l.controllers, ","))
}

// measurement is one round of one side.
type measurement struct {
	ready     time.Duration // from start to ready
	idle      int           // bytes resident then, over all processes
	pods      time.Duration // from the first request to all pods ready
	allocated int           // bytes resident then
	peak      int           // the most that was ever resident
}

func measure(ctx context.Context, s side, l load) (m measurement, err error) {
	began := time.Now()
	r, err := s.start(ctx, l)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, r.Stop()) }()
	m.ready = time.Since(began)
	if m.idle, err = memory(r.Processes(), "VmRSS:"); err != nil {
		return m, err
	}
	config, err := configOf(r)
	if err != nil {
		return m, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return m, fmt.Errorf("making a client: %w", err)
	}
	if m.pods, err = makePods(ctx, client, l); err != nil {
		return m, err
	}
	if m.allocated, err = memory(r.Processes(), "VmRSS:"); err != nil {
		return m, err
	}
	m.peak, err = memory(r.Processes(), "VmHWM:")
	return m, err
}

// makePods makes the Deployments and waits until all their pods are ready.
func makePods(ctx context.Context, client kubernetes.Interface, l load) (time.Duration, error) {
	api := client.AppsV1().Deployments(metav1.NamespaceDefault)
	watcher, err := api.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, fmt.Errorf("watching Deployments: %w", err)
	}
	defer watcher.Stop()
	began := time.Now()
	for n := range l.deployments {
		if _, err := api.Create(ctx, deployment(n, l.replicas), metav1.CreateOptions{}); err != nil {
			return 0, fmt.Errorf("making Deployment %d: %w", n, err)
		}
	}
	ready := map[string]bool{}
	for len(ready) < l.deployments {
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case event, ok := <-watcher.ResultChan():
			if !ok {
				return 0, errors.New("the watch of Deployments has ended")
			}
			note(event, ready, l.replicas)
		}
	}
	return time.Since(began), nil
}

func note(event watch.Event, ready map[string]bool, replicas int32) {
	if d, ok := event.Object.(*appsv1.Deployment); ok && d.Status.ReadyReplicas == replicas {
		ready[d.Name] = true
	}
}

func deployment(n int, replicas int32) *appsv1.Deployment {
	name := fmt.Sprintf("web-%03d", n)
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
			},
		},
	}
}

// memory adds up a figure of the memory of processes, as Linux tells it.
func memory(processes map[string]int, figure string) (int, error) {
	total := 0
	for name, pid := range processes {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return 0, fmt.Errorf("reading the memory of %s: %w", name, err)
		}
		_, rest, _ := bytes.Cut(status, []byte(figure))
		var kib int
		if _, err := fmt.Sscan(string(rest), &kib); err != nil {
			return 0, fmt.Errorf("reading the memory of %s: %w", name, err)
		}
		total += kib << 10
	}
	return total, nil
}
