package apihealth

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
)

// guarded takes one token.
type guarded struct{ token string }

func (g *guarded) RoundTrip(req *http.Request) (*http.Response, error) {
	status := http.StatusUnauthorized
	if req.Header.Get("Authorization") == "Bearer "+g.token {
		status = http.StatusOK
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: http.NoBody}, nil
}

// TestTokenFileIsReadAgain: the token of a pod's service account changes in its file, and a session that runs for
// longer than a token lives continues, with one notice of the gap.
func TestTokenFileIsReadAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		write("first")
		server := &guarded{"first"}
		var got notices
		config := &rest.Config{Host: "https://cluster", BearerTokenFile: file}
		config.Wrap(New(nil, got.add).Wrap)
		client, err := rest.HTTPWrappersForConfig(config, server)
		if err != nil {
			t.Fatal(err)
		}
		status := func() int {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://cluster/api", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			return resp.StatusCode
		}
		if s := status(); s != http.StatusOK {
			t.Fatalf("at first it is %d", s)
		}
		server.token = "second"
		write("second")
		began := time.Now()
		for status() != http.StatusOK {
			if time.Since(began) > 2*time.Minute {
				t.Fatal("the file is not read again")
			}
			<-time.After(time.Second)
		}
		if gap := time.Since(began); gap > time.Minute+time.Second {
			t.Errorf("it took %s until the file was read again", gap)
		}
		var kinds []Kind
		for _, n := range got.list {
			kinds = append(kinds, n.Kind)
		}
		if len(kinds) != 2 || kinds[0] != Unauthorized || kinds[1] != Authorized {
			t.Errorf("reported %v, want that the credentials were not taken, and then were", kinds)
		}
	})
}
