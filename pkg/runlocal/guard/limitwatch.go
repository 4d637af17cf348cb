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
func (n *narrow) watch(req *http.Request) (*http.Response, error) {
	query := req.URL.Query()
	if begin := query.Get("sendInitialEvents"); begin != "" && begin != "false" {
		return failed(req, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
			"sendInitialEvents: Forbidden: a watch of several namespaces does not begin with what there is"), nil
	}
	told := n.watched.begin(watchKey(req), query.Get("resourceVersion"), len(n.namespaces))
	if told == nil {
		return expired(req, "how far each of several namespaces was watched is not known any more"), nil
	}
	parts, other := n.open(req, told.start)
	if other != nil {
		return other.resp, other.err
	}
	return merge(req, parts, told)
}

// part is the watch of one namespace.
type part struct {
	resp   *http.Response
	err    error
	cancel context.CancelFunc
}

func (p *part) close() {
	p.cancel()
	if p.resp != nil {
		_ = p.resp.Body.Close() // its end is not waited for
	}
}

// open begins the watch of each namespace, from the version that is its own. If one of them does not begin, the others
// are ended, and other is what became of it.
func (n *narrow) open(req *http.Request, from []string) (parts []*part, other *part) {
	parts = make([]*part, len(n.namespaces))
	var opening sync.WaitGroup
	for i, namespace := range n.namespaces {
		query := req.URL.Query()
		if from[i] != "" {
			query.Set("resourceVersion", from[i])
		}
		ctx, cancel := context.WithCancel(req.Context())
		one := &part{cancel: cancel}
		parts[i] = one
		opening.Go(func() {
			one.resp, one.err = n.next.RoundTrip(n.into(req.WithContext(ctx), namespace, query)) //nolint:bodyclose // part.close does
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
	other.keep()
	for _, one := range parts {
		one.close()
	}
	return nil, other
}

// keep reads an answer, of which a Status is all, so that it can be read when its request has ended.
func (p *part) keep() {
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

// merged is the body of a watch of several namespaces. Its goroutines end when it is closed, or with any of the parts.
type merged struct {
	*io.PipeReader
	writer *io.PipeWriter
	parts  []*part
	told   *told
	wait   sync.WaitGroup

	mu        sync.Mutex // held while a frame is written, so that frames stay whole
	progress  []string   // of each namespace
	bookmarks []frame    // the latest of each, if nothing has come after it
	marked    string     // version of the last bookmark that was handed on
}

// merge makes one answer of several.
func merge(req *http.Request, parts []*part, log *told) (*http.Response, error) {
	reader, writer := io.Pipe()
	m := &merged{
		PipeReader: reader, writer: writer, parts: parts, told: log,
		progress: slices.Clone(log.start), bookmarks: make([]frame, len(parts)),
	}
	sources := make([]frames, len(parts))
	contentType := parts[0].resp.Header.Get("Content-Type")
	for i, p := range parts {
		var err error
		own := p.resp.Header.Get("Content-Type")
		if sources[i], err = newFrames(own, p.resp.Body); err == nil && own != contentType {
			err = fmt.Errorf("the server answers with %q here, and with %q there", contentType, own)
		}
		if err != nil {
			m.close()
			return nil, fmt.Errorf("watching %s: %w", req.URL.Path, err)
		}
	}
	for i, source := range sources {
		m.wait.Go(func() { m.follow(i, source) })
	}
	answer := *parts[0].resp
	answer.Header = answer.Header.Clone()
	answer.Header.Del("Content-Length")
	answer.ContentLength, answer.Body, answer.Request = -1, m, req
	return &answer, nil
}

// follow hands on what comes of one namespace until it ends, and ends the others then.
func (m *merged) follow(namespace int, source frames) {
	for {
		f, err := source.next()
		if err == nil {
			err = m.deliver(namespace, f)
		}
		if err == nil {
			continue
		}
		if ended(err) {
			err = nil
		}
		_ = m.writer.CloseWithError(err) // it has no error
		m.close()
		return
	}
}

func (m *merged) close() {
	for _, p := range m.parts {
		p.close()
	}
}

// Close implements io.Closer. It returns when all parts have ended.
func (m *merged) Close() error {
	err := m.PipeReader.Close()
	m.close()
	m.wait.Wait()
	return err
}

// deliver hands a frame on. It returns io.EOF behind an error, which is the last one.
func (m *merged) deliver(namespace int, f frame) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.version != "" {
		m.progress[namespace] = f.version
		m.told.add(namespace, f.version, f.kind != watch.Bookmark)
	}
	m.bookmarks[namespace] = frame{}
	if f.kind == watch.Bookmark {
		m.bookmarks[namespace] = f
		return m.bookmark()
	}
	if _, err := m.writer.Write(f.data); err != nil {
		return err
	}
	if f.kind == watch.Error {
		return io.EOF
	}
	return nil
}

// bookmark hands on the bookmark of the namespace that is behind all others: all are told up to there.
func (m *merged) bookmark() error {
	least := 0
	for i := range m.progress {
		if compareVersions(m.progress[i], m.progress[least]) < 0 {
			least = i
		}
	}
	f := m.bookmarks[least]
	if f.data == nil || compareVersions(f.version, m.marked) <= 0 {
		return nil
	}
	m.marked = f.version
	m.told.add(least, f.version, true)
	_, err := m.writer.Write(f.data)
	return err
}
