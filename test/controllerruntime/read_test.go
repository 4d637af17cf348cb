package controllerruntime

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/controllerruntime/website"
)

// TestPagination: pages are parts of one version of the list, whatever is written meanwhile.
func TestPagination(t *testing.T) {
	t.Parallel()
	c := newClient(t, startProcess(t, apiAlone()...))
	for i := range 5 {
		content := newContent(fmt.Sprintf("files-%d", i))
		content.Labels = map[string]string{"page": "me"}
		create(t, c, content)
	}
	var pages [][]string
	var version string
	for more := ""; len(pages) == 0 || more != ""; {
		list := &corev1.ConfigMapList{}
		err := c.List(t.Context(), list, client.InNamespace(namespace), client.MatchingLabels{"page": "me"}, client.Limit(2), client.Continue(more))
		if err != nil {
			t.Fatal(err)
		}
		var page []string
		for i := range list.Items {
			page = append(page, list.Items[i].Name)
		}
		if len(pages) == 0 {
			version = list.ResourceVersion
			if err := c.Delete(t.Context(), newContent("files-3")); err != nil {
				t.Fatal(err)
			}
		}
		if list.ResourceVersion != version {
			t.Errorf("page %d is of version %s, the first of %s", len(pages), list.ResourceVersion, version)
		}
		pages, more = append(pages, page), list.Continue
	}
	if diff := cmp.Diff([][]string{{"files-0", "files-1"}, {"files-2", "files-3"}, {"files-4"}}, pages); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

// TestRepresentations: typed, unstructured and metadata-only clients read the same object.
func TestRepresentations(t *testing.T) {
	t.Parallel()
	c := newClient(t, startSandbox(t, apiAlone()...))
	site, other := newSite("blog"), newSite("other")
	site.Labels = map[string]string{"team": "web"}
	other.Spec.Content = "elsewhere"
	create(t, c, site, other)
	kind := website.GroupVersion.WithKind("Website")

	loose := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "blog", "namespace": namespace}}}
	loose.SetGroupVersionKind(kind)
	get(t, c, loose)
	host, _, err := unstructured.NestedString(loose.Object, "spec", "host")
	if err != nil || host != site.Spec.Host || loose.GetUID() != site.UID {
		t.Errorf("unstructured: host %q, uid %s (%v), want %q, %s", host, loose.GetUID(), err, site.Spec.Host, site.UID)
	}

	bare := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "blog", Namespace: namespace}}
	bare.SetGroupVersionKind(kind)
	get(t, c, bare)
	site.ManagedFields, bare.ManagedFields = nil, nil
	if diff := cmp.Diff(site.ObjectMeta, bare.ObjectMeta); diff != "" {
		t.Errorf("metadata (-typed +metadata only):\n%s", diff)
	}

	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(website.GroupVersion.WithKind("WebsiteList"))
	if err := c.List(t.Context(), list, client.MatchingFields{website.ContentField: "elsewhere"}); err != nil {
		t.Fatal(err) // a selectable field of the CRD: the server filters, without a cache
	}
	if len(list.Items) != 1 || list.Items[0].Name != "other" {
		t.Errorf("metadata of the websites with other content: %+v, want other alone", list.Items)
	}
}

// TestWatch: a watch that starts at the version of a list gets every later change, in order.
func TestWatch(t *testing.T) {
	t.Parallel()
	c := newClient(t, startProcess(t, apiAlone()...))
	list := &corev1.ConfigMapList{}
	if err := c.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	content := newContent("files")
	create(t, c, content)
	update(t, c, content, func() { content.Data["index.html"] = "changed" })
	if err := c.Delete(t.Context(), content); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, err := c.Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace(namespace), &client.ListOptions{
		Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	var got []watch.EventType
	for range 3 {
		select {
		case e := <-w.ResultChan():
			got = append(got, e.Type)
		case <-ctx.Done():
			t.Fatalf("only %v came", got)
		}
	}
	if diff := cmp.Diff([]watch.EventType{watch.Added, watch.Modified, watch.Deleted}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
