package version

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestPrintVersion(t *testing.T) {
	info := Info{APIVersion: "a/v1", Kind: "Version", Version: "v0.1.0", Kubernetes: "v1.37.1", Go: "go1.26", Platform: "linux/amd64"}
	for _, tt := range []struct{ output, want, reason string }{
		{"", "kubectl-reconcile v0.1.0\nKubernetes v1.37.1, go1.26, linux/amd64\n", "for people"},
		{"json", `{
  "apiVersion": "a/v1",
  "kind": "Version",
  "version": "v0.1.0",
  "kubernetesVersion": "v1.37.1",
  "goVersion": "go1.26",
  "platform": "linux/amd64"
}
`, "for programs; an unknown commit is left out"},
		{"yaml", "apiVersion: a/v1\ngoVersion: go1.26\nkind: Version\nkubernetesVersion: v1.37.1\nplatform: linux/amd64\nversion: v0.1.0\n", "as YAML"},
		{"xml", "", "an unknown format"},
	} {
		streams, _, out, _ := genericiooptions.NewTestIOStreams()
		err := printVersion(streams, info, tt.output)
		if diff := cmp.Diff(tt.want, out.String()); diff != "" || (err != nil) != (tt.want == "") {
			t.Errorf("-o %q: %v: %s (-want +got):\n%s", tt.output, err, tt.reason, diff)
		}
	}
}

// brokenWriter is a writer that always fails.
type brokenWriter struct{}

var errBroken = errors.New("broken pipe")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestPrintVersionFails(t *testing.T) {
	if err := printVersion(genericiooptions.IOStreams{Out: brokenWriter{}}, NewInfo(), "json"); !errors.Is(err, errBroken) {
		t.Errorf("a failed write is not reported: %v", err)
	}
}

func TestNewVersionInfo(t *testing.T) {
	info := NewInfo()
	if info.Version == "" || !strings.HasPrefix(info.Kubernetes, "v1.") || !strings.HasPrefix(info.Go, "go1.") || !strings.Contains(info.Platform, "/") {
		t.Errorf("something is missing: %+v", info)
	}
}
