package recorder

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/internal/rawjson"
)

const (
	// pageSize is how many objects a list requests at a time, as in kubectl.
	pageSize = 500
	// maxLists limits the lists that are read at a time: their pages are in memory whole.
	maxLists = 8
	// pageTimeout is how long a page may take if the configuration has no timeout.
	pageTimeout = 60 * time.Second
	// maxEvent bounds a watch event, in bytes. The largest objects that an etcd holds have 1.5 MB.
	maxEvent = 64 << 20
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

// item is an object as the server wrote it.
type item struct {
	rawjson.Meta
	object []byte
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
func (a *apiClient) list(ctx context.Context, s *Selection) ([]item, string, error) {
	select {
	case a.lists <- struct{}{}:
		defer func() { <-a.lists }()
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
	var all []item
	options := metav1.ListOptions{Limit: pageSize}
	for {
		list, err := a.page(ctx, s, options)
		switch {
		case err == nil && list.more == "":
			return append(all, list.items...), list.version, nil
		case err == nil:
			all, options.Continue = append(all, list.items...), list.more
		case options.Continue != "" && isExpired(err):
			all, options = nil, metav1.ListOptions{}
		default:
			return nil, "", err
		}
	}
}

// page is a page of a list.
type page struct {
	items         []item
	version, more string
}

func (a *apiClient) page(ctx context.Context, s *Selection, options metav1.ListOptions) (page, error) {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	in, err := a.request(s, &options).Stream(ctx)
	if err != nil {
		return page{}, err
	}
	defer func() { _ = in.Close() }() // it was only read
	body, err := io.ReadAll(in)
	if err != nil {
		return page{}, fmt.Errorf("reading a list: %w", err)
	}
	out, err := readPage(body)
	if err != nil {
		return page{}, fmt.Errorf("reading a list: %w", err)
	}
	return out, nil
}

// readPage reads the answer to a list. The items do not share its memory.
func readPage(body []byte) (page, error) {
	var out page
	s := rawjson.NewScanner(body)
	err := s.Object(func(key []byte) error {
		switch {
		case string(key) == "metadata":
			return readListMeta(s, &out)
		case string(key) == "items" && s.Peek() == '[':
			return s.Array(func(int) error {
				one := item{}
				span, err := one.Object(s)
				one.object = bytes.Clone(body[span.Start:span.End])
				out.items = append(out.items, one)
				return err
			})
		}
		_, err := s.Skip()
		return err
	})
	if err == nil {
		err = s.End()
	}
	if err == nil && out.version == "" {
		err = errors.New("it has no resource version")
	}
	return out, err
}

// readListMeta reads the metadata of a list.
func readListMeta(s *rawjson.Scanner, to *page) error {
	return s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "resourceVersion":
			to.version, err = s.String()
		case "continue":
			to.more, err = s.String()
		default:
			_, err = s.Skip()
		}
		return err
	})
}

// event is an event of a watch. Its object is valid until the next one is read.
type event struct {
	name string
	item
}

// watch watches a selection from a resource version on. It calls established when the server has accepted the request,
// and each with every event, until the server ends the watch: then it returns nil. An error of each is returned.
func (a *apiClient) watch(
	ctx context.Context, s *Selection, from string, established func(), each func(*event) error,
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
	events := newEventReader(in)
	for {
		e, err := events.next()
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

// eventReader reads the events of a watch.
type eventReader struct {
	in    *bufio.Reader
	frame []byte
}

func newEventReader(in io.Reader) *eventReader {
	return &eventReader{in: bufio.NewReaderSize(in, 64<<10)}
}

// next returns the next event, or io.EOF. API servers write each in a line; one that has several lines is read, too.
func (r *eventReader) next() (*event, error) {
	r.frame = r.frame[:0]
	for {
		line, err := r.in.ReadSlice('\n')
		r.frame = append(r.frame, line...)
		switch {
		case len(r.frame) > maxEvent:
			return nil, fmt.Errorf("an event is larger than %d bytes", maxEvent)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(r.frame)) == 0:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		}
		if err == nil && len(bytes.TrimSpace(r.frame)) == 0 {
			continue
		}
		e, problem := readEvent(r.frame)
		switch {
		case problem == nil:
			return e, nil
		case err != nil: // nothing more comes
			return nil, io.ErrUnexpectedEOF
		case !errors.Is(problem, rawjson.ErrShort):
			return nil, problem
		}
	}
}

// readEvent reads an event: {"type": …, "object": …}.
func readEvent(frame []byte) (*event, error) {
	e := &event{}
	s := rawjson.NewScanner(frame)
	err := s.Object(func(key []byte) (err error) {
		switch {
		case string(key) == "type":
			e.name, err = s.String()
		case string(key) == "object" && s.Peek() == '{':
			var span rawjson.Span
			span, err = e.Object(s)
			e.object = frame[span.Start:span.End]
		default:
			_, err = s.Skip()
		}
		return err
	})
	if err == nil {
		err = s.End()
	}
	if err == nil && (e.name == "" || e.object == nil) {
		err = errors.New("it is no watch event")
	}
	return e, err
}

// isExpired reports whether the server no longer has a resource version or the rest of a list.
func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }
