package session

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
)

func TestReadToken(t *testing.T) {
	dir := t.TempDir()
	made := filepath.Join(dir, "made")
	token, err := readToken(made)
	if err != nil || len(token) < minTokenLength {
		t.Fatalf("made %q, %v", token, err)
	}
	if info, err := os.Stat(made); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
	if again, err := readToken(made); err != nil || again != token {
		t.Errorf("the second time it is %q, %v; want the same", again, err)
	}
	for _, tt := range []struct{ reason, data, want, wrong string }{
		{"as it is mounted in a pod", "0123456789abcdef", "0123456789abcdef", ""},
		{"lines end in many ways", " 0123456789abcdef \r\n", "0123456789abcdef", ""},
		{"an empty file", "", "", "no token"},
		{"one that can be guessed", "secret\n", "", "no token"},
		{"a file of another kind", "apiVersion: v1\nkind: Secret\n", "", "no token"},
	} {
		path := filepath.Join(dir, "given")
		if err := os.WriteFile(path, []byte(tt.data), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readToken(path)
		if got != tt.want || (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %q, %v", tt.reason, got, err)
		}
	}
	if _, err := readToken(filepath.Join(dir, "no", "dir")); err == nil {
		t.Error("a token where there is no directory")
	}
	if _, err := readToken(dir); err == nil {
		t.Error("a directory is a token")
	}
}

// TestClientFilesAreRemoved: at the end, and after an error.
func TestClientFilesAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	files, token, err := writeClientFiles("", []byte("certificate"))
	if err != nil {
		t.Fatal(err)
	}
	header, err := os.ReadFile(filepath.Join(files.dir, "header"))
	if err != nil || string(header) != "Authorization: Bearer "+token+"\n" {
		t.Errorf("the header is %q, %v", header, err)
	}
	if err := files.remove(); err != nil {
		t.Error(err)
	}
	if _, _, err := writeClientFiles(os.TempDir(), nil); err == nil {
		t.Error("a directory is a token")
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// TestChecksWhileASessionStarts: a start that leaves controllers out does not change what is read meanwhile.
func TestChecksWhileASessionStarts(t *testing.T) {
	server, target := newTelemetry("0", ""), &Sandbox{Options: runlocal.Options{Controllers: known(t, "deployment", "ttl")}}
	checked := func() []string {
		var names []string
		for _, c := range server.checks() {
			names = append(names, c.Name)
		}
		return names
	}
	server.setTarget(target)
	target.Options.Controllers = known(t, "ttl")
	if diff := cmp.Diff([]string{"session", "deployment", "ttl"}, checked()); diff != "" {
		t.Errorf("before it runs, those that were asked for (-want +got):\n%s", diff)
	}
	server.started(nil)
	if diff := cmp.Diff([]string{"session", "ttl"}, checked()); diff != "" {
		t.Errorf("then those that run (-want +got):\n%s", diff)
	}
}

// TestUnreadableText: readiness names the controllers that read a resource which cannot be read.
func TestUnreadableText(t *testing.T) {
	pods, widgets := schema.GroupResource{Resource: "pods"}, schema.GroupResource{Group: "example.com", Resource: "widgets"}
	all := []runlocal.Listing{
		{Resource: pods, Controllers: []string{"replicaset", "job"}, Err: apierrors.NewForbidden(pods, "", nil)},
		{Resource: widgets, Err: apierrors.NewForbidden(widgets, "", nil)},
	}
	for name, want := range map[string]string{
		"replicaset": "it cannot read pods (Forbidden)", "ttl": "", "garbagecollector": "it cannot read widgets.example.com (Forbidden)",
	} {
		if got := unreadableText(known(t, name)[0], all); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := unreadableText(known(t, "replicaset")[0], slices.Delete(all, 0, 1)); strings.Contains(got, "cannot") {
		t.Errorf("nothing is lost that it reads: %q", got)
	}
}
