package inspect

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestCurrent: what waits for objects, and what sorts them, goes by these.
func TestCurrent(t *testing.T) {
	for _, tt := range []struct {
		word     string
		current  bool
		severity int
	}{
		{Current, true, 0}, {Suspended, true, 1}, {InProgress, false, 2}, {Terminating, false, 3},
		{Unknown, false, 4}, {"NotFound", false, 4}, {Degraded, false, 5}, {Failed, false, 6},
	} {
		s := Status{Status: tt.word}
		if s.Current() != tt.current || s.NotReady() == tt.current || s.Severity() != tt.severity {
			t.Errorf("%s: Current %t, NotReady %t, Severity %d", tt.word, s.Current(), s.NotReady(), s.Severity())
		}
	}
}

// TestNoStatus: the API knows whether there is a status to wait for.
func TestNoStatus(t *testing.T) {
	const silent = `{apiVersion: example.com/v1, kind: Cache, spec: {size: 1}}`
	tests := []struct {
		reason   string
		object   string
		noStatus bool
		want     string
	}{
		{"its controller does not run", silent, false, Unknown},
		{"its kind has no status", silent, true, Current},
		{"something else is unknown", `{apiVersion: example.com/v1, kind: Cache, status: []}`, true, Unknown},
		{"a word that was found stays", `{apiVersion: example.com/v1, kind: Cache, status: {phase: Failed}}`, true, Failed},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got := Inspect(fromYAML(t, tt.object), &Options{NoStatus: tt.noStatus})
			if got.Status.Status != tt.want {
				t.Errorf("status %s, want %s", got.Status.Status, tt.want)
			}
			if got.Current() && got.Reason != "" {
				t.Errorf("it is current and keeps the reason %q", got.Reason)
			}
		})
	}
}

// TestMessageIsNotAgainstTheWord: kstatus's "Service is ready" does not stand beside a Service that is not.
func TestMessageIsNotAgainstTheWord(t *testing.T) {
	for _, row := range misleading {
		obj := fromYAML(t, row.object)
		got := StatusOf(obj)
		calm := []string{"Service is ready", "Resource is current", "Resource is Ready", "Resource is always ready", "Pod is Ready"}
		if got.NotReady() && slices.Contains(calm, got.Message) {
			t.Errorf("%s: %s with the message %q", row.reason, got.Status, got.Message)
		}
	}
}

// TestReasonIsShort: a long text is cut in Reason, and complete in Message.
func TestReasonIsShort(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("the quota is exceeded ", 20))
	const widget = `{apiVersion: example.com/v1, kind: Widget, spec: {}, status: {conditions: [{type: Ready, status: "False", reason: %s, message: %q}]}}`
	for _, tt := range []struct{ reason, word, message, want, all string }{
		{"a short one stays as it is", "Broken", "no", "Broken: no", "no"},
		{
			"a long one is cut between two words", "Broken", long,
			"Broken: the quota is exceeded the quota is exceeded the quota is exceeded the quota is exceeded the…", long,
		},
		{"one without blanks anywhere", "Broken", strings.Repeat("ä", 300), "Broken: " + strings.Repeat("ä", maxReasonLength-9) + "…", strings.Repeat("ä", 300)},
		{"a message that begins with its reason says it once", "Broken", "Broken: no", "Broken: no", "Broken: no"},
		{"and one that is its reason", "Broken", "Broken", "Broken", "Broken"},
		{"a refusal says why", "FailedCreate", `pods "a-0" is forbidden: no`, "FailedCreate: no", `pods "a-0" is forbidden: no`},
		{"another that only begins alike", "Broken", "Broken pipe", "Broken: Broken pipe", "Broken pipe"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			s := StatusOf(fromYAML(t, fmt.Sprintf(widget, tt.word, tt.message)))
			if diff := cmp.Diff([]string{tt.want, tt.all}, []string{s.Reason, s.Message}); diff != "" {
				t.Errorf("reason and message (-want +got):\n%s", diff)
			}
			if n := utf8.RuneCountInString(s.Reason); n > maxReasonLength {
				t.Errorf("%d characters", n)
			}
		})
	}
}

// TestReasonLosesNothing: where nothing else says in full what was cut, the message does.
func TestReasonLosesNothing(t *testing.T) {
	var finalizers []string
	for i := range 20 {
		finalizers = append(finalizers, fmt.Sprintf("example.com/finalizer-%d", i))
	}
	obj := fromYAML(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {deletionTimestamp: "2026-01-02T03:04:05Z"}}`)
	obj.SetFinalizers(finalizers)
	s := StatusOf(obj)
	if !strings.HasSuffix(s.Reason, ",…") || !strings.Contains(s.Message, strings.Join(finalizers, ", ")) {
		t.Errorf("reason %q, message %q", s.Reason, s.Message)
	}
}

// TestNamespaceWaits: an API that does not answer is named in the first words.
func TestNamespaceWaits(t *testing.T) {
	const namespace = `{apiVersion: v1, kind: Namespace, metadata: {deletionTimestamp: "2026-01-02T03:04:05Z"}, spec: {finalizers: [kubernetes]},
	  status: {phase: Terminating, conditions: [{type: NamespaceDeletionDiscoveryFailure, status: "True", reason: DiscoveryFailed, message: %q}]}}`
	const head = "Discovery failed for some groups, %d failing: unable to retrieve the complete list of server APIs: "
	for _, tt := range []struct{ reason, message, want string }{
		{
			"one that is stale", fmt.Sprintf(head, 1) + "metrics.k8s.io/v1beta1: stale GroupVersion discovery: metrics.k8s.io/v1beta1",
			"discovery failed: metrics.k8s.io/v1beta1: stale GroupVersion discovery",
		},
		{
			"two, one of which says something else", fmt.Sprintf(head, 2) + "a/v1: no answer, twice, b/v1: stale GroupVersion discovery: b/v1",
			"discovery failed: a/v1: no answer, twice, b/v1: stale GroupVersion discovery",
		},
		{"another error", "connection refused", "connection refused"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			if got := StatusOf(fromYAML(t, fmt.Sprintf(namespace, tt.message))); got.Reason != tt.want || got.Status != Terminating {
				t.Errorf("%s %q, want %q", got.Status, got.Reason, tt.want)
			}
		})
	}
}

// TestCutText: what is cut is what comes before the cause.
func TestCutText(t *testing.T) {
	const invalid = `Deployment.apps "web" is invalid: metadata.labels: Invalid value: "x_": a valid label must end with a letter`
	for _, test := range []struct {
		text   string
		most   int
		want   string
		reason string
	}{
		{"short: all of it", 20, "short: all of it", "nothing is cut"},
		{"0 of 3 updated pods available", 20, "0 of 3 updated pods…", "without a cause, the end"},
		{invalid, 60, `Deployment.apps "web"…a valid label must end with a letter`, "the cause fits"},
		{invalid, 40, `Deployment.apps…a valid label must end…`, "the cause is cut too, and keeps a half"},
		{`conversion webhook for example.com/v1, Kind=Foo failed: Post "https://x.svc:443/": service "x" not found`, 50,
			`conversion webhook for…service "x" not found`, "an address has colons too"},
		{"ImagePullBackOff: a very long text that goes on and on", 36, "ImagePullBackOff: a very long text…", "what is before it is short"},
		{"Unschedulable so far: 0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes: no victims", 64,
			"Unschedulable so far: 0/3 nodes are…3 Insufficient cpu.…", "the cause is in the first sentence"},
	} {
		if got := CutText(test.text, test.most, cutTo); got != test.want || utf8.RuneCountInString(got) > test.most {
			t.Errorf("%s: %q, want %q", test.reason, got, test.want)
		}
	}
}
