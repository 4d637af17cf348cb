package serving

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"k8s.io/klog/v2"
)

const (
	// headerTimeout and idleTimeout mirror SecureServingInfo.Serve of k8s.io/apiserver/pkg/server/secure_serving.go.
	headerTimeout = 32 * time.Second
	idleTimeout   = 90 * time.Second
	// closeGrace is how long Close lets requests finish. An idle HTTP/2 connection would use up a second of it.
	closeGrace = 250 * time.Millisecond
)

// Server serves HTTPS on a socket, with a certificate made for it. Its fields do not change; Serve and Close are called
// once each, Close last.
type Server struct {
	// URL is where clients on this machine reach the server, and Address the same as host:port.
	URL, Address string
	// CA is the certificate in PEM, which clients must trust.
	CA []byte

	listener net.Listener
	server   *http.Server
	done     chan struct{}
	err      error // of serving; valid once done is closed
}

// Options configure Listen.
type Options struct {
	// Address is a host:port; port 0 picks a free one.
	Address string
	// Name is the common name of the certificate.
	Name string
	// ClientCA are certificates of authorities in PEM: clients are requested to send a certificate of one of them, and
	// need not. The handler must verify what they send. Nil requests none.
	ClientCA []byte
	// TLS are the settings of the socket, with a certificate, which CA has in PEM; nil makes a self-signed one.
	TLS *tls.Config
	CA  []byte
}

// Listen opens the socket, so that a port in use is reported before anything else starts. The caller must call Close.
func Listen(ctx context.Context, o Options) (*Server, error) {
	host, _, err := net.SplitHostPort(o.Address)
	if err != nil {
		return nil, fmt.Errorf("reading the listen address %q: %w", o.Address, err)
	}
	settings, ca := o.TLS.Clone(), o.CA
	if settings == nil {
		if settings, ca, err = selfSignedSettings(o.Name, host); err != nil {
			return nil, err
		}
	}
	if err := requestClientCerts(settings, o.ClientCA); err != nil {
		return nil, err
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("listening on %q: %w", o.Address, err)
	}
	at := connectAddress(l.Addr())
	s := &Server{
		URL: "https://" + at, Address: at, CA: ca, listener: l, done: make(chan struct{}),
		server: &http.Server{TLSConfig: settings, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout},
	}
	return s, nil
}

// selfSignedSettings returns the settings of a socket with a certificate that is made for it, and that in PEM.
func selfSignedSettings(name, host string) (*tls.Config, []byte, error) {
	certificate, ca, err := SelfSigned(name, host)
	return &tls.Config{
		Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
	}, ca, err
}

// requestClientCerts makes a server request certificates of the authorities in PEM, if there are any. As in a
// kube-apiserver, a client without one, or with one of another authority, is not rejected here, for it may have a
// token.
func requestClientCerts(settings *tls.Config, authorities []byte) error {
	if authorities == nil {
		return nil
	}
	settings.ClientAuth = tls.RequestClientCert
	settings.ClientCAs = x509.NewCertPool() // their names are sent to clients
	if !settings.ClientCAs.AppendCertsFromPEM(authorities) {
		return errors.New("reading the authorities of client certificates: there is no certificate")
	}
	return nil
}

// Serve serves h in a goroutine until Close. The contexts of requests end with ctx, which ends open watches.
func (s *Server) Serve(ctx context.Context, h http.Handler) {
	s.server.Handler = h
	s.server.BaseContext = func(net.Listener) context.Context { return ctx }
	s.server.ErrorLog = log.New(logWriter{klog.FromContext(ctx).V(4)}, "", 0)
	go func() {
		defer close(s.done)
		if err := s.server.ServeTLS(s.listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			s.err = fmt.Errorf("serving on %q: %w", s.URL, err)
		}
	}()
}

// Close stops listening, waits up to closeGrace for running requests, and closes their connections then. It returns the
// error with which serving ended before, if it did. The end of ctx does not matter.
func (s *Server) Close(ctx context.Context) error {
	if s.server.Handler == nil {
		return s.listener.Close()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close() // its errors are those of the connections
	}
	<-s.done
	return s.err
}

// logWriter passes net/http's complaints about clients, such as failed handshakes, to the context's logger.
type logWriter struct{ klog.Logger }

// Write logs p as one message.
func (w logWriter) Write(p []byte) (int, error) {
	w.Info("Serving a connection", "problem", string(p))
	return len(p), nil
}

// IsLoopback reports whether a listener on address, a host:port, can be reached from this machine only. An empty host
// means every interface. It fails for an address that is not a host:port.
func IsLoopback(address string) (bool, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("reading the listen address %q: %w", address, err)
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback(), nil
}

// connectAddress returns the address at which clients on this machine reach a listener, which may be bound to every
// interface.
func connectAddress(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return a.String()
	}
	if tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", fmt.Sprint(tcp.Port))
	}
	return tcp.String()
}
