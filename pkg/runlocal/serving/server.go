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
	// headerTimeout and idleTimeout are those of upstream's k8s.io/apiserver/pkg/server/secure_serving.go.
	headerTimeout = 32 * time.Second
	idleTimeout   = 90 * time.Second
	// closeGrace is how long Close lets requests finish. An idle HTTP/2 connection would use up a second of it.
	closeGrace = 250 * time.Millisecond
)

// Server is a socket with TLS, and a certificate made for it.
type Server struct {
	// URL is where it is reached on the own machine, and Address that as host:port.
	URL, Address string
	// CA is the certificate as PEM, which signs itself.
	CA []byte

	listener net.Listener
	server   *http.Server
	done     chan struct{}
	err      error // why serving has ended; read after done
}

// Options say how to listen.
type Options struct {
	// Address is a host:port; port 0 is any that is free.
	Address string
	// Name is whom the certificate is for.
	Name string
	// ClientCA are certificates, in PEM, of authorities: clients are asked for a certificate of one of them, and need not have
	// one. What they send is for the handler to verify. Nil asks for none.
	ClientCA []byte
}

// Listen opens the socket, so that one in use is reported before anything else begins. Close must be called.
func Listen(ctx context.Context, o Options) (*Server, error) {
	host, _, err := net.SplitHostPort(o.Address)
	if err != nil {
		return nil, fmt.Errorf("reading the listen address %q: %w", o.Address, err)
	}
	certificate, ca, err := SelfSigned(o.Name, host)
	if err != nil {
		return nil, err
	}
	settings := &tls.Config{
		Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
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

// requestClientCerts makes a server ask for certificates of the authorities in PEM, if there are any. As in a kube-apiserver, a client with
// none, or one of another authority, is not turned away here, for it may show a token.
func requestClientCerts(settings *tls.Config, authorities []byte) error {
	if authorities == nil {
		return nil
	}
	settings.ClientAuth = tls.RequestClientCert
	settings.ClientCAs = x509.NewCertPool() // their names are sent
	if !settings.ClientCAs.AppendCertsFromPEM(authorities) {
		return errors.New("reading the authorities of client certificates: there is no certificate")
	}
	return nil
}

// Serve answers by h until Close, and does not wait. The contexts of requests end with ctx, which ends open watches. It is
// called once.
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

// Close stops listening, gives running requests a moment and then cuts them off. It returns the error that serving has
// ended with before, if it has. Only the values of ctx count.
func (s *Server) Close(ctx context.Context) error {
	if s.server.Handler == nil {
		return s.listener.Close()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close() // its error is that of a connection that is cut
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

// IsLoopback reports whether only the own machine can reach a listener on address, a host:port. No host means every
// interface. The error is that of an address that is none.
func IsLoopback(address string) (bool, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("reading the listen address %q: %w", address, err)
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback(), nil
}

// connectAddress is an address to connect to on the own machine for a listener that may be bound to every interface.
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
