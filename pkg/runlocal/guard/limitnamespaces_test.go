package guard

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

// cluster is an API server with ConfigMaps in the namespaces a, b and c, and the configuration of a client that is
// limited to namespaces.
type cluster struct {
	admin  kubernetes.Interface
	config *rest.Config // limited
	mu     sync.Mutex
	sent   []string // that reached the server, limited or not: method and path
	spoil  func(*http.Request) *http.Response

	watches []*http.Response // that were answered
}

// emptied returns the shared server with the namespaces a, b and c, which have no ConfigMaps.
func emptied(t testing.TB) *api.Server {
	t.Helper()
	server := sharedServer(t)
	core := kubernetes.NewForConfigOrDie(server.Config()).CoreV1()
	for _, namespace := range []string{"a", "b", "c"} {
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		if _, err := core.Namespaces().Create(t.Context(), object, metav1.CreateOptions{}); err != nil &&
			!apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
		if err := core.ConfigMaps(namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{},
			metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return server
}

func newCluster(server *api.Server, contentType string, namespaces ...string) *cluster {
	c := &cluster{admin: kubernetes.NewForConfigOrDie(server.Config())}
	wired := server.Config()
	wired.QPS, wired.ContentType = -1, contentType
	wired.Wrap(func(next http.RoundTripper) http.RoundTripper { return recording{c, next} })
	c.config = LimitNamespaces(wired, namespaces)
	return c
}

type recording struct {
	c    *cluster
	next http.RoundTripper
}

func (n recording) RoundTrip(req *http.Request) (*http.Response, error) {
	n.c.mu.Lock()
	n.c.sent = append(n.c.sent, req.Method+" "+req.URL.RequestURI())
	spoil := n.c.spoil
	n.c.mu.Unlock()
	if spoil != nil {
		if resp := spoil(req); resp != nil {
			return resp, nil
		}
	}
	resp, err := n.next.RoundTrip(req)
	if err == nil && req.URL.Query().Has("watch") {
		n.c.mu.Lock()
		defer n.c.mu.Unlock()
		n.c.watches = append(n.c.watches, resp)
	}
	return resp, err
}

// spoiled answers requests in the server's place, unless with nil.
func (c *cluster) spoiled(answer func(*http.Request) *http.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spoil = answer
}

// requests are those for ConfigMaps since the last call, without their parameters.
func (c *cluster) requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, line := range c.sent {
		if line, _, _ = strings.Cut(line, "?"); strings.HasSuffix(line, "/configmaps") {
			out = append(out, line)
		}
	}
	c.sent = nil
	return out
}

func (c *cluster) client() kubernetes.Interface { return kubernetes.NewForConfigOrDie(c.config) }

// put creates or changes a ConfigMap, without the limit, and returns its version.
func (c *cluster) put(t testing.TB, namespace, name, value string) string {
	t.Helper()
	maps, object := c.admin.CoreV1().ConfigMaps(namespace), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels: map[string]string{"test": "yes"}}, Data: map[string]string{"value": value},
	}
	made, err := maps.Create(t.Context(), object, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		made, err = maps.Update(t.Context(), object, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return made.ResourceVersion
}

func namesOf(list []corev1.ConfigMap) []string {
	var out []string
	for i := range list {
		out = append(out, list[i].Namespace+"/"+list[i].Name)
	}
	return out
}

// encodings are those that clients of Kubernetes ask for.
var encodings = []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf}

func TestLimitedList(t *testing.T) {
	server := emptied(t)
	filling := newCluster(server, runtime.ContentTypeJSON, "a")
	for i := range 9 {
		filling.put(t, string(rune('a'+i%3)), fmt.Sprint(i/3), "")
	}
	for _, encoding := range encodings {
		for _, row := range []struct {
			reason     string
			namespaces []string
			options    metav1.ListOptions
			want       []string
			requests   int // of the whole list, however many pages the client requests
		}{
			{"one namespace is another path", []string{"b"}, metav1.ListOptions{}, []string{"b/0", "b/1", "b/2"}, 1},
			{"several, in one answer", []string{"b", "a"}, metav1.ListOptions{}, []string{"a/0", "a/1", "a/2", "b/0", "b/1", "b/2"}, 2},
			{"given twice, read once", []string{"a", "a"}, metav1.ListOptions{}, []string{"a/0", "a/1", "a/2"}, 1},
			{"pages end with a namespace", []string{"a", "b"}, metav1.ListOptions{Limit: 2}, []string{"a/0", "a/1", "a/2", "b/0", "b/1", "b/2"}, 4},
			{"a page may be empty", []string{"a", "void", "b"}, metav1.ListOptions{Limit: 3}, []string{"a/0", "a/1", "a/2", "b/0", "b/1", "b/2"}, 3},
			{"from the server's cache, which knows no limit", []string{"a", "b"}, metav1.ListOptions{Limit: 2, ResourceVersion: "0"}, []string{"a/0", "a/1", "a/2", "b/0", "b/1", "b/2"}, 0},
			{"a selector holds for each", []string{"a", "b"}, metav1.ListOptions{FieldSelector: "metadata.name=1"}, []string{"a/1", "b/1"}, 2},
			{"nothing is a list too", []string{"void", "gone"}, metav1.ListOptions{}, nil, 2},
		} {
			t.Run(encoding+" "+row.reason, func(t *testing.T) {
				c := newCluster(server, encoding, row.namespaces...)
				var got []string
				options := row.options
				options.LabelSelector = "test"
				for {
					list, err := c.client().CoreV1().ConfigMaps("").List(t.Context(), options)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, namesOf(list.Items)...)
					if list.Continue == "" {
						break
					}
					options.Continue, options.ResourceVersion = list.Continue, ""
				}
				if diff := cmp.Diff(row.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", row.reason, diff)
				}
				if sent := c.requests(); row.requests > 0 && len(sent) != row.requests ||
					slices.Contains(sent, "GET /api/v1/configmaps") {
					t.Errorf("%s: sent %q, want %d requests, none of them for all namespaces", row.reason, sent,
						row.requests)
				}
			})
		}
	}
}

// TestLimitedListIsConsistent changes objects between pages: all of the list is of one version.
func TestLimitedListIsConsistent(t *testing.T) {
	for _, encoding := range encodings {
		c := newCluster(emptied(t), encoding, "a", "b")
		c.put(t, "a", "0", "old")
		version := c.put(t, "b", "0", "old")
		first, err := c.client().CoreV1().ConfigMaps("").List(t.Context(),
			metav1.ListOptions{Limit: 1, LabelSelector: "test"})
		if err != nil || first.Continue == "" {
			t.Fatalf("%s: %v, continue %q", encoding, err, first.Continue)
		}
		c.put(t, "b", "0", "new")
		c.put(t, "b", "1", "new")
		second, err := c.client().CoreV1().ConfigMaps("").List(t.Context(),
			metav1.ListOptions{Limit: 1, LabelSelector: "test", Continue: first.Continue})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"b/0"}, namesOf(second.Items)); diff != "" ||
			second.Items[0].Data["value"] != "old" || second.Continue != "" {
			t.Errorf("%s: the second page has %v, continue %q (-want +got):\n%s", encoding, second.Items,
				second.Continue, diff)
		}
		if first.ResourceVersion != second.ResourceVersion || snapshot.IsNewer(version, second.ResourceVersion) {
			t.Errorf("%s: the pages are of %s and %s; the last change was %s", encoding, first.ResourceVersion,
				second.ResourceVersion, version)
		}
	}
}

func TestLimitedListFails(t *testing.T) {
	server := emptied(t)
	for _, row := range []struct {
		reason string
		token  string
		spoil  int
		is     func(error) bool
	}{
		{"one namespace may not be read", "", http.StatusForbidden, apierrors.IsForbidden},
		{"one namespace's version is gone", "", http.StatusGone, apierrors.IsResourceExpired},
		{"a token of the server's own", "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ", 0, apierrors.IsResourceExpired},
		{"a token that is none", "%%%", 0, apierrors.IsResourceExpired},
		{"a token for more namespaces than there are", listPosition{Namespace: 7, Version: "1"}.token(), 0, apierrors.IsResourceExpired},
	} {
		c := newCluster(server, runtime.ContentTypeProtobuf, "a", "b")
		if row.spoil != 0 {
			c.spoiled(func(req *http.Request) *http.Response {
				if !strings.Contains(req.URL.Path, "/namespaces/b/") {
					return nil
				}
				reason := map[int]metav1.StatusReason{http.StatusGone: metav1.StatusReasonExpired,
					http.StatusForbidden: metav1.StatusReasonForbidden}
				return failureResponse(req, row.spoil, reason[row.spoil], "spoiled")
			})
		}
		if _, err := c.client().CoreV1().ConfigMaps("").List(t.Context(),
			metav1.ListOptions{Continue: row.token}); !row.is(err) {
			t.Errorf("%s: %v", row.reason, err)
		}
	}
}

func TestLimitedRequests(t *testing.T) {
	c := newCluster(emptied(t), runtime.ContentTypeJSON, "a", "b")
	client := c.client().CoreV1()
	object := func(namespace string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "made", Namespace: namespace}}
	}
	for _, row := range []struct {
		reason string
		do     func() error
		is     func(error) bool // nil: succeeds
	}{
		{"what is in no namespace is seen", func() error {
			list, err := client.Namespaces().List(t.Context(), metav1.ListOptions{})
			if err == nil && len(list.Items) < 7 {
				err = fmt.Errorf("%d namespaces", len(list.Items))
			}
			return err
		}, nil},
		{"one object, read by name", func() error {
			_, err := client.ConfigMaps("kube-system").Get(t.Context(), "extension-apiserver-authentication",
				metav1.GetOptions{})
			return err
		}, func(err error) bool { return err == nil || apierrors.IsNotFound(err) }},
		{"a write where it belongs", func() error {
			_, err := client.ConfigMaps("a").Create(t.Context(), object("a"), metav1.CreateOptions{})
			return err
		}, nil},
		{"a write elsewhere", func() error {
			_, err := client.ConfigMaps("c").Create(t.Context(), object("c"), metav1.CreateOptions{})
			return err
		}, apierrors.IsForbidden},
		{"a deletion elsewhere", func() error {
			return client.ConfigMaps("c").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
		}, apierrors.IsForbidden},
		{"a kind that is not served", func() error {
			return client.RESTClient().Get().AbsPath("/apis/example.com/v1/widgets").Do(t.Context()).Error()
		}, apierrors.IsNotFound},
		{"no resource at all", func() error {
			return client.RESTClient().Get().AbsPath("/version").Do(t.Context()).Error()
		}, nil},
	} {
		err := row.do()
		if row.is == nil && err != nil || row.is != nil && !row.is(err) {
			t.Errorf("%s: %v", row.reason, err)
		}
	}
}

// receivedEvent is what a watch has received.
type receivedEvent struct {
	Type watch.EventType
	Name string
}

func next(t *testing.T, w watch.Interface) (receivedEvent, runtime.Object) {
	t.Helper()
	select {
	case e, open := <-w.ResultChan():
		if !open {
			return receivedEvent{}, nil
		}
		m, err := meta.Accessor(e.Object)
		if err != nil {
			return receivedEvent{Type: e.Type}, e.Object
		}
		return receivedEvent{e.Type, m.GetNamespace() + "/" + m.GetName()}, e.Object
	case <-time.After(deadline):
		t.Fatal("the watch has no event")
		return receivedEvent{}, nil
	}
}

func TestLimitedWatch(t *testing.T) {
	server := emptied(t)
	for _, encoding := range encodings {
		for _, namespaces := range [][]string{{"a"}, {"a", "b"}} {
			t.Run(fmt.Sprint(encoding, namespaces), func(t *testing.T) {
				c := newCluster(server, encoding, namespaces...)
				list, err := c.client().CoreV1().ConfigMaps("").List(t.Context(),
					metav1.ListOptions{LabelSelector: "test"})
				if err != nil {
					t.Fatal(err)
				}
				w, err := c.client().CoreV1().ConfigMaps("").Watch(t.Context(),
					metav1.ListOptions{ResourceVersion: list.ResourceVersion, LabelSelector: "test"})
				if err != nil {
					t.Fatal(err)
				}
				defer w.Stop()
				var want []receivedEvent
				for _, namespace := range []string{"a", "c", "b"} {
					c.put(t, namespace, "0", "old")
					c.put(t, namespace, "0", "new")
					if err := c.admin.CoreV1().ConfigMaps(namespace).Delete(t.Context(), "0",
						metav1.DeleteOptions{}); err != nil {
						t.Fatal(err)
					}
					if slices.Contains(namespaces, namespace) {
						for _, sort := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
							want = append(want, receivedEvent{sort, namespace + "/0"})
						}
					}
				}
				got := map[string][]receivedEvent{}
				for range want {
					e, _ := next(t, w)
					got[e.Name] = append(got[e.Name], e)
				}
				for _, namespace := range namespaces { // each in order; of two, none is first
					mine := slices.DeleteFunc(slices.Clone(want),
						func(e receivedEvent) bool { return e.Name != namespace+"/0" })
					if diff := cmp.Diff(mine, got[namespace+"/0"]); diff != "" {
						t.Errorf("received of %s (-want +got):\n%s", namespace, diff)
					}
				}
			})
		}
	}
}

func TestLimitedWatchFails(t *testing.T) {
	server := emptied(t)
	for _, row := range []struct {
		reason  string
		options metav1.ListOptions
		spoil   bool
		is      func(error) bool
	}{
		{"a version that no client has received", metav1.ListOptions{ResourceVersion: "1"}, false, apierrors.IsResourceExpired},
		{"beginning with what there is", metav1.ListOptions{SendInitialEvents: new(true), ResourceVersionMatch: "NotOlderThan", AllowWatchBookmarks: true}, false, apierrors.IsInvalid},
		{"one namespace may not be watched", metav1.ListOptions{}, true, apierrors.IsForbidden},
	} {
		c := newCluster(server, runtime.ContentTypeProtobuf, "a", "b")
		if row.spoil {
			c.spoiled(func(req *http.Request) *http.Response {
				if strings.Contains(req.URL.Path, "/namespaces/b/") {
					return failureResponse(req, http.StatusForbidden, metav1.StatusReasonForbidden, "spoiled")
				}
				return nil
			})
		}
		if w, err := c.client().CoreV1().ConfigMaps("").Watch(t.Context(), row.options); !row.is(err) {
			t.Errorf("%s: %v, %v", row.reason, w, err)
		}
	}
}

// TestLimitedInformers runs client-go's own informers, typed and by metadata, amid changes and watches that end.
func TestLimitedInformers(t *testing.T) {
	for _, encoding := range encodings {
		t.Run(encoding, func(t *testing.T) {
			c := newCluster(emptied(t), encoding, "a", "b")
			for i := range 6 {
				c.put(t, string(rune('a'+i%3)), fmt.Sprint(i/3), "old")
			}
			ctx, cancel := context.WithCancel(t.Context())
			factory := informers.NewSharedInformerFactory(c.client(), 0)
			typed := factory.Core().V1().ConfigMaps().Informer()
			byMetadata := metadatainformer.NewSharedInformerFactory(metadata.NewForConfigOrDie(c.config), 0)
			generic := byMetadata.ForResource(corev1.SchemeGroupVersion.WithResource("configmaps")).Informer()
			factory.StartWithContext(ctx)
			byMetadata.Start(ctx.Done())
			t.Cleanup(func() { cancel(); factory.Shutdown(); byMetadata.Shutdown() })
			if !cache.WaitForCacheSync(ctx.Done(), typed.HasSynced, generic.HasSynced) {
				t.Fatal("not synced")
			}
			want := map[string]string{}
			for i := range 60 {
				namespace, name := string(rune('a'+i%3)), fmt.Sprint(i%7)
				if version := c.put(t, namespace, name, fmt.Sprint(i)); namespace != "c" {
					want[namespace+"/"+name] = version
				}
				if i%20 == 10 {
					c.cut(t)
				}
			}
			for _, informer := range []cache.SharedIndexInformer{typed, generic} {
				got := map[string]string{}
				err := wait.PollUntilContextTimeout(ctx, 5*time.Millisecond, 2*time.Minute, true,
					func(context.Context) (bool, error) {
						got = map[string]string{}
						for _, o := range informer.GetStore().List() {
							if m, err := meta.Accessor(o); err == nil && m.GetLabels()["test"] != "" {
								got[m.GetNamespace()+"/"+m.GetName()] = m.GetResourceVersion()
							}
						}
						return maps.Equal(want, got), nil
					})
				if err != nil {
					t.Errorf("%v (-want +got):\n%s", err, cmp.Diff(want, got))
				}
			}
		})
	}
}

// cut ends all watches, as a server does that restarts: clients continue where they were.
func (c *cluster) cut(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.watches {
		_ = w.Body.Close()
	}
	c.watches = nil
}
