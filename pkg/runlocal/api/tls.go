package api

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"log"
	"math/big"
	"net"
	"net/http"
	"time"

	"k8s.io/klog/v2"
)

const (
	// certificateLifetime is longer than any session.
	certificateLifetime = 365 * 24 * time.Hour
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

// listen opens the socket, so that a port in use is reported before anything is built. An empty address gives nil.
func listen(ctx context.Context, address string) (*tlsListener, error) {
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
	certificate, ca, err := newCertificate(host)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	at := reachable(l.Addr())
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
	return t, nil
}

// reachable is an address to connect to for a listener that may be bound to every interface.
func reachable(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return a.String()
	}
	if tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", fmt.Sprint(tcp.Port))
	}
	return tcp.String()
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

// newCertificate makes a self-signed certificate for host and for the names of the own machine.
func newCertificate(host string) (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("making the serving key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126))
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("making a serial number: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "kube-apiserver"},
		NotBefore:             now.Add(-time.Hour), // clocks differ
		NotAfter:              now.Add(certificateLifetime),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		DNSNames:              []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if err := addHost(template, host); err != nil {
		return tls.Certificate{}, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("making the serving certificate: %w", err)
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, ca, nil
}

// addHost makes the certificate good for host; for every address of the machine if host means all of them.
func addHost(template *x509.Certificate, host string) error {
	ip := net.ParseIP(host)
	switch {
	case host == "" || ip.IsUnspecified():
		addresses, err := net.InterfaceAddrs()
		if err != nil {
			return fmt.Errorf("listing the addresses of this machine: %w", err)
		}
		for _, a := range addresses {
			if network, ok := a.(*net.IPNet); ok {
				template.IPAddresses = append(template.IPAddresses, network.IP)
			}
		}
	case ip != nil:
		template.IPAddresses = append(template.IPAddresses, ip)
	default:
		template.DNSNames = append(template.DNSNames, host)
	}
	return nil
}
