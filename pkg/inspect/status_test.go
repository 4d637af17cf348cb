package inspect

import (
	"slices"
	"testing"
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

// TestForKind: the API knows whether there is a status to wait for.
func TestForKind(t *testing.T) {
	silent := StatusOf(fromYAML(t, `{apiVersion: example.com/v1, kind: Cache, spec: {size: 1}}`))
	tests := []struct {
		reason  string
		status  Status
		reports bool
		want    string
	}{
		{"its controller does not run", silent, true, Unknown},
		{"its kind has no status", silent, false, Current},
		{"something else is unknown", Status{Status: Unknown, Reason: "status is a list and no map"}, false, Unknown},
		{"a word that was found stays", Status{Status: Failed}, false, Failed},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got := tt.status.ForKind(tt.reports)
			if got.Status != tt.want {
				t.Errorf("status %s, want %s", got.Status, tt.want)
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
