package cli

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestFirstError: a line is not a page, however many errors there are, and however long they are.
func TestFirstError(t *testing.T) {
	long := errors.New("reading pods: " + strings.Repeat("x ", 1000) + ": connection refused")
	for _, tt := range []struct {
		in          error
		begins, end string
	}{
		{errors.New("no"), "no", "no"},
		{errors.Join(errors.New("a"), errors.New("b")), "a", "a (and one more error)"},
		{errors.Join(long, errors.New("a"), errors.New("b")), "reading pods: ", "connection refused (and 2 more errors)"},
	} {
		got := FirstError(tt.in)
		if !strings.HasPrefix(got, tt.begins) || !strings.HasSuffix(got, tt.end) || utf8.RuneCountInString(got) > maxFirst+len(tt.end) {
			t.Errorf("FirstError is %q, want %q … %q", got, tt.begins, tt.end)
		}
	}
}

func TestShellQuoted(t *testing.T) {
	for _, tt := range []struct{ in, want, reason string }{
		{"/tmp/kubectl-reconcile-123/kubeconfig", "/tmp/kubectl-reconcile-123/kubeconfig", "what needs no quotes has none"},
		{"/my files/kubeconfig", "'/my files/kubeconfig'", "a blank would end the word"},
		{"/it's", `'/it'\''s'`, "a quote would end the quotes"},
		{"/$HOME", "'/$HOME'", "nothing is expanded"},
		{"/a;b", "'/a;b'", "nothing is run"},
		{"/größe", "'/größe'", "quotes do not harm"},
		{"~x", "'~x'", "a shell would expand it to a home directory"},
	} {
		got := ShellQuoted(tt.in)
		if got != tt.want {
			t.Errorf("ShellQuoted(%q) = %s, want %s: %s", tt.in, got, tt.want, tt.reason)
		}
		if shell, err := exec.LookPath("sh"); err == nil {
			out, err := exec.CommandContext(t.Context(), shell, "-c", "printf %s "+got).Output()
			if err != nil || string(out) != tt.in {
				t.Errorf("a shell reads %s as %q (%v)", got, out, err)
			}
		}
	}
}
