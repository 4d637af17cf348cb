package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/snapshot"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/internal/apirequest"
)

// watch opens a watch of each namespace, and returns their events as one stream. It ends when the watch of any of them
// ends; a client then watches again from the last version that it has seen, for which histories know where each
// namespace was.
func (n *namespaceLimiter) watch(req *http.Request) (*http.Response, error) {
	query := req.URL.Query()
	if begin := query.Get("sendInitialEvents"); begin != "" && begin != "false" {
		return failureResponse(req, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
			"sendInitialEvents: Forbidden: a watch of several namespaces cannot begin with the existing objects"), nil
	}
	log := n.histories.beginWatch(watchKey(req), query.Get("resourceVersion"), len(n.namespaces))
	if log == nil {
		return expiredResponse(req, "how far each of several namespaces was watched is not known any more"), nil
	}
	watches, failed := n.openWatches(req, log.base)
	if failed != nil {
		return failed.resp, failed.err
	}
	return newMergedWatch(req, watches, log)
}

// namespaceWatch is the watch of one namespace: the response, or the error, of its request.
type namespaceWatch struct {
	resp   *http.Response
	err    error
	cancel context.CancelFunc // of the request
}

// close ends the request without waiting for its end.
func (w *namespaceWatch) close() {
	w.cancel()
	if w.resp != nil {
		_ = w.resp.Body.Close() // the watch is given up, whatever closing it returns
	}
}

// openWatches opens the watch of each namespace, at its version in from. If one of them cannot be opened it is returned
// as failed, and the others are closed.
func (n *namespaceLimiter) openWatches(
	req *http.Request, from []string,
) (watches []*namespaceWatch, failed *namespaceWatch) {
	watches = make([]*namespaceWatch, len(n.namespaces))
	var opening sync.WaitGroup
	for i, namespace := range n.namespaces {
		query := req.URL.Query()
		if from[i] != "" {
			query.Set("resourceVersion", from[i])
		}
		ctx, cancel := context.WithCancel(req.Context())
		one := &namespaceWatch{cancel: cancel}
		watches[i] = one
		opening.Go(func() {
			request := n.inNamespace(req.WithContext(ctx), namespace, query)
			one.resp, one.err = n.next.RoundTrip(request) //nolint:bodyclose // close does
		})
	}
	opening.Wait()
	for _, one := range watches {
		if failed == nil && (one.err != nil || one.resp.StatusCode != http.StatusOK) {
			failed = one
		}
	}
	if failed == nil {
		return watches, nil
	}
	failed.detach()
	for _, one := range watches {
		one.close()
	}
	return nil, failed
}

// detach reads the whole response, which is a Status, so that it can still be read after close.
func (w *namespaceWatch) detach() {
	if w.err != nil {
		return
	}
	body, err := apirequest.Head(w.resp)
	if err != nil {
		w.err = err
		return
	}
	detached := *w.resp
	detached.Body = io.NopCloser(bytes.NewReader(body))
	_ = w.resp.Body.Close() // it was read
	w.resp = &detached
}

// mergedWatch is the body of a watch of several namespaces. A goroutine for each namespace copies its frames into a
// pipe until the mergedWatch is closed or the watch of any namespace ends. Close waits for the goroutines.
type mergedWatch struct {
	*io.PipeReader
	writer  *io.PipeWriter
	watches []*namespaceWatch
	log     *deliveryLog
	wait    sync.WaitGroup // of the goroutines

	mu           sync.Mutex   // guards what follows; held while a frame is written, so that frames stay whole
	progress     []string     // version up to which each namespace was received
	bookmarks    []watchFrame // the latest of each namespace, without data if an event was received after it
	lastBookmark string       // version of the last bookmark that was sent
}

// newMergedWatch returns the response to req that has the frames of all watches, which must be open. It takes them
// over, also if it fails.
func newMergedWatch(req *http.Request, watches []*namespaceWatch, log *deliveryLog) (*http.Response, error) {
	reader, writer := io.Pipe()
	m := &mergedWatch{
		PipeReader: reader, writer: writer, watches: watches, log: log,
		progress: slices.Clone(log.base), bookmarks: make([]watchFrame, len(watches)),
	}
	sources := make([]frameReader, len(watches))
	contentType := watches[0].resp.Header.Get("Content-Type")
	for i, w := range watches {
		var err error
		own := w.resp.Header.Get("Content-Type")
		if sources[i], err = newFrameReader(own, w.resp.Body); err == nil && own != contentType {
			err = fmt.Errorf("one namespace is answered with %q, another with %q", contentType, own)
		}
		if err != nil {
			m.close()
			return nil, fmt.Errorf("watching %s: %w", req.URL.Path, err)
		}
	}
	for i, source := range sources {
		m.wait.Go(func() { m.forward(i, source) })
	}
	resp := *watches[0].resp
	resp.Header = resp.Header.Clone()
	resp.Header.Del("Content-Length")
	resp.ContentLength, resp.Body, resp.Request = -1, m, req
	return &resp, nil
}

// forward sends the frames of one namespace to the client until they end, and then closes the watches of all
// namespaces.
func (m *mergedWatch) forward(namespace int, source frameReader) {
	for {
		f, err := source.next()
		if err == nil {
			err = m.deliver(namespace, f)
		}
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		_ = m.writer.CloseWithError(err) // always nil
		m.close()
		return
	}
}

func (m *mergedWatch) close() {
	for _, w := range m.watches {
		w.close()
	}
}

// Close implements io.Closer. It returns when all goroutines have ended.
func (m *mergedWatch) Close() error {
	err := m.PipeReader.Close()
	m.close()
	m.wait.Wait()
	return err
}

// deliver sends a frame of a namespace to the client, and records that. It returns io.EOF after an ERROR event, which
// is the last one of a watch.
func (m *mergedWatch) deliver(namespace int, f watchFrame) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.version != "" {
		m.progress[namespace] = f.version
		m.log.add(namespace, f.version, f.kind != watch.Bookmark)
	}
	m.bookmarks[namespace] = watchFrame{}
	if f.kind == watch.Bookmark {
		m.bookmarks[namespace] = f
		return m.sendBookmark()
	}
	if _, err := m.writer.Write(f.data); err != nil {
		return err
	}
	if f.kind == watch.Error {
		return io.EOF
	}
	return nil
}

// sendBookmark sends the bookmark of the namespace that is furthest behind, if that was not sent yet: up to its version
// all namespaces were received. The caller holds m.mu.
func (m *mergedWatch) sendBookmark() error {
	least := 0
	for i := range m.progress {
		if snapshot.VersionNumber(m.progress[i]) < snapshot.VersionNumber(m.progress[least]) {
			least = i
		}
	}
	f := m.bookmarks[least]
	if f.data == nil || !snapshot.IsNewer(f.version, m.lastBookmark) {
		return nil
	}
	m.lastBookmark = f.version
	m.log.add(least, f.version, true)
	_, err := m.writer.Write(f.data)
	return err
}
