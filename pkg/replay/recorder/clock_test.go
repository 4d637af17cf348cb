package recorder

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// quiet is a server with no objects, whose watches send nothing until the test does. It is an http.RoundTripper.
type quiet struct {
	mu      sync.Mutex // guards what follows
	watches []*io.PipeWriter
	// down is what it answers with instead; nil if it works.
	down func(*http.Request) (*http.Response, error)
	// version is that of lists.
	version int
}

// RoundTrip implements http.RoundTripper.
func (q *quiet) RoundTrip(req *http.Request) (*http.Response, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.down != nil {
		return q.down(req)
	}
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}}
	if req.URL.Query().Get("watch") == "" {
		resp.Body = io.NopCloser(strings.NewReader(fmt.Sprintf(`{"metadata":{"resourceVersion":"%d"},"items":[]}`, q.version)))
		return resp, nil
	}
	reader, writer := io.Pipe()
	context.AfterFunc(req.Context(), func() { _ = writer.CloseWithError(req.Context().Err()) })
	q.watches = append(q.watches, writer)
	resp.Body = reader
	return resp, nil
}

// answer makes down what it answers with; nil lets it work again.
func (q *quiet) answer(down func(*http.Request) (*http.Response, error)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.down = down
}

// watch returns the watch of a number, from 0; the last one if that is negative.
func (q *quiet) watch(n int) *io.PipeWriter {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n < 0 {
		n = len(q.watches) - 1
	}
	return q.watches[n]
}

// send sends a line in the last watch.
func (q *quiet) send(t testing.TB, line string) {
	t.Helper()
	if _, err := io.WriteString(q.watch(-1), line+"\n"); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// inBubble records from a quiet server, with time that stands still when nothing happens. do is called when the first list
// is recorded. ConfigMaps are recorded, and more.
func inBubble(
	t *testing.T, do func(q *quiet, r *Recorder, clock *shiftedClock), more ...Selection,
) (out []*replay.Record) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		q, sink, clock := &quiet{version: 5}, newMemory(t), &shiftedClock{}
		r, err := New(Options{Sink: sink, Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- r.Run(ctx, &rest.Config{Host: "http://quiet", QPS: -1, Transport: q},
				append([]Selection{selection(configMaps, "")}, more...))
		}()
		<-r.Started()
		synctest.Wait()
		do(q, r, clock)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := r.End(""); err != nil {
			t.Error(err)
		}
		out = sink.all()
	})
	return out
}

func allLines(records []*replay.Record) string {
	var out []string
	for _, r := range records {
		out = append(out, lineOf(r))
	}
	return strings.Join(out, "\n")
}

func sleep(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // it moves the bubble's clock
	synctest.Wait()
}

func TestAlive(t *testing.T) {
	records := inBubble(t, func(q *quiet, _ *Recorder, _ *shiftedClock) {
		sleep(12 * time.Second)
		q.send(t, `{"type":"BOOKMARK","object":{"kind":"ConfigMap","metadata":{"resourceVersion":"9"}}}`)
		sleep(4 * time.Second)
	})
	want := "STREAM configmaps\nLIST BEGIN\nLIST END\nALIVE\nALIVE\nBOOKMARK\nEND "
	if diff := cmp.Diff(want, allLines(records)); diff != "" {
		t.Error(diff)
	}
	var alive []time.Duration
	for _, r := range records {
		if r.Type == replay.TypeAlive {
			alive = append(alive, r.Time.Sub(records[0].Time))
		}
	}
	if diff := cmp.Diff([]time.Duration{aliveInterval, 2 * aliveInterval}, alive); diff != "" {
		t.Error(diff)
	}
}

func sendAdded(t testing.TB, q *quiet) {
	q.send(t, `{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"9"}}}`)
}

func breakWatch(_ testing.TB, q *quiet) {
	_ = q.watch(-1).CloseWithError(errDown)
	synctest.Wait()
}

// TestSleep: the clock jumps while the machine sleeps. What the server has sent meanwhile is not known before it is heard
// from again.
func TestSleep(t *testing.T) {
	for _, row := range []struct {
		reason string
		then   func(t testing.TB, q *quiet)
		jump   time.Duration
		want   string
	}{
		{"an hour, and then silence", nil, time.Hour, "GAP Sleep complete=true\nGAP Sleep complete=false"},
		{"an hour, and then an event", sendAdded, time.Hour, "GAP Sleep complete=true\nADDED a"},
		{"an hour, and the connection was broken", breakWatch, time.Hour, "GAP Sleep complete=true"},
		{"a clock that is set forward a little", sendAdded, 5 * time.Second, "ADDED a"},
		{"a clock that is set back", sendAdded, -time.Hour, "ADDED a"},
	} {
		records := inBubble(t, func(q *quiet, _ *Recorder, clock *shiftedClock) {
			sleep(1500 * time.Millisecond)
			clock.set(row.jump)
			if row.then != nil {
				row.then(t, q)
			}
			sleep(time.Second)
		})
		want := "STREAM configmaps\nLIST BEGIN\nLIST END\n" + row.want + "\nEND "
		if diff := cmp.Diff(want, strings.ReplaceAll(allLines(records), "ALIVE\n", "")); diff != "" {
			t.Errorf("%s:\n%s", row.reason, diff)
		}
		var last time.Time
		for _, r := range records {
			if r.Time.Before(last) {
				t.Errorf("%s: record %d is before the one before", row.reason, r.Number)
			}
			last = r.Time
			if r.Type == replay.TypeGap && (r.Time.Sub(r.Gap.Since) < time.Hour-tickInterval || r.Time.Sub(r.Gap.Since) > time.Hour+2*tickInterval) {
				t.Errorf("%s: the gap is from %s to %s", row.reason, r.Gap.Since, r.Time)
			}
		}
	}
}

// TestUnreachable: how a server is asked that does not answer for a minute, and that there is no ALIVE meanwhile.
func TestUnreachable(t *testing.T) {
	attempts := 0
	var since time.Time
	records := inBubble(t, func(q *quiet, _ *Recorder, _ *shiftedClock) {
		sleep(2 * time.Second)
		q.answer(func(*http.Request) (*http.Response, error) {
			attempts++
			return nil, errDown
		})
		since = time.Now()
		_ = q.watch(0).CloseWithError(errDown)
		sleep(time.Minute)
		q.answer(nil)
		sleep(maxBackoff + resumedAfter)
		sleep(0)
	})
	want := "STREAM configmaps\nLIST BEGIN\nLIST END\nGAP Unreachable complete=true\nEND "
	if diff := cmp.Diff(want, allLines(records)); diff != "" {
		t.Error(diff)
	}
	if attempts < 15 || attempts > 30 {
		t.Errorf("%d attempts in a minute", attempts)
	}
	for _, r := range records {
		if r.Type != replay.TypeGap {
			continue
		}
		if r.Gap.Attempts != attempts {
			t.Errorf("the gap has %d attempts of %d", r.Gap.Attempts, attempts)
		}
		if length := r.Time.Sub(r.Gap.Since); length < time.Minute || length > time.Minute+maxBackoff+resumedAfter+2*time.Second {
			t.Errorf("the gap is from %s to %s, since %s", r.Gap.Since, r.Time, since)
		}
	}
}

// TestBack: what the server asks to wait long for is watched again as soon as it has accepted another watch.
func TestBack(t *testing.T) {
	var back time.Time
	records := inBubble(t, func(q *quiet, _ *Recorder, _ *shiftedClock) {
		sleep(2 * time.Second)
		q.answer(func(req *http.Request) (*http.Response, error) {
			if strings.Contains(req.URL.Path, "configmaps") {
				return nil, errDown
			}
			return &http.Response{
				StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"15"}}, Body: http.NoBody,
			}, nil
		})
		for n := range 2 {
			_ = q.watch(n).CloseWithError(errDown)
		}
		sleep(16 * time.Second) // after the second attempt for pods
		q.answer(nil)
		back = time.Now().UTC()
		sleep(maxBackoff + resumedAfter)
		sleep(0)
	}, selection(kind("Pod", "pods", true), ""))
	gaps := 0
	for _, r := range records {
		if r.Type == replay.TypeGap {
			gaps++
			if late := r.Time.Sub(back); late > maxBackoff+resumedAfter || !r.Gap.Complete {
				t.Errorf("the gap of stream %d ended %s after the server was back, complete %t", r.Stream, late, r.Gap.Complete)
			}
		}
	}
	if gaps != 2 {
		t.Errorf("%d gaps:\n%s", gaps, allLines(records))
	}
}

// TestEndsWhileServerIsAway: the gap is recorded though it has no end.
func TestEndsWhileServerIsAway(t *testing.T) {
	records := inBubble(t, func(q *quiet, r *Recorder, _ *shiftedClock) {
		q.answer(func(*http.Request) (*http.Response, error) {
			return respond(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable), nil
		})
		_ = q.watch(0).Close()
		sleep(10 * time.Second)
		if troubles := r.Troubles(); len(troubles) != 1 || troubles[0].Reason != "Unavailable" || !troubles[0].Listed {
			t.Errorf("the troubles are %+v", troubles)
		}
	})
	want := "STREAM configmaps\nLIST BEGIN\nLIST END\nGAP Unreachable complete=false\nEND "
	if diff := cmp.Diff(want, allLines(records)); diff != "" {
		t.Error(diff)
	}
}

// TestServerThatEndsEveryWatch: it is not asked in a loop without a pause.
func TestServerThatEndsEveryWatch(t *testing.T) {
	n := 0
	inBubble(t, func(q *quiet, _ *Recorder, _ *shiftedClock) {
		q.answer(func(*http.Request) (*http.Response, error) {
			n++
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}, nil
		})
		_ = q.watch(0).Close()
		sleep(time.Minute)
	})
	if n < 15 || n > 40 {
		t.Errorf("%d watches in a minute", n)
	}
}

// TestServerThatExpiresEveryWatch: it is not asked for lists without a pause.
func TestServerThatExpiresEveryWatch(t *testing.T) {
	lists := 0
	records := inBubble(t, func(q *quiet, _ *Recorder, _ *shiftedClock) {
		list := true
		q.answer(func(*http.Request) (*http.Response, error) {
			list = !list
			if !list {
				return respond(http.StatusGone, metav1.StatusReasonExpired), nil
			}
			lists++
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(
				strings.NewReader(`{"metadata":{"resourceVersion":"7"},"items":[]}`))}, nil
		})
		_ = q.watch(0).Close()
		sleep(time.Minute)
	})
	if lists < 15 || lists > 40 {
		t.Errorf("%d lists in a minute:\n%s", lists, allLines(records))
	}
}

// TestWatchesThatDoNotWork: lists work, and watches are accepted, and what they have is of no use. Such a server is not
// asked without a pause, the trouble is reported once, and over once events can be used again.
func TestWatchesThatDoNotWork(t *testing.T) {
	const named = `{"kind":"ConfigMap","metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"%s"}}`
	for _, row := range []struct {
		reason, watch string
		listed        bool // a list is needed again and again
	}{
		{"an ERROR", `{"type":"ERROR","object":{"kind":"Status","code":500,"message":"etcd"}}`, true},
		{"an unknown type", `{"type":"CHANGED","object":` + fmt.Sprintf(named, "6") + `}`, false},
		{"an object without a name", `{"type":"ADDED","object":{"kind":"ConfigMap","metadata":{"resourceVersion":"6"}}}`, false},
		{"an object without a resource version", `{"type":"ADDED","object":` + fmt.Sprintf(named, "") + `}`, false},
		{"no JSON", `<html>`, false},
		{"the same event again and again", `{"type":"ADDED","object":` + fmt.Sprintf(named, "5") + `}`, false},
		{"nothing", ``, false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			requests, lists := 0, 0
			var notes []string
			inBubble(t, func(q *quiet, r *Recorder, _ *shiftedClock) {
				r.troubles.mu.Lock()
				r.troubles.notify = func(trouble Trouble) { notes = append(notes, trouble.Message) }
				r.troubles.mu.Unlock()
				q.answer(func(req *http.Request) (*http.Response, error) {
					requests++
					body := row.watch + "\n"
					if req.URL.Query().Get("watch") == "" {
						lists++
						body = `{"metadata":{"resourceVersion":"5"},"items":[]}`
					}
					return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
				})
				_ = q.watch(0).Close()
				sleep(time.Minute)
				if requests > 60 || requests < 15 || (lists > 0) != row.listed {
					t.Errorf("%d requests in a minute, %d of them lists", requests, lists)
				}
				if got := r.Troubles(); len(notes) != 1 || notes[0] == "" || len(got) != 1 || !got[0].Listed || got[0].Watched {
					t.Errorf("troubles %+v, notes %q", got, notes)
				}
				q.answer(nil)
				sleep(time.Minute)
				q.send(t, `{"type":"ADDED","object":`+fmt.Sprintf(named, "9")+`}`)
				if got := r.Troubles(); len(notes) != 2 || notes[1] != "" || len(got) != 0 {
					t.Errorf("troubles %+v, notes %q", got, notes)
				}
			})
		})
	}
}
