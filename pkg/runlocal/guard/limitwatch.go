package guard

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/apirequest"
)

// watch answers with the events of all namespaces. It ends when the watch of one does.
func (n *namespaceLimiter) watch(req *http.Request) (*http.Response, error) {
	query := req.URL.Query()
	if begin := query.Get("sendInitialEvents"); begin != "" && begin != "false" {
		return failureResponse(req, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
			"sendInitialEvents: Forbidden: a watch of several namespaces does not begin with what there is"), nil
	}
	told := n.histories.beginWatch(watchKey(req), query.Get("resourceVersion"), len(n.namespaces))
	if told == nil {
		return expiredResponse(req, "how far each of several namespaces was watched is not known any more"), nil
	}
	parts, other := n.openWatches(req, told.base)
	if other != nil {
		return other.resp, other.err
	}
	return newMergedWatch(req, parts, told)
}

// namespaceWatch is the watch of one namespace.
type namespaceWatch struct {
	resp   *http.Response
	err    error
	cancel context.CancelFunc
}

func (p *namespaceWatch) close() {
	p.cancel()
	if p.resp != nil {
		_ = p.resp.Body.Close() // its end is not waited for
	}
}

// openWatches begins the watch of each namespace, from the version that is its own. If one of them does not begin, the others
// are ended, and other is what became of it.
func (n *namespaceLimiter) openWatches(req *http.Request, from []string) (parts []*namespaceWatch, other *namespaceWatch) {
	parts = make([]*namespaceWatch, len(n.namespaces))
	var opening sync.WaitGroup
	for i, namespace := range n.namespaces {
		query := req.URL.Query()
		if from[i] != "" {
			query.Set("resourceVersion", from[i])
		}
		ctx, cancel := context.WithCancel(req.Context())
		one := &namespaceWatch{cancel: cancel}
		parts[i] = one
		opening.Go(func() {
			one.resp, one.err = n.next.RoundTrip(n.inNamespace(req.WithContext(ctx), namespace, query)) //nolint:bodyclose // part.close does
		})
	}
	opening.Wait()
	for _, one := range parts {
		if other == nil && (one.err != nil || one.resp.StatusCode != http.StatusOK) {
			other = one
		}
	}
	if other == nil {
		return parts, nil
	}
	other.detach()
	for _, one := range parts {
		one.close()
	}
	return nil, other
}

// detach reads an answer, of which a Status is all, so that it can be read when its request has ended.
func (p *namespaceWatch) detach() {
	if p.err != nil {
		return
	}
	body, err := apirequest.Head(p.resp)
	if err != nil {
		p.err = err
		return
	}
	kept := *p.resp
	kept.Body = io.NopCloser(bytes.NewReader(body))
	_ = p.resp.Body.Close() // it was read
	p.resp = &kept
}

// mergedWatch is the body of a watch of several namespaces. Its goroutines end when it is closed, or with any of the parts.
type mergedWatch struct {
	*io.PipeReader
	writer  *io.PipeWriter
	watches []*namespaceWatch
	log     *deliveryLog
	wait    sync.WaitGroup

	mu           sync.Mutex   // held while a frame is written, so that frames stay whole
	progress     []string     // of each namespace
	bookmarks    []watchFrame // the latest of each, if nothing has come after it
	lastBookmark string       // version of the last bookmark that was handed on
}

// newMergedWatch makes one answer of several.
func newMergedWatch(req *http.Request, parts []*namespaceWatch, log *deliveryLog) (*http.Response, error) {
	reader, writer := io.Pipe()
	m := &mergedWatch{
		PipeReader: reader, writer: writer, watches: parts, log: log,
		progress: slices.Clone(log.base), bookmarks: make([]watchFrame, len(parts)),
	}
	sources := make([]frameReader, len(parts))
	contentType := parts[0].resp.Header.Get("Content-Type")
	for i, p := range parts {
		var err error
		own := p.resp.Header.Get("Content-Type")
		if sources[i], err = newFrameReader(own, p.resp.Body); err == nil && own != contentType {
			err = fmt.Errorf("the server answers with %q here, and with %q there", contentType, own)
		}
		if err != nil {
			m.close()
			return nil, fmt.Errorf("watching %s: %w", req.URL.Path, err)
		}
	}
	for i, source := range sources {
		m.wait.Go(func() { m.forward(i, source) })
	}
	answer := *parts[0].resp
	answer.Header = answer.Header.Clone()
	answer.Header.Del("Content-Length")
	answer.ContentLength, answer.Body, answer.Request = -1, m, req
	return &answer, nil
}

// forward hands on what comes of one namespace until it ends, and ends the others then.
func (m *mergedWatch) forward(namespace int, source frameReader) {
	for {
		f, err := source.next()
		if err == nil {
			err = m.deliver(namespace, f)
		}
		if err == nil {
			continue
		}
		if isEOF(err) {
			err = nil
		}
		_ = m.writer.CloseWithError(err) // it has no error
		m.close()
		return
	}
}

func (m *mergedWatch) close() {
	for _, p := range m.watches {
		p.close()
	}
}

// Close implements io.Closer. It returns when all parts have ended.
func (m *mergedWatch) Close() error {
	err := m.PipeReader.Close()
	m.close()
	m.wait.Wait()
	return err
}

// deliver hands a frame on. It returns io.EOF behind an error, which is the last one.
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

// sendBookmark hands on the bookmark of the namespace that is behind all others: all are told up to there.
func (m *mergedWatch) sendBookmark() error {
	least := 0
	for i := range m.progress {
		if compareVersions(m.progress[i], m.progress[least]) < 0 {
			least = i
		}
	}
	f := m.bookmarks[least]
	if f.data == nil || compareVersions(f.version, m.lastBookmark) <= 0 {
		return nil
	}
	m.lastBookmark = f.version
	m.log.add(least, f.version, true)
	_, err := m.writer.Write(f.data)
	return err
}
