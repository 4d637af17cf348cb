package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

const (
	// maxInFlight limits the requests of a reader, and of discovery, that are in flight at a time.
	maxInFlight = 16
	// pageSize is how many objects a list requests at a time, as in kubectl. largePageSize is for lists that are
	// decoded while they arrive: as many as a server reads from etcd at once. The second mirrors maxLimit of
	// k8s.io/apiserver/pkg/storage/etcd3/store.go.
	pageSize, largePageSize = 500, 10_000
	// retries is how often a request is sent again, after a second, if an overloaded server rejected it or its
	// connection broke. Client-go's default of ten would let users wait too long for a server that is down.
	retries = 3
	// defaultTimeout is how long a request may go without data if the configuration has no timeout. An API server waits
	// a minute for an aggregated API that does not answer; one such kind must not delay all others for that long.
	defaultTimeout = 20 * time.Second
)

// Reader reads objects from one API server. It is safe for concurrent use: all its users together have at most 16
// requests in flight. Lists and gets are consistent, that is, without a resource version: a cache of the server may
// be older than what the user has just done, and an owner must not be reported as missing because of outdated data.
type Reader struct {
	client *rest.RESTClient
	slots  chan struct{}
	// largePage is largePageSize; tests set a smaller one.
	largePage int64
	// buffers holds *bytes.Buffer for answers.
	buffers sync.Pool
	// timeout is how long a request may go without data; watches have no timeout.
	timeout time.Duration
	// metadata and dynamic are for watches.
	metadata     metadata.Interface
	dynamic      dynamic.Interface
	retryBackoff time.Duration // before the first retry of Follow and FollowObjects
	progress     progress
}

// NewReader returns a Reader with the rate limit, user agent, warning handler and timeout of config. With a QPS of 0
// there is no rate limit, and without a warning handler the server's warnings are ignored, other than by the clients
// of client-go: a Reader reads many kinds at once, deprecated ones too. Without a timeout, a request fails if no data
// arrives for 20 seconds.
func NewReader(config *rest.Config) (*Reader, error) {
	config = rest.CopyConfig(config)
	if config.QPS == 0 {
		config.QPS = -1 // a RateLimiter has precedence
	}
	if config.WarningHandler == nil && config.WarningHandlerWithContext == nil {
		config.WarningHandler = rest.NoWarnings{}
	}
	config.APIPath, config.GroupVersion = "/", &schema.GroupVersion{}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	r := &Reader{
		slots:     make(chan struct{}, maxInFlight),
		largePage: largePageSize, timeout: defaultTimeout, retryBackoff: minRetryBackoff,
	}
	if config.Timeout > 0 {
		r.timeout, config.Timeout = config.Timeout, 0
	}
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	if r.client, err = rest.RESTClientForConfigAndClient(config, transport); err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	if r.metadata, err = metadata.NewForConfigAndClient(config, transport); err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	if r.dynamic, err = dynamic.NewForConfigAndClient(config, transport); err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return r, nil
}

// acquire waits for one of the reader's slots; the returned function releases it.
func (r *Reader) acquire(ctx context.Context) (func(), error) {
	select {
	case r.slots <- struct{}{}:
		return func() { <-r.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// answer is the body of a successful answer. It must not be used after decoding: its buffer is reused.
type answer []byte

// get requests one object and decodes it before it releases its slot: so only few answers are in memory at a time.
func (r *Reader) get(ctx context.Context, segments []string, accept string, decode func(answer) error) error {
	return r.stream(ctx, segments, accept, nil, func(in io.Reader) error { return r.readAll(in, decode) })
}

// readAll reads a whole answer into memory and decodes it.
func (r *Reader) readAll(in io.Reader, decode func(answer) error) error {
	body := r.getBuffer()
	defer r.putBuffer(body)
	if _, err := body.ReadFrom(in); err != nil {
		return err
	}
	return decode(body.Bytes())
}

// maxPooledBuffer is the size, in bytes, of the largest buffers that are reused.
const maxPooledBuffer = 4 << 20

// getBuffer returns an empty buffer, to be returned with putBuffer.
func (r *Reader) getBuffer() *bytes.Buffer {
	if b, ok := r.buffers.Get().(*bytes.Buffer); ok {
		return b
	}
	return &bytes.Buffer{}
}

// putBuffer returns a buffer to the pool, unless it is too large to be kept. It must not be used afterwards.
func (r *Reader) putBuffer(b *bytes.Buffer) {
	if b.Cap() <= maxPooledBuffer {
		b.Reset()
		r.buffers.Put(b)
	}
}

// pathSegments returns the path of a kind, or of an object if name is not empty.
func pathSegments(kind *Kind, namespace, name string) ([]string, error) {
	out := []string{"apis", kind.Group, kind.Version}
	if kind.Group == "" {
		out = []string{"api", kind.Version}
	}
	if kind.Namespaced && namespace != "" {
		out = append(out, "namespaces", namespace)
	}
	out = append(out, kind.Resource)
	if name != "" {
		out = append(out, name)
	}
	for _, segment := range out {
		if problems := content.IsPathSegmentName(segment); len(problems) > 0 {
			return nil, fmt.Errorf("invalid name %q: %s", segment, problems[0])
		}
	}
	return out, nil
}

// stream requests one object or one page and calls read with the answer as it arrives. It fails with errNoAnswer if
// no data arrives for the reader's timeout.
func (r *Reader) stream(
	ctx context.Context, segments []string, accept string, options *metav1.ListOptions, read func(io.Reader) error,
) error {
	release, err := r.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(r.timeout, func() { cancel(errNoAnswer) })
	defer timer.Stop()
	request := r.client.Get().AbsPath(segments...).SetHeader("Accept", accept).MaxRetries(retries)
	if options != nil {
		version := schema.GroupVersion{Version: "v1"}
		request = request.SpecificallyVersionedParams(options, scheme.ParameterCodec, version)
	}
	body, err := request.Stream(ctx)
	if err == nil {
		err = read(&idleTimeoutReader{body, timer, r.timeout})
		if closed := body.Close(); err == nil {
			err = closed
		}
	}
	if err != nil && errors.Is(context.Cause(ctx), errNoAnswer) {
		return fmt.Errorf("%w within %v", errNoAnswer, r.timeout)
	}
	return err
}

// idleTimeoutReader resets the timer whenever data arrives.
type idleTimeoutReader struct {
	body    io.Reader
	timer   *time.Timer
	timeout time.Duration
}

func (a *idleTimeoutReader) Read(p []byte) (int, error) {
	n, err := a.body.Read(p)
	if n > 0 {
		a.timer.Reset(a.timeout)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("reading the answer: %w", err)
	}
	return n, err
}

// pages requests page after page and returns the resource version of the list.
//
// A continue token is valid as long as the server keeps old revisions, five minutes by default. When it has expired,
// the error has another token, with which the list continues after the last object at the current resource version
// (handleCompactedErrorForPaging of k8s.io/apiserver/pkg/storage/etcd3). If the error has no token, as with other
// servers, the list is restarted, in a single page, which cannot expire.
func pages(
	ctx context.Context, options metav1.ListOptions, page func(*metav1.ListOptions) (metav1.ListMeta, error),
) (string, error) {
	restarted := false
	for {
		list, err := page(&options)
		switch {
		case err == nil && list.Continue == "":
			return list.ResourceVersion, nil
		case err == nil:
			options.Continue = list.Continue
		case ctx.Err() != nil || options.Continue == "" || restarted || !IsExpired(err):
			return "", err
		default:
			restarted = continueExpired(&options, err)
		}
		// A continue token holds the resource version; a request must not name another.
		options.ResourceVersion, options.ResourceVersionMatch = "", ""
	}
}

// IsExpired reports whether the error is that of an expired continue token or resource version.
func IsExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// continueExpired changes options to continue after a token has expired. It returns true if the list starts again.
func continueExpired(options *metav1.ListOptions, err error) bool {
	next := ""
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		next = status.Status().Continue
	}
	if next == options.Continue {
		next = ""
	}
	options.Continue = next
	if next != "" {
		return false
	}
	options.Limit = 0
	return true
}
