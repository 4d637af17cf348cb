package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

const (
	// parallel bounds the requests of a reader, and of discovery, that are under way at a time.
	parallel = 16
	// pageSize is how many objects a list asks for at a time, as kubectl does. largePageSize is for lists that are decoded while
	// they arrive: as many as a server reads from etcd at once (maxLimit of k8s.io/apiserver/pkg/storage/etcd3).
	pageSize, largePageSize = 500, 10_000
	// retries is how often a request is sent again, a second later, that an overloaded server has turned away or whose
	// connection broke. Client-go's ten would keep people waiting for what is not there.
	retries = 3
	// patience is how long one answer may take if the configuration does not say it. A server waits a minute for an
	// aggregated API that does not answer; one such kind must not hold up all others for that long.
	patience = 20 * time.Second
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
	// patience bounds one request; watches are not bounded.
	patience time.Duration
	// metadata is for watches.
	metadata metadata.Interface
	pause    time.Duration // between the first two tries to follow a kind
	progress progress
}

// NewReader makes a reader. A rate limit, user agent and time limit of config hold for it; without a time limit each request
// has 20 seconds.
func NewReader(config *rest.Config) (*Reader, error) {
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/", &schema.GroupVersion{}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	r := &Reader{slots: make(chan struct{}, parallel), largePage: largePageSize, patience: patience, pause: firstPause}
	if config.Timeout > 0 {
		r.patience, config.Timeout = config.Timeout, 0
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
	return r.stream(ctx, segments, accept, nil, func(in io.Reader) error { return r.whole(in, decode) })
}

// whole decodes an answer that is not read piece by piece.
func (r *Reader) whole(in io.Reader, decode func(answer) error) error {
	body := r.buffer()
	defer r.done(body)
	if _, err := body.ReadFrom(in); err != nil {
		return err
	}
	return decode(body.Bytes())
}

// largestKept bounds, in bytes, the buffers that are used again.
const largestKept = 4 << 20

// buffer returns an empty buffer, to be given back by done.
func (r *Reader) buffer() *bytes.Buffer {
	if b, ok := r.buffers.Get().(*bytes.Buffer); ok {
		return b
	}
	return &bytes.Buffer{}
}

func (r *Reader) done(b *bytes.Buffer) {
	if b.Cap() <= largestKept {
		b.Reset()
		r.buffers.Put(b)
	}
}

// segments is the path of a kind, or of an object if name is not empty.
func segments(kind *Kind, namespace, name string) ([]string, error) {
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
