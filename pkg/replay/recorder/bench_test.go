package recorder

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/redact"
)

// firehose is a server whose watch sends events of pods as fast as they are read. It is an http.RoundTripper.
type firehose struct{ events *bytes.Buffer }

// RoundTrip implements http.RoundTripper.
func (f *firehose) RoundTrip(req *http.Request) (*http.Response, error) {
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}}
	switch {
	case req.URL.Query().Get("watch") == "":
		resp.Body = io.NopCloser(strings.NewReader(`{"metadata":{"resourceVersion":"1"},"items":[]}`))
	case f.events.Len() > 0:
		resp.Body = io.NopCloser(f.events)
	default:
		reader, writer := io.Pipe()
		context.AfterFunc(req.Context(), func() { _ = writer.Close() })
		resp.Body = reader
	}
	return resp, nil
}

// BenchmarkEvents records events of pods of about 6 KB: what one costs from the watch to the bytes of the file.
func BenchmarkEvents(b *testing.B) {
	redactor, err := redact.New(bytes.NewReader(make([]byte, 32)), nil)
	if err != nil {
		b.Fatal(err)
	}
	var events bytes.Buffer
	const filler = `{"name":"c%d","image":"registry.example.com/team/app:v1.2.3","env":[{"name":"A","value":"%d"}],"resources":{"limits":{"cpu":"1"}}},`
	var spec strings.Builder
	for i := range 45 {
		fmt.Fprintf(&spec, filler, i, i*7919)
	}
	for i := range b.N {
		fmt.Fprintf(&events, `{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p-%d","namespace":"n","uid":"u-%d",`+
			`"resourceVersion":"%d"},"spec":{"containers":[%s]},"status":{"phase":"Running","n":%d}}}`+"\n",
			i%500, i%500, i+2, strings.TrimSuffix(spec.String(), ","), i)
	}
	b.SetBytes(int64(events.Len() / b.N))
	var file bytes.Buffer
	writer, err := replay.NewWriter(&file, replay.Header{}, replay.WriterOptions{})
	if err != nil {
		b.Fatal(err)
	}
	r, err := New(Options{Sink: writer, Clock: clock.RealClock{}, Redactor: redactor})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	ended := make(chan error, 1)
	b.ResetTimer()
	go func() {
		ended <- r.Run(ctx, &rest.Config{Host: "http://firehose", QPS: -1, Transport: &firehose{&events}},
			[]Selection{selection(kind("Pod", "pods", true), "")})
	}()
	waitUntil(b, "all events", func() bool { return r.Stats().Events >= int64(b.N) })
	b.StopTimer()
	stop()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	if err := r.End(""); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(file.Len())/float64(b.N), "B/event")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
