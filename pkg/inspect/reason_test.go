package inspect

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestReasonIsShort: what somebody wrote at length is a few words in Reason, and all of it in Message.
func TestReasonIsShort(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("the quota is exceeded ", 20))
	const widget = `{apiVersion: example.com/v1, kind: Widget, spec: {}, status: {conditions: [{type: Ready, status: "False", reason: %s, message: %q}]}}`
	for _, tt := range []struct{ reason, word, message, want, all string }{
		{"a short one stays as it is", "Broken", "no", "Broken: no", "no"},
		{
			"a long one is cut between two words", "Broken", long,
			"Broken: the quota is exceeded the quota is exceeded the quota is exceeded the quota is exceeded the…", long,
		},
		{"one without blanks anywhere", "Broken", strings.Repeat("ä", 300), "Broken: " + strings.Repeat("ä", mostOfReason-9) + "…", strings.Repeat("ä", 300)},
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
			if n := utf8.RuneCountInString(s.Reason); n > mostOfReason {
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
