package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
)

func TestServeFlags(t *testing.T) {
	for _, tt := range []struct {
		reason string
		flags  serveFlags
		want   string // the error; empty for none
	}{
		{"nothing is served", serveFlags{}, ""},
		{"a port of the own machine", serveFlags{address: "9090"}, ""},
		{"with a token of one's own", serveFlags{address: ":9090", tokenFile: "token"}, ""},
		{"others may look who have the token", serveFlags{address: "0.0.0.0:9090", tokenFile: "token"}, ""},
		{"others may not look without", serveFlags{address: "10.0.0.1:9090"}, "needs --serve-token-file"},
		{"a token for nothing", serveFlags{tokenFile: "token"}, "--serve-token-file needs --serve"},
		{"no address", serveFlags{address: "here"}, `"here" is no address to serve on`},
	} {
		err := tt.flags.validate()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.reason, err, tt.want)
		}
		if hint := (*cli.HintError)(nil); err != nil && !errors.As(err, &hint) {
			t.Errorf("%s: no hint", tt.reason)
		}
		if (tt.flags.Serving() == nil) != (tt.flags.address == "") {
			t.Errorf("%s: serving is %v", tt.reason, tt.flags.Serving())
		}
	}
}

func TestTokenIn(t *testing.T) {
	dir := t.TempDir()
	made := filepath.Join(dir, "made")
	token, err := tokenIn(made)
	if err != nil || len(token) < shortestToken {
		t.Fatalf("made %q, %v", token, err)
	}
	if info, err := os.Stat(made); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
	if again, err := tokenIn(made); err != nil || again != token {
		t.Errorf("the second time it is %q, %v; want the same", again, err)
	}
	for _, tt := range []struct{ reason, data, want, wrong string }{
		{"as it is mounted in a pod", "0123456789abcdef", "0123456789abcdef", ""},
		{"lines end in many ways", " 0123456789abcdef \r\n", "0123456789abcdef", ""},
		{"an empty file", "", "", "no token"},
		{"one that can be guessed", "secret\n", "", "no token"},
		{"another sort of file", "apiVersion: v1\nkind: Secret\n", "", "no token"},
	} {
		path := filepath.Join(dir, "given")
		if err := os.WriteFile(path, []byte(tt.data), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := tokenIn(path)
		if got != tt.want || (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %q, %v", tt.reason, got, err)
		}
	}
	if _, err := tokenIn(filepath.Join(dir, "no", "dir")); err == nil {
		t.Error("a token where there is no directory")
	}
	if _, err := tokenIn(dir); err == nil {
		t.Error("a directory is a token")
	}
}

// TestAccessFilesGo: at the end, and when something is wrong.
func TestAccessFilesGo(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	files, token, err := writeAccess("", []byte("certificate"))
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
	if _, _, err := writeAccess(os.TempDir(), nil); err == nil {
		t.Error("a directory is a token")
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

func TestRates(t *testing.T) {
	for _, tt := range []struct {
		reason string
		flags  rateFlags
		want   runlocal.ClusterOptions
		wrong  string
	}{
		{"nothing is said", rateFlags{}, runlocal.ClusterOptions{}, ""},
		{"kube-controller-manager's own are in that proportion", rateFlags{qps: 20}, runlocal.ClusterOptions{QPS: 20, Burst: 30}, ""},
		{"less than one at a time is none", rateFlags{qps: 0.1}, runlocal.ClusterOptions{QPS: 0.1, Burst: 1}, ""},
		{"both", rateFlags{qps: 5, burst: 50}, runlocal.ClusterOptions{QPS: 5, Burst: 50}, ""},
		{"no bound", rateFlags{qps: -1}, runlocal.ClusterOptions{QPS: -1}, ""},
		{"informers hand out all again", rateFlags{resync: time.Minute}, runlocal.ClusterOptions{Resync: time.Minute}, ""},
		{"a burst of nothing", rateFlags{burst: 5}, runlocal.ClusterOptions{}, "--burst 5 needs --qps"},
		{"a burst without bound", rateFlags{qps: -1, burst: 5}, runlocal.ClusterOptions{}, "needs --qps"},
		{"less than none", rateFlags{burst: -1}, runlocal.ClusterOptions{}, "negative"},
		{"before it has begun", rateFlags{resync: -time.Second}, runlocal.ClusterOptions{}, "negative"},
		{"all the time", rateFlags{resync: time.Millisecond}, runlocal.ClusterOptions{}, "less than a second"},
	} {
		err := tt.flags.validate()
		if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %v, want %q", tt.reason, err, tt.wrong)
		}
		if err != nil {
			continue
		}
		var got runlocal.ClusterOptions
		var sandbox runlocal.Options
		tt.flags.onCluster(&got)
		tt.flags.inSandbox(&sandbox)
		type rates struct {
			qps    float32
			burst  int
			resync time.Duration
		}
		want := rates{tt.want.QPS, tt.want.Burst, tt.want.Resync}
		for place, got := range map[string]rates{
			"cluster": {got.QPS, got.Burst, got.Resync}, "sandbox": {sandbox.QPS, sandbox.Burst, sandbox.Resync},
		} {
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(rates{})); diff != "" {
				t.Errorf("%s: on a %s (-want +got):\n%s", tt.reason, place, diff)
			}
		}
	}
}
