package recorder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/internal/apijson"
)

const (
	// pageSize is how many objects a list requests at a time, as in kubectl.
	pageSize = 500
	// maxLists limits the lists that are read at a time: their pages are in memory whole.
	maxLists = 8
	// pageTimeout is how long a page may take if the configuration has no timeout.
	pageTimeout = 60 * time.Second
)

// apiClient lists and watches objects as an API server writes them in JSON. It may be used concurrently.
type apiClient struct {
	client  *rest.RESTClient
	timeout time.Duration // of a page
	lists   chan struct{} // a slot for each list that is being read
}

func newAPI(config *rest.Config) (*apiClient, error) {
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/", &schema.GroupVersion{}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	a := &apiClient{timeout: pageTimeout, lists: make(chan struct{}, maxLists)}
	if config.Timeout > 0 {
		a.timeout, config.Timeout = config.Timeout, 0 // it would end each watch
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	if a.client, err = rest.RESTClientForConfigAndClient(config, client); err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return a, nil
}

// request returns a request for the objects of a selection.
func (a *apiClient) request(s *Selection, options *metav1.ListOptions) *rest.Request {
	path := []string{"apis", s.Kind.Group, s.Kind.Version}
	if s.Kind.Group == "" {
		path = []string{"api", s.Kind.Version}
	}
	options.LabelSelector, options.FieldSelector = s.Labels, s.Fields
	return a.client.Get().AbsPath(path...).
		NamespaceIfScoped(s.Namespace, s.Kind.Namespaced && s.Namespace != "").Resource(s.Kind.Resource).
		SetHeader("Accept", "application/json").MaxRetries(0).
		SpecificallyVersionedParams(options, scheme.ParameterCodec, schema.GroupVersion{Version: "v1"})
}

// list returns all objects of a selection, and the resource version of the list, at which all of them are as they were
// returned: a list whose continue token has expired is begun again, in one page, which cannot expire.
func (a *apiClient) list(ctx context.Context, s *Selection) ([]apijson.Item, string, error) {
	select {
	case a.lists <- struct{}{}:
		defer func() { <-a.lists }()
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
	var all []apijson.Item
	options := metav1.ListOptions{Limit: pageSize}
	for {
		list, err := a.page(ctx, s, options)
		switch {
		case err == nil && list.Continue == "":
			return append(all, list.Items...), list.Version, nil
		case err == nil:
			all, options.Continue = append(all, list.Items...), list.Continue
		case options.Continue != "" && cluster.IsExpired(err):
			all, options = nil, metav1.ListOptions{}
		default:
			return nil, "", err
		}
	}
}

// page reads a page of a list.
func (a *apiClient) page(ctx context.Context, s *Selection, options metav1.ListOptions) (apijson.Page, error) {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	in, err := a.request(s, &options).Stream(ctx)
	if err != nil {
		return apijson.Page{}, err
	}
	defer func() { _ = in.Close() }() // it was only read
	body, err := io.ReadAll(in)
	if err != nil {
		return apijson.Page{}, fmt.Errorf("reading a list: %w", err)
	}
	out, err := apijson.ReadPage(body)
	if err != nil {
		return apijson.Page{}, fmt.Errorf("reading a list: %w", err)
	}
	return out, nil
}

// watch watches a selection from a resource version on. It calls established when the server has accepted the request,
// and each with every event, until the server ends the watch: then it returns nil. An error of each is returned.
func (a *apiClient) watch(
	ctx context.Context, s *Selection, from string, established func(), each func(*apijson.Event) error,
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	options := metav1.ListOptions{Watch: true, AllowWatchBookmarks: true, ResourceVersion: from}
	in, err := a.request(s, &options).Stream(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	established()
	events := apijson.NewEventReader(in)
	for {
		e, err := events.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the watch: %w", err)
		}
		if err := each(e); err != nil {
			return err
		}
	}
}
