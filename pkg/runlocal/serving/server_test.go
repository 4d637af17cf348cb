package serving

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestServer(t *testing.T) {
	s, err := Listen(t.Context(), Options{Address: "127.0.0.1:0", Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), Options{Address: s.Address, Name: "test"}); !errors.Is(err, syscall.EADDRINUSE) {
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
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true}
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
	s, err := Listen(t.Context(), Options{Address: "127.0.0.1:0", Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestServerNamesClientAuthorities: a client that holds several certificates chooses by the authorities that the server
// names.
func TestServerNamesClientAuthorities(t *testing.T) {
	one, ca, err := SelfSigned("authority", "localhost")
	if err != nil {
		t.Fatal(err)
	}
	authority, err := x509.ParseCertificate(one.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		clientCA  []byte
		requested bool
		named     [][]byte
		reason    string
	}{
		{ca, true, [][]byte{authority.RawSubject}, "the authority whose certificates are accepted"},
		{nil, false, nil, "clients without certificates get no request for one"},
	} {
		s, err := Listen(t.Context(), Options{Address: "127.0.0.1:0", Name: "test", ClientCA: tt.clientCA})
		if err != nil {
			t.Fatal(err)
		}
		s.Serve(t.Context(), http.NotFoundHandler())
		var requested *tls.CertificateRequestInfo
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(s.CA)
		conn, err := tls.Dial("tcp", s.Address, &tls.Config{
			RootCAs: roots, MinVersion: tls.VersionTLS12,
			GetClientCertificate: func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
				requested = info
				return &tls.Certificate{}, nil
			},
		})
		if err != nil {
			t.Fatalf("a client without a certificate: %v: %s", err, tt.reason)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if (requested != nil) != tt.requested {
			t.Fatalf("requested a certificate: %v, want %v: %s", requested != nil, tt.requested, tt.reason)
		}
		if requested == nil {
			continue
		}
		if diff := cmp.Diff(tt.named, requested.AcceptableCAs); diff != "" {
			t.Errorf("authorities named (-want +got):\n%s\n%s", diff, tt.reason)
		}
	}
}

func TestListenRefusesAnAuthorityThatIsNone(t *testing.T) {
	s, err := Listen(t.Context(), Options{Address: "127.0.0.1:0", Name: "test", ClientCA: []byte("none")})
	if err == nil {
		t.Error("it listens", s.Close(t.Context()))
	}
}
