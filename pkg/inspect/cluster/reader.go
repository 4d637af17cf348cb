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
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

const (
	// maxInFlight bounds the requests of a reader, and of discovery, that are under way at a time.
	maxInFlight = 16
	// pageSize is how many objects a list asks for at a time, as kubectl does. largePageSize is for lists that are decoded while
	// they arrive: as many as a server reads from etcd at once (maxLimit of k8s.io/apiserver/pkg/storage/etcd3).
	pageSize, largePageSize = 500, 10_000
	// retries is how often a request is sent again, a second later, that an overloaded server has turned away or whose
	// connection broke. Client-go's ten would keep people waiting for what is not there.
	retries = 3
	// defaultTimeout is how long one answer may take if the configuration does not say it. A server waits a minute for an
	// aggregated API that does not answer; one such kind must not hold up all others for that long.
	defaultTimeout = 20 * time.Second
)

// Reader reads objects from one API server. It is safe for concurrent use: all its users together have at most 16 requests
// under way. Lists and gets are consistent, that is, without a resource version: what a cache of the server holds may be
// older than what the user has just done, and verdicts about missing owners must not come from the past.
type Reader struct {
	client *rest.RESTClient
	slots  chan struct{}
	// largePage is largePageSize.
	largePage int64
	// buffers are for answers; most are of much the same size.
	buffers sync.Pool
	// defaultTimeout bounds one request; watches are not bounded.
	timeout time.Duration
	// metadata is for watches.
	metadata     metadata.Interface
	retryBackoff time.Duration // between the first two tries to follow a kind
	progress     progress
}

// NewReader makes a reader. A rate limit, user agent and time limit of config hold for it; without a time limit each request
// has 20 seconds.
func NewReader(config *rest.Config) (*Reader, error) {
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/", &schema.GroupVersion{}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	r := &Reader{slots: make(chan struct{}, maxInFlight), largePage: largePageSize, timeout: defaultTimeout, retryBackoff: minRetryBackoff}
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
	return r, nil
}

// acquire takes one of the reader's slots; the function returned gives it back.
func (r *Reader) acquire(ctx context.Context) (func(), error) {
	select {
	case r.slots <- struct{}{}:
		return func() { <-r.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// answer is the body of a successful answer. It is only good until it has been decoded.
type answer []byte

// get asks for one object and decodes it before it lets another request begin: so the answers that are in
// memory at a time are few.
func (r *Reader) get(ctx context.Context, segments []string, accept string, decode func(answer) error) error {
	return r.stream(ctx, segments, accept, nil, func(in io.Reader) error { return r.readAll(in, decode) })
}

// readAll decodes an answer that is not read piece by piece.
func (r *Reader) readAll(in io.Reader, decode func(answer) error) error {
	body := r.getBuffer()
	defer r.putBuffer(body)
	if _, err := body.ReadFrom(in); err != nil {
		return err
	}
	return decode(body.Bytes())
}

// maxPooledBuffer bounds, in bytes, the buffers that are used again.
const maxPooledBuffer = 4 << 20

// getBuffer returns an empty buffer, to be given back by done.
func (r *Reader) getBuffer() *bytes.Buffer {
	if b, ok := r.buffers.Get().(*bytes.Buffer); ok {
		return b
	}
	return &bytes.Buffer{}
}

func (r *Reader) putBuffer(b *bytes.Buffer) {
	if b.Cap() <= maxPooledBuffer {
		b.Reset()
		r.buffers.Put(b)
	}
}

// pathSegments is the path of a kind, or of an object if name is not empty.
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

// stream asks for one object or one page and hands the answer over as it arrives. If nothing more arrives for as long as the
// reader is patient, that is an error.
func (r *Reader) stream(ctx context.Context, segments []string, accept string, options *metav1.ListOptions, read func(io.Reader) error) error {
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
		request = request.SpecificallyVersionedParams(options, scheme.ParameterCodec, schema.GroupVersion{Version: "v1"})
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

// idleTimeoutReader starts the timer anew whenever something arrives.
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

// pages asks for page after page and returns the resource version of the list.
//
// A continue token lives as long as the server keeps the past, five minutes by default. When it has expired, the answer
// holds another with which the list goes on behind the last object, at the time of now (handleCompactedErrorForPaging of
// k8s.io/apiserver/pkg/storage/etcd3). An answer without one, as other servers give it, means to begin again, in one page
// that cannot expire.
func pages(ctx context.Context, options metav1.ListOptions, page func(*metav1.ListOptions) (metav1.ListMeta, error)) (string, error) {
	restarted := false
	for {
		list, err := page(&options)
		switch {
		case err == nil && list.Continue == "":
			return list.ResourceVersion, nil
		case err == nil:
			options.Continue = list.Continue
		case ctx.Err() != nil || options.Continue == "" || restarted || !expired(err):
			return "", err
		default:
			restarted = continueExpired(&options, err)
		}
		// A continue token holds the resource version; a request must not name another.
		options.ResourceVersion, options.ResourceVersionMatch = "", ""
	}
}

func expired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// continueExpired changes options so that they go on after a token expired. It returns true if that means to begin again.
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
