package api

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/serving"
)

const (
	// headerTimeout and idleTimeout are those of upstream's k8s.io/apiserver/pkg/server/secure_serving.go.
	headerTimeout = 32 * time.Second
	idleTimeout   = 90 * time.Second
	// closeGrace is how long close lets requests finish, whose contexts have ended already. An idle HTTP/2 connection would
	// use up a second of it.
	closeGrace = 250 * time.Millisecond
)

// tlsListener serves a handler on a socket, with a certificate made for it.
type tlsListener struct {
	net.Listener
	url     string
	address string // host:port
	ca      []byte // PEM; the certificate signs itself
	server  *http.Server
}

// listen opens the socket, so that a port in use is reported before anything is built. An empty address gives nil. With
// ask, clients are asked for certificates, which the authenticator judges.
func listen(ctx context.Context, address string, ask bool) (*tlsListener, error) {
	if address == "" {
		return nil, nil
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening on %q: %w", address, err)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading the listen address %q: %w", address, err), l.Close())
	}
	certificate, ca, err := serving.SelfSigned("kube-apiserver", host)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	at := serving.Reachable(l.Addr())
	t := &tlsListener{Listener: l, url: "https://" + at, address: at, ca: ca}
	t.server = &http.Server{
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{certificate},
			MinVersion:   tls.VersionTLS12,
			NextProtos:   []string{"h2", "http/1.1"},
		},
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
	}
	if ask {
		t.server.TLSConfig.ClientAuth = tls.RequestClientCert
	}
	return t, nil
}

// handle says who answers. Every request's context ends with ctx, which ends open watches.
func (t *tlsListener) handle(ctx context.Context, h http.Handler) {
	t.server.Handler = h
	t.server.BaseContext = func(net.Listener) context.Context { return ctx }
	t.server.ErrorLog = log.New(logWriter{klog.FromContext(ctx).V(4)}, "", 0)
}

// serve answers requests until close; handle has been called. It fails if it ends before.
func (t *tlsListener) serve() error {
	if err := t.server.ServeTLS(t.Listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving on %q: %w", t.address, err)
	}
	return nil
}

// close stops listening, lets running requests end for closeGrace and then cuts the connections. Only the values of ctx
// count. It must be called even if serve never was.
func (t *tlsListener) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	if t.server.Handler == nil {
		return t.Close()
	}
	if err := t.server.Shutdown(ctx); err != nil {
		return t.server.Close()
	}
	return nil
}

// logWriter passes net/http's complaints about clients, such as failed handshakes, to the context's logger.
type logWriter struct{ klog.Logger }

// Write logs p as one message.
func (w logWriter) Write(p []byte) (int, error) {
	w.Info("Serving a connection", "problem", string(p))
	return len(p), nil
}
