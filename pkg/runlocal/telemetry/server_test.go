package telemetry

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

func TestAddress(t *testing.T) {
	for _, tt := range []struct {
		given, want string
		remote      bool
		broken      bool
		reason      string
	}{
		{"9090", "127.0.0.1:9090", false, false, "a port alone is the own machine's"},
		{":9090", "127.0.0.1:9090", false, false, "with a colon too"},
		{"0", "127.0.0.1:0", false, false, "any port that is free"},
		{"localhost:9090", "localhost:9090", false, false, "by name"},
		{"[::1]:9090", "[::1]:9090", false, false, "IPv6"},
		{"0.0.0.0:9090", "0.0.0.0:9090", true, false, "every interface"},
		{"10.0.0.7:9090", "10.0.0.7:9090", true, false, "one that others reach"},
		{"example.com:443", "example.com:443", true, false, "a name may be anybody's"},
		{"", "", false, true, "nothing"},
		{"ninety", "", false, true, "no port"},
		{"localhost:99999", "", false, true, "no such port"},
		{"::1", "", false, true, "IPv6 without brackets"},
		{"http://localhost:80", "", false, true, "a URL"},
	} {
		got, remote, err := Address(tt.given)
		if got != tt.want || remote != tt.remote || (err != nil) != tt.broken {
			t.Errorf("Address(%q) = %q, %v, %v: %s", tt.given, got, remote, err, tt.reason)
		}
		if err != nil && !strings.Contains(err.Error(), `"`+tt.given+`"`) {
			t.Errorf("the error does not name %q: %v", tt.given, err)
		}
	}
}

func TestServer(t *testing.T) {
	s, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), strings.TrimPrefix(s.URL, "https://")); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a port in use: %v", err)
	}
	held := make(chan struct{})
	s.Serve(t.Context(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/held" {
			close(held)
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, "here")
	}))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.CA)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	resp, err := client.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "here" || resp.ProtoMajor != 2 {
		t.Errorf("read %q by %s, %v", body, resp.Proto, err)
	}
	ended := make(chan error, 1)
	go func() {
		resp, err := client.Get(s.URL + "/held")
		if err == nil {
			err = resp.Body.Close()
		}
		ended <- err
	}()
	<-held
	if err := s.Close(t.Context()); err != nil {
		t.Errorf("closing: %v", err)
	}
	if err := <-ended; err == nil {
		t.Error("a request that does not end was not cut off")
	}
	if _, err := client.Get(s.URL); err == nil {
		t.Error("it still serves")
	}
}

func TestServerThatNeverServed(t *testing.T) {
	s, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
