package runlocal

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

func selected(t *testing.T, names ...string) []controllers.Controller {
	t.Helper()
	cs, err := controllers.Select(names)
	if err != nil {
		t.Fatal(err)
	}
	return cs
}

func TestSigningAuthority(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	a, err := newSigningAuthority()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(a.certFile, a.keyFile)
	if err != nil {
		t.Fatal(err)
	}
	if parsed, err := x509.ParseCertificate(pair.Certificate[0]); err != nil || !parsed.IsCA {
		t.Errorf("no authority: %v", err)
	}
	for _, tt := range []struct {
		path   string
		want   os.FileMode
		reason string
	}{
		{a.dir, 0o700, "nobody else may look into it"},
		{a.keyFile, 0o600, "nobody else may read the key"},
		{a.certFile, 0o600, "nor what belongs to it"},
	} {
		if info, err := os.Stat(tt.path); err != nil || info.Mode().Perm() != tt.want {
			t.Errorf("%s: %v, %v: %s", tt.path, info, err, tt.reason)
		}
	}
	for range 2 {
		if err := a.remove(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestAuthorityGoesWithTheSession: whatever becomes of the start, no key is left behind.
func TestAuthorityGoesWithTheSession(t *testing.T) {
	for _, tt := range []struct {
		reason string
		api    api.Options
		fails  bool
	}{
		{"a session that starts", api.Options{Listen: "127.0.0.1:0"}, false},
		{"one that does not", api.Options{Listen: "nowhere"}, true},
	} {
		dir := t.TempDir()
		t.Setenv("TMPDIR", dir)
		s, err := Start(t.Context(), Options{API: tt.api, Controllers: selected(t, "csrsigning")})
		if (err != nil) != tt.fails {
			t.Fatalf("%s: %v", tt.reason, err)
		}
		if !tt.fails {
			if there, err := os.ReadDir(dir); err != nil || len(there) != 1 {
				t.Errorf("%s: want one folder, got %v, %v", tt.reason, there, err)
			}
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left behind: %v, %v", tt.reason, left, err)
		}
	}
}

func TestNoAuthorityWithoutItsController(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	start(t, Options{}, "deployment")
	if there, err := os.ReadDir(dir); err != nil || len(there) > 0 {
		t.Errorf("a key that nobody needs: %v, %v", there, err)
	}
}
