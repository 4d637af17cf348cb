package controllerruntime

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/kubectl-reconcile/kubectl-reconcile/test/controllerruntime/website"
)

// startCluster starts the cache and the clients that a manager has, without its controllers.
func startCluster(t *testing.T, config *rest.Config, configure ...cluster.Option) cluster.Cluster {
	t.Helper()
	configure = append(configure, func(o *cluster.Options) { o.Scheme = newScheme(t) })
	c, err := cluster.New(config, configure...)
	if err != nil {
		t.Fatal(err)
	}
	if err := website.IndexContent(t.Context(), c.GetFieldIndexer()); err != nil {
		t.Fatal(err)
	}
	inBackground(t, c.Start)
	if !c.GetCache().WaitForCacheSync(t.Context()) {
		t.Fatal("the cache does not fill")
	}
	return c
}

// TestCache: a cache follows the server, and answers by field index.
func TestCache(t *testing.T) {
	t.Parallel()
	config := startSandbox(t, apiAlone()...)
	cached, direct := startCluster(t, config).GetClient(), newClient(t, config)
	blog, shop := newSite("blog"), newSite("shop")
	shop.Spec.Content = "goods"
	create(t, direct, blog, shop)

	serving := func(ctx context.Context, content string) ([]string, error) {
		list := &website.WebsiteList{}
		err := cached.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{website.ContentField: content})
		var names []string
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		slices.Sort(names)
		return names, err
	}
	wantServing := func(content string, want ...string) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			got, err := serving(ctx, content)
			if diff := cmp.Diff(want, got); diff != "" {
				return fmt.Errorf("websites that serve %q (-want +got; %w):\n%s", content, err, diff)
			}
			return err
		})
	}
	wantServing("files", "blog")
	wantServing("goods", "shop")
	update(t, direct, shop, func() { shop.Spec.Content = "files" })
	wantServing("files", "blog", "shop")
	wantServing("goods")

	if err := direct.Delete(t.Context(), blog); err != nil {
		t.Fatal(err)
	}
	wantServing("files", "shop")
}

// TestReadYourWrites: a client that waits for its own writes to reach its cache reads them at once. It compares
// resource versions to know.
func TestReadYourWrites(t *testing.T) {
	t.Parallel()
	config := startSandbox(t, apiAlone()...)
	c := startCluster(t, config, func(o *cluster.Options) {
		o.Client.Cache = &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}
	}).GetClient()
	for i := range 20 {
		content := newContent(fmt.Sprintf("files-%d", i))
		create(t, c, content)
		content.Data["index.html"] = "changed"
		if err := c.Update(t.Context(), content); err != nil {
			t.Fatal(err)
		}
		read := newContent(content.Name)
		if get(t, c, read); read.Data["index.html"] != "changed" {
			t.Errorf("%q is read from the cache as it was before the write", content.Name)
		}
	}
}

// TestMetadataCache: a cache of metadata alone follows the server too.
func TestMetadataCache(t *testing.T) {
	t.Parallel()
	config := startSandbox(t, apiAlone()...)
	cached, direct := startCluster(t, config).GetClient(), newClient(t, config)
	content := newContent("files")
	create(t, direct, content)
	bare := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "files", Namespace: namespace}}
	bare.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	labelled := func(want string) func(*metav1.PartialObjectMetadata) error {
		return func(got *metav1.PartialObjectMetadata) error {
			if got.Labels["team"] != want {
				return fmt.Errorf("the cache has labels %v, want team %q", got.Labels, want)
			}
			return nil
		}
	}
	eventuallyObject(t, cached, bare, labelled(""))
	update(t, direct, content, func() { content.Labels = map[string]string{"team": "web"} })
	eventuallyObject(t, cached, bare, labelled("web"))
}

// TestWatchRestart: a cache whose connections break catches up with what happened meanwhile, by a watch from the
// version that it had seen.
func TestWatchRestart(t *testing.T) {
	t.Parallel()
	config := startSandbox(t, apiAlone()...)
	direct := newClient(t, config)
	before := newContent("before")
	create(t, direct, before)

	broken := rest.CopyConfig(config)
	var resumed atomic.Int32
	dialer := connrotation.NewDialer((&net.Dialer{}).DialContext)
	broken.Dial = dialer.DialContext
	broken.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if query := r.URL.Query(); query.Get("watch") == "true" && query.Get("resourceVersion") != "" {
				resumed.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	cached := startCluster(t, broken).GetClient()
	there := func(*corev1.ConfigMap) error { return nil }
	eventuallyObject(t, cached, newContent("before"), there)
	if n := resumed.Load(); n > 0 {
		t.Fatalf("%d watches were resumed before the break", n)
	}

	dialer.CloseAll()
	create(t, direct, newContent("after"))
	if err := direct.Delete(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	eventuallyObject(t, cached, newContent("after"), there)
	eventuallyGone(t, cached, before)
	if resumed.Load() == 0 {
		t.Error("no watch was resumed: the connections did not break")
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
