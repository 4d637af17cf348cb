package render

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/fields"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// within returns the lines of a reconcile with these events, between its causes and its end.
func within(t *testing.T, detail Detail, events ...trace.Detail) string {
	t.Helper()
	all := []*trace.Event{of1(&trace.Start{})}
	for _, d := range events {
		all = append(all, of1(d))
	}
	text := shown(t, BlocksOptions{Detail: detail}, append(all, of1(&trace.End{Outcome: trace.Done, Writes: 1}))...)
	_, text, _ = strings.Cut(text, "  deployment  default/web  #1\n  because  its cause was not seen\n")
	return doneLine.ReplaceAllString(text, "")
}

var doneLine = regexp.MustCompile(`(?m)^  done     1 .*, 0s\n`)

// squeezed reduces the gaps between columns to two blanks: the golden files have their widths.
func squeezed(s string) string { return gap.ReplaceAllString(s, "$1  ") }

var gap = regexp.MustCompile(`(\S) {3,}`)

func TestRequests(t *testing.T) {
	request := func(verb, kind, name string, code int, edit ...func(*trace.Request)) *trace.Request {
		r := &trace.Request{Verb: verb, Code: code, Latency: trace.Duration(time.Millisecond), Object: trace.Object{Kind: kind, Resource: strings.ToLower(kind) + "s", Namespace: "default", Name: name}}
		for _, e := range edit {
			e(r)
		}
		return r
	}
	pod := func(name string, edit ...func(*trace.Request)) trace.Detail {
		return request("create", "Pod", name, 201, edit...)
	}
	refused := func(message string) func(*trace.Request) {
		return func(r *trace.Request) { r.Code, r.Message = 403, message }
	}
	dry := func(r *trace.Request) { r.DryRun = true }
	unsent := func(r *trace.Request) { r.DryRun, r.NotSent = true, true }
	exists := func(r *trace.Request) {
		dry(r)
		r.Code, r.Reason, r.Message = 409, "AlreadyExists", "db-0 already exists"
	}
	status := func(r *trace.Request) { dry(r); r.Subresource = "status" }
	many := func(n int) []trace.Detail {
		var out []trace.Detail
		for i := range n {
			out = append(out, pod(fmt.Sprintf("web-%d", i)))
		}
		return out
	}
	for _, tt := range []struct {
		name   string
		detail Detail
		in     []trace.Detail
		want   string
		reason string
	}{
		{"one", Normal, many(1), "  create   Pod web-0  201  1ms\n", "one has a whole name and its own latency"},
		{"burst", Normal, many(3), "  create   Pod web-0, -1, -2  201  1ms each\n", "what names share is said once"},
		{"five", Normal, many(5), "  create   Pod web-0, -1, -2, -3, -4  201  1ms each\n", "five names are not too many"},
		{"six", Normal, many(6), "  create   Pod web-0, -1, -2, -3, -4 and 1 more  201  1ms each\n", "six are"},
		{"six, verbose", Verbose, many(6), "  create   Pod web-0, -1, -2, -3, -4, -5  201  1ms each\n", "-v shows all"},
		{"other names", Normal, []trace.Detail{pod("web-0"), pod("db-0")}, "  create   Pod web-0, db-0  201  1ms each\n", "names that share nothing are whole"},
		{"names without dashes", Normal, []trace.Detail{pod("web"), pod("db")}, "  create   Pod web, db  201  1ms each\n", "there is nothing to share"},
		{"a longer common part", Normal, []trace.Detail{pod("web-a-0"), pod("web-b-0")}, "  create   Pod web-a-0, web-b-0  201  1ms each\n", "shortened to what is behind the last dash, or not at all"},
		{"mean", Normal, []trace.Detail{pod("web-0"), pod("web-1", func(r *trace.Request) { r.Latency *= 3 })}, "  create   Pod web-0, -1  201  2ms each\n", "the latency of a burst is the mean"},
		{"refused among them", Normal, []trace.Detail{pod("web-0"), pod("web-1", refused("quota exceeded")), pod("web-2")},
			"  create   Pod web-0  201  1ms\n  create   Pod web-1  403  1ms  quota exceeded\n  create   Pod web-2  201  1ms\n", "another answer is another line"},
		{"refused alike", Normal, []trace.Detail{pod("web-0", refused("no")), pod("web-1", refused("no"))}, "  create   Pod web-0, -1  403  1ms each  no\n", "the same answer is not"},
		{"other kinds", Normal, []trace.Detail{pod("web-0"), request("create", "Service", "web-1", 201)},
			"  create   Pod web-0  201  1ms\n  create   Service web-1  201  1ms\n", "kinds do not mix"},
		{"deletes", Normal, []trace.Detail{request("delete", "Pod", "web-0", 200), request("delete", "Pod", "web-1", 200)}, "  delete   Pod web-0, -1  200  1ms each\n", "deletions come in bursts too"},
		{"updates", Normal, []trace.Detail{request("update", "Pod", "web-0", 200), request("update", "Pod", "web-1", 200)},
			"  update   Pod web-0  200  1ms\n  update   Pod web-1  200  1ms\n", "each update changes something else"},
		{"log between", Normal, []trace.Detail{pod("web-0"), &trace.Log{Message: "half way"}, pod("web-1")},
			"  create   Pod web-0  201  1ms\n  decided  half way\n  create   Pod web-1  201  1ms\n", "the order is kept"},
		{"subresource", Normal, []trace.Detail{request("update", "Deployment", "web", 200, func(r *trace.Request) { r.Subresource = "status" })}, "  update   Deployment web/status  200  1ms\n", "a status is written by itself"},
		{"change", Normal, []trace.Detail{request("update", "Deployment", "web", 200, func(r *trace.Request) {
			r.Change = changed(fields.Change{Path: "spec.replicas", Old: int64(1), New: int64(2)})
		})}, "  update   Deployment web  200  1ms  spec.replicas: 1 -> 2\n", "what the write changed"},
		{"no kind", Normal, []trace.Detail{request("update", "", "x", 404, func(r *trace.Request) { r.Resource, r.Message = "widgets", "not found" })}, "  update   widgets x  404  1ms  not found\n", "the resource is shown if the kind is not known"},
		{"forbidden", Normal, []trace.Detail{pod("web-0", refused(`pods "web-0" is forbidden: exceeded quota: q`))}, "  create   Pod web-0  403  1ms  exceeded quota: q\n", "the request before it names the object"},
		{"forbidden, verbose", Verbose, []trace.Detail{pod("web-0", refused(`pods "web-0" is forbidden: no`))}, "  create   Pod web-0  403  1ms  pods \"web-0\" is forbidden: no\n", "-v shows the message of the server"},
		{"no name yet", Normal, []trace.Detail{pod("", refused("no"), func(r *trace.Request) { r.GenerateName = "web-" })}, "  create   Pod web-…  403  1ms  no\n", "the server would have generated it"},
		{"hostile", Normal, []trace.Detail{request("update", "Pod", "x", 500, func(r *trace.Request) { r.Message = "a\n\x1b[2Jb" })}, "  update   Pod x  500  1ms  a⏎ ^[[2Jb\n", "answers come from outside"},
		{"dry", Normal, []trace.Detail{pod("web-0", dry)}, "  would    create Pod web-0  201  1ms\n", "nothing is written"},
		{"dry, refused", Normal, []trace.Detail{pod("web-0", dry, refused("no"))}, "  tried    create Pod web-0  403  1ms  no\n", "it would not be written, and must not look as if it were"},
		{"dry, after a refusal", Normal, []trace.Detail{pod("db-0", exists), request("update", "StatefulSet", "db", 200, status)},
			"  tried    create Pod db-0  409  1ms  db-0 already exists\n  would    update StatefulSet db/status  200  1ms   after a refused try\n",
			"a write after one that was refused may only be a consequence of that"},
		{"dry, before a refusal", Normal, []trace.Detail{request("update", "StatefulSet", "db", 200, status), pod("db-0", exists)},
			"  would    update StatefulSet db/status  200  1ms\n  tried    create Pod db-0  409  1ms  db-0 already exists\n", "only what follows"},
		{"not sent", Normal, []trace.Detail{pod("web-0", unsent), pod("web-1", unsent)}, "  would    create Pod web-0, -1  not sent\n", "no server has answered, whatever the code and the latency are"},
		{"not sent, refused", Normal, []trace.Detail{pod("web-0", unsent, refused("no"))}, "  would    create Pod web-0  not sent  no\n", "no server has refused it, either"},
		{"repetition of an Event", Normal, []trace.Detail{request("patch", "Event", "web.1", 404, dry, func(r *trace.Request) { r.Recorded = &trace.RecordedEvent{} })}, "", "as with all Events"},
		{"read", Normal, []trace.Detail{request("get", "Pod", "x", 200)}, "", "reads are left out"},
		{"read, verbose", Verbose, []trace.Detail{request("get", "Pod", "x", 200)}, "  get      Pod x  200  1ms\n", "from -v on"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(squeezed(tt.want), squeezed(within(t, tt.detail, tt.in...))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestLogs(t *testing.T) {
	for _, tt := range []struct {
		name   string
		detail Detail
		in     trace.Log
		want   string
		reason string
	}{
		{"plain", Normal, trace.Log{Message: "Too few"}, "  decided  Too few\n", "a decision"},
		{"values", Normal, trace.Log{Message: "Too few", Values: trace.Values{{Key: "need", Value: "3"}, {Key: "have", Value: "1"}}}, "  decided  Too few: need 3, have 1\n", "in the order in which they were logged"},
		{"empty value", Normal, trace.Log{Message: "m", Values: trace.Values{{Key: "newReason"}}}, "  decided  m: newReason \"\"\n", "a line that ends in nothing looks cut off"},
		{"error", Normal, trace.Log{Message: "Cannot", Error: "no\nway"}, "  error    Cannot: no⏎ way\n", "the error behind all"},
		{"long value", Normal, trace.Log{Message: "m", Values: trace.Values{{Key: "k", Value: strings.Repeat("v", 200)}}}, "  decided  m: k " + strings.Repeat("v", 95) + "…\n", "a whole object is too long to read there"},
		{"level 2", Normal, trace.Log{Level: 2, Message: "m"}, "  decided  m\n", "controllers log their decisions at 2"},
		{"level 3", Normal, trace.Log{Level: 3, Message: "m"}, "", "more is shown from -v on"},
		{"level 3, verbose", Verbose, trace.Log{Level: 3, Message: "m"}, "  logged   m\n", "and is no decision"},
		{"throttled", Normal, trace.Log{Level: 2, Message: "Waited before sending request"}, "", "that client-go had to wait is no decision of the controller"},
		{"throttled, verbose", Verbose, trace.Log{Level: 2, Message: "Waited before sending request"}, "  logged   Waited before sending request\n", "nor is it one here"},
		{"level 5, verbose", Verbose, trace.Log{Level: 5, Message: "m"}, "", "-v stops at 4"},
		{"level 10, everything", Everything, trace.Log{Level: 10, Message: "m"}, "  logged   m\n", "-vv does not"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, within(t, tt.detail, &tt.in)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestEnds(t *testing.T) {
	write := func(code int, dry, unsent bool) trace.Detail {
		return &trace.Request{Verb: "update", Code: code, DryRun: dry, NotSent: unsent}
	}
	for _, tt := range []struct {
		name   string
		detail Detail
		events []trace.Detail
		end    trace.End
		want   string
		reason string
	}{
		{"done", Normal, nil, trace.End{Outcome: trace.Done, Writes: 1, Duration: trace.Duration(time.Millisecond)}, "  done     1 write, 1ms\n", "one write is not plural"},
		{"refused", Normal, []trace.Detail{write(200, false, false), write(409, false, false)}, trace.End{Outcome: trace.Done, Writes: 1, Refused: 1}, "  done     1 write, 1 refused, 0s\n", "what was refused was not written"},
		{"dry", Normal, []trace.Detail{write(200, true, false), write(200, true, false)}, trace.End{Outcome: trace.Done, Writes: 2}, "  done     2 dry writes, 0s\n", "a dry run writes nothing"},
		{"dry, refused", Normal, []trace.Detail{write(200, true, false), write(0, true, false)}, trace.End{Outcome: trace.Done, Writes: 1, Refused: 1}, "  done     1 dry write, 1 refused, 0s\n", "a request without an answer was not accepted"},
		{"not sent", Normal, []trace.Detail{write(200, true, true), write(200, true, true)}, trace.End{Outcome: trace.Done, Writes: 2}, "  done     2 writes not sent, 0s\n", "nor tries, if none is sent"},
		{"read", Verbose, []trace.Detail{&trace.Request{Verb: "get", Code: 404, DryRun: true}}, trace.End{Outcome: trace.Done}, "  done     no writes, 0s\n", "reads are not counted"},
		{"again", Normal, nil, trace.End{Outcome: trace.Done, Writes: 1, Next: &trace.Next{After: trace.Duration(time.Minute)}}, "  done     1 write, 0s; again in 1m\n", "a timer"},
		{"failed", Normal, nil, trace.End{Outcome: trace.Failed, Error: "boom", Next: &trace.Next{Retry: 3, After: trace.Duration(time.Second)}}, "  failed   no writes, 0s; retry 3 in 1s: boom\n", "when it is tried again, and why"},
		{"gave up", Normal, nil, trace.End{Outcome: trace.GaveUp, Error: "boom"}, "  gave up  no writes, 0s: boom\n", "it is not tried again"},
		{"panicked", Normal, nil, trace.End{Outcome: trace.Panicked, Error: "nil map"}, "  failed   panicked; no writes, 0s: nil map\n", "a panic is not like any other failure"},
		{"dropped", Normal, []trace.Detail{&trace.Dropped{Retries: 15, Error: "boom"}}, trace.End{Outcome: trace.GaveUp}, "  gave up  after 15 retries: boom\n  gave up  no writes, 0s\n", "after how many tries"},
		{"put off", Normal, nil, trace.End{Outcome: trace.Failed, Writes: 1, Error: "sync failed with: " + stale, PutOff: "pods", Next: &trace.Next{Retry: 1, After: trace.Duration(time.Second)}}, "  put off  1 write, 0s; retry 1 in 1s: its cache of pods does not show yet what it wrote\n", "nothing has failed"},
		{"put off, verbose", Verbose, nil, trace.End{Outcome: trace.Failed, Error: stale, PutOff: "pods"}, "  failed   no writes, 0s: " + stale + "\n", "-v shows the error of the controller"},
		{"given up", Normal, nil, trace.End{Outcome: trace.GaveUp, Error: stale}, "  gave up  no writes, 0s: " + stale + "\n", "its cache never showed the write"},
		{"logged too", Normal, []trace.Detail{&trace.Log{Message: "syncing", Error: "boom"}}, trace.End{Outcome: trace.Failed, Error: "boom"}, "  failed   no writes, 0s: boom\n", "the same error is shown once"},
		{"logged as a value", Normal, []trace.Detail{&trace.Log{Message: "syncing", Values: trace.Values{{Key: "err", Value: "boom"}}}}, trace.End{Outcome: trace.Failed, Error: "boom"}, "  failed   no writes, 0s: boom\n", "however it was logged"},
		{"logged another", Normal, []trace.Detail{&trace.Log{Message: "syncing", Error: "bang"}}, trace.End{Outcome: trace.Failed, Error: "boom"}, "  error    syncing: bang\n  failed   no writes, 0s: boom\n", "another error is another line"},
		{"logged too, verbose", Verbose, []trace.Detail{&trace.Log{Message: "syncing", Error: "boom"}}, trace.End{Outcome: trace.Failed, Error: "boom"}, "  error    syncing: boom\n  failed   no writes, 0s: boom\n", "-v leaves nothing out"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			events := []*trace.Event{of1(&trace.Start{})}
			for _, d := range tt.events {
				events = append(events, of1(d))
			}
			got := shown(t, BlocksOptions{Detail: tt.detail}, append(events, of1(&tt.end))...)
			_, got, _ = strings.Cut(got, "its cause was not seen\n")
			got = writeLines.ReplaceAllString(got, "")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

// writeLines are those of the writes of TestEnds.
var writeLines = regexp.MustCompile(`(?m)^  (get|update|would|tried) .*\n`)

// stale is the error of a controller whose cache does not show its own write yet.
const stale = "read version: 275 is not as new as written version: 279 for group resource pods"
