package cli

import (
	"os/exec"
	"testing"
)

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
