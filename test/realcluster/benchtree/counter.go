package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync/atomic"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// traffic is how many requests there were, and the size of the bodies that answered them, compressed where they were.
type traffic struct{ requests, bytes int64 }

func (t traffic) since(before traffic) traffic {
	return traffic{t.requests - before.requests, t.bytes - before.bytes}
}

// counter is a server between a command and the API server, which counts. It takes time of its own: what goes by it is
// not timed.
type counter struct {
	kubeconfig      string // for commands that are to be counted
	server          *http.Server
	requests, bytes atomic.Int64
}

// startCounter serves until the counter is closed. Its kubeconfig is in the folder.
func startCounter(ctx context.Context, config *rest.Config, dir string) (*counter, error) {
	config = rest.CopyConfig(config)
	config.DisableCompression = true // bodies are passed on as they are
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the API server: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	c := &counter{kubeconfig: filepath.Join(dir, "counted.kubeconfig")}
	c.server = &http.Server{Handler: c.handler(target, transport)} //nolint:gosec // G112: it serves our own programs
	go c.server.Serve(listener)                                    //nolint:errcheck // it ends when it is closed
	return c, writeKubeconfig(c.kubeconfig, "http://"+listener.Addr().String())
}

func (c *counter) handler(target *url.URL, transport http.RoundTripper) http.Handler {
	return &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			c.requests.Add(1)
			r.SetURL(target)
		},
		ModifyResponse: func(r *http.Response) error {
			r.Body = &countedBody{r.Body, &c.bytes}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
}

func (c *counter) traffic() traffic { return traffic{c.requests.Load(), c.bytes.Load()} }

func (c *counter) close() error { return c.server.Close() }

// countedBody adds what is read of a body.
type countedBody struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (b *countedBody) Read(data []byte) (int, error) {
	n, err := b.ReadCloser.Read(data)
	b.bytes.Add(int64(n))
	return n, err
}

// writeKubeconfig writes one for a server that asks for no credentials.
func writeKubeconfig(file, server string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["counter"] = &clientcmdapi.Cluster{Server: server}
	config.AuthInfos["counter"] = clientcmdapi.NewAuthInfo()
	config.Contexts["counter"] = &clientcmdapi.Context{Cluster: "counter", AuthInfo: "counter"}
	config.CurrentContext = "counter"
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		return fmt.Errorf("writing a kubeconfig: %w", err)
	}
	return nil
}
