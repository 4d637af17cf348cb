package telemetry

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/serving"
)

const (
	// headerTimeout and idleTimeout are those of upstream's k8s.io/apiserver/pkg/server/secure_serving.go.
	headerTimeout = 32 * time.Second
	idleTimeout   = 90 * time.Second
	// closeGrace is how long Close lets requests finish.
	closeGrace = 250 * time.Millisecond
)

// Address completes the address of a listener: a port alone, "9090" or ":9090", is one of the own machine's. It also says
// whether others can reach it. The error is that of an address that is none.
func Address(given string) (address string, remote bool, err error) {
	address = given
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	if strings.HasPrefix(address, ":") {
		address = "127.0.0.1" + address
	}
	loopback, err := serving.IsLoopback(address)
	if err == nil {
		_, err = strconv.ParseUint(address[strings.LastIndex(address, ":")+1:], 10, 16)
	}
	if err != nil {
		return "", false, fmt.Errorf("%q is no address to serve on: %w", given, err)
	}
	return address, !loopback, nil
}

// NewToken returns a token that nobody can guess.
func NewToken() string { return rand.Text() }

// Server is a listener with TLS.
type Server struct {
	// URL is where it is reached on the own machine.
	URL string
	// CA is its certificate as PEM, which signs itself.
	CA []byte

	listener net.Listener
	server   *http.Server
	done     chan struct{}
	err      error // why serving has ended; read after done
}

// Listen opens the socket at address, a host:port, so that one in use is reported before anything else begins. Close must
// be called.
func Listen(ctx context.Context, address string) (*Server, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("reading the listen address %q: %w", address, err)
	}
	certificate, ca, err := serving.SelfSigned("kubectl-reconcile", host)
	if err != nil {
		return nil, err
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening on %q: %w", address, err)
	}
	return &Server{
		URL: "https://" + serving.Reachable(l.Addr()), CA: ca, listener: l, done: make(chan struct{}),
		server: &http.Server{
			TLSConfig: &tls.Config{
				Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
			},
			ReadHeaderTimeout: headerTimeout,
			IdleTimeout:       idleTimeout,
		},
	}, nil
}

// Serve answers by h until Close, and does not wait. The contexts of requests end with ctx. It is called once.
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
// ended with before, if it has.
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
