package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// Activity shows that kube-controller-manager runs, whether it holds a Lease or not: a pod of it, or an object that it
// has written.
type Activity struct {
	// Resource, Namespace and Name are those of the pod or the object.
	Resource        schema.GroupResource
	Namespace, Name string
	// Written is when the object was written, by the API server's clock; zero for a pod.
	Written time.Time
}

const (
	// recentWrite is how old a write of kube-controller-manager may be to show that it runs.
	recentWrite = time.Minute
	// clockSkew is how far the clock of a Lease's holder may be ahead of the API server's, which is read to the second.
	clockSkew = 2 * time.Second
	// maxObjectsRead bounds the objects of a resource that are examined.
	maxObjectsRead = 500
)

// managerResources are resources whose objects kube-controller-manager writes often.
func managerResources() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		{Group: "apps", Version: "v1", Resource: "deployments"},
		{Group: "apps", Version: "v1", Resource: "replicasets"},
		{Group: "apps", Version: "v1", Resource: "statefulsets"},
		{Group: "apps", Version: "v1", Resource: "daemonsets"},
		{Group: "batch", Version: "v1", Resource: "jobs"}, {Group: "batch", Version: "v1", Resource: "cronjobs"},
		{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"},
	}
}

// ManagerActivity looks for a kube-controller-manager that does not hold its Lease: for pods in kube-system that run
// it, and for writes of the last minute under its name. It leaves out writes that may be those of ended, a holder of
// the Lease that no longer renews it (nil if there was none), or of a runner whose Lease is in namespace or in
// DefaultNamespace; until when these may have written is computed by their clocks, unless those are ahead of the API
// server's. The result is sorted; an empty one proves nothing. An error concerns what could not be read, and may come
// with what was found elsewhere.
func ManagerActivity(ctx context.Context, config *rest.Config, namespace string, ended *Holder) ([]Activity, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of the cluster: %w", err)
	}
	contents, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of the cluster: %w", err)
	}
	now, err := serverTime(ctx, config)
	if err != nil {
		return nil, err
	}
	known, err := runnerHolders(ctx, client, namespace)
	if err != nil {
		return nil, err
	}
	if ended != nil {
		known = append(known, ended)
	}
	since := now.Add(-recentWrite)
	for _, h := range known {
		if end := h.Renewed.Add(h.Duration); end.After(since) && !h.Renewed.After(now.Add(clockSkew)) {
			since = end
		}
	}
	resources := managerResources()
	found, errs := make([][]Activity, len(resources)+1), make([]error, len(resources)+1)
	var looking sync.WaitGroup
	looking.Go(func() { found[0], errs[0] = managerPods(ctx, client) })
	for i, r := range resources {
		looking.Go(func() { found[i+1], errs[i+1] = writtenByManager(ctx, contents, r, since) })
	}
	looking.Wait()
	signs := slices.Concat(found...)
	slices.SortFunc(signs, func(a, b Activity) int {
		return cmp.Or(a.Written.Compare(b.Written), cmp.Compare(a.Resource.String(), b.Resource.String()),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return signs, errors.Join(errs...)
}

// serverTime returns the API server's time, to the second, from the header Date: managed fields have times of that
// clock.
func serverTime(ctx context.Context, config *rest.Config) (time.Time, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return time.Time{}, fmt.Errorf("making a client of the cluster: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return time.Time{}, fmt.Errorf("making a client of the cluster: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base.JoinPath("version").String(), http.NoBody)
	if err != nil {
		return time.Time{}, fmt.Errorf("reading the API server's time: %w", err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return time.Time{}, fmt.Errorf("reading the API server's time: %w", err)
	}
	_ = resp.Body.Close() // only its head is read
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		return at, nil
	}
	return time.Now(), nil // a server in process sends no Date
}

// runnerHolders returns the present or last holders of runners' Leases: they write under kube-controller-manager's name
// too. A Lease that was released counts for DefaultDuration. The Leases are in namespace and in DefaultNamespace, which
// is left out if they may not be listed there.
func runnerHolders(ctx context.Context, client kubernetes.Interface, namespace string) ([]*Holder, error) {
	var out []*Holder
	for _, in := range slices.Compact([]string{namespace, DefaultNamespace}) {
		list, err := client.CoordinationV1().Leases(in).List(ctx, metav1.ListOptions{})
		if apierrors.IsForbidden(err) && in != namespace {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("listing Leases in %q: %w", in, err)
		}
		for i := range list.Items {
			if l := &list.Items[i]; strings.HasPrefix(l.Name, Name(0, 0)) && l.Spec.RenewTime != nil {
				seconds := ptr.Deref(l.Spec.LeaseDurationSeconds, 0)
				lasts := max(DefaultDuration, time.Duration(seconds)*time.Second)
				out = append(out, &Holder{Renewed: l.Spec.RenewTime.Time, Duration: lasts})
			}
		}
	}
	return out, nil
}

// managerPods returns the pods of kube-system in which kube-controller-manager runs.
func managerPods(ctx context.Context, client kubernetes.Interface) ([]Activity, error) {
	list, err := client.CoreV1().Pods(DefaultNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("looking for pods of %s in %q: %w", ManagerName, DefaultNamespace, err)
	}
	var out []Activity
	for i := range list.Items {
		if p := &list.Items[i]; runsManager(p) {
			out = append(out, Activity{Resource: schema.GroupResource{Resource: "pods"}, Namespace: p.Namespace,
				Name: p.Name})
		}
	}
	return out, nil
}

// runsManager reports whether a container of the pod is running that is kube-controller-manager by its name, image or
// command.
func runsManager(p *corev1.Pod) bool {
	named := map[string]bool{}
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		image, _, _ := strings.Cut(path.Base(c.Image), ":")
		is := c.Name == ManagerName || strings.HasPrefix(image, ManagerName)
		for _, word := range slices.Concat(c.Command, c.Args) {
			is = is || path.Base(word) == ManagerName
		}
		named[c.Name] = is
	}
	return slices.ContainsFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return named[s.Name] && s.State.Running != nil
	})
}

// writtenByManager returns the object, among the first maxObjectsRead of a resource, that kube-controller-manager has
// written last, if that was after since.
func writtenByManager(
	ctx context.Context, client metadata.Interface, r schema.GroupVersionResource, since time.Time,
) ([]Activity, error) {
	list, err := client.Resource(r).List(ctx, metav1.ListOptions{Limit: maxObjectsRead})
	if err != nil {
		return nil, fmt.Errorf("looking for recent writes of %s to %s: %w", ManagerName, r.GroupResource(), err)
	}
	var latest Activity
	for i := range list.Items {
		o := &list.Items[i]
		for _, f := range o.ManagedFields {
			if f.Manager == ManagerName && f.Time != nil && f.Time.After(since) && f.Time.After(latest.Written) {
				latest = Activity{Resource: r.GroupResource(), Namespace: o.Namespace, Name: o.Name,
					Written: f.Time.Time}
			}
		}
	}
	if latest.Written.IsZero() {
		return nil, nil
	}
	return []Activity{latest}, nil
}
