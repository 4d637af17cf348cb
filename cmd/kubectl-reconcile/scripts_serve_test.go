package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// curlLine is what a session says of how it is looked at.
var curlLine = regexp.MustCompile(`(?m)^  curl --cacert (\S+) -H @(\S+) (https://\S+)/metrics$`)

// telemetryOf is `telemetry FILE PATH CODE PATTERN`: what the session serves whose notes are in the file, asked as the
// line there says, has that status and a match of the pattern, at the latest after a while. `telemetry -anonymous …`
// shows no token.
func telemetryOf(ts *testscript.TestScript, neg bool, args []string) {
	anonymous := len(args) == 5 && args[0] == "-anonymous"
	if anonymous {
		args = args[1:]
	}
	if neg || len(args) != 4 {
		ts.Fatalf("usage: telemetry [-anonymous] FILE PATH CODE PATTERN")
	}
	said := curlLine.FindStringSubmatch(ts.ReadFile(args[0]))
	if said == nil {
		ts.Fatalf("%s does not say how to look at it", args[0])
	}
	code, err := strconv.Atoi(args[2])
	ts.Check(err)
	pattern, err := regexp.Compile("(?m)" + args[3])
	ts.Check(err)
	client := trusting(ts, said[1])
	defer client.CloseIdleConnections()
	header := ""
	if !anonymous {
		data, err := os.ReadFile(said[2])
		ts.Check(err)
		_, header, _ = strings.Cut(strings.TrimSpace(string(data)), ": ")
	}
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	got, body := 0, []byte(nil)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-ticker.C {
		if got, body = look(ts, client, said[3]+args[1], header); got == code && pattern.Match(body) {
			return
		}
	}
	ts.Fatalf("%s: %d, not %d with a match of %q:\n%s", args[1], got, code, args[3], bytes.TrimSpace(body))
}

// trusting is a client that trusts the certificate in a file.
func trusting(ts *testscript.TestScript, ca string) *http.Client {
	data, err := os.ReadFile(ca)
	ts.Check(err)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(data) {
		ts.Fatalf("%s holds no certificate", ca)
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
}

// look asks for a page.
func look(ts *testscript.TestScript, client *http.Client, at, authorization string) (int, []byte) {
	req, err := http.NewRequest(http.MethodGet, at, http.NoBody)
	ts.Check(err)
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	resp, err := client.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	return resp.StatusCode, body
}

// gate is a way to an API server that can be shut.
type gate struct {
	address string
	through http.Handler
	expired atomic.Bool
	server  *http.Server // nil while it is shut
	done    chan struct{}
}

// gates are those of a script, by the kubeconfigs that lead through them.
type gates map[string]*gate

type gatesKey struct{}

// gateOf is `gate KUBECONFIG COPY`: the copy leads to the same API by way of a gate. `gate COPY shut` accepts no
// connections and breaks what connections there are, as if the server were gone; `gate COPY expired` answers every
// request with 401; `gate COPY open` ends both.
func gateOf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: gate KUBECONFIG COPY, gate COPY shut|expired|open")
	}
	all := ts.Value(gatesKey{}).(gates)
	g := all[args[0]]
	if g == nil {
		all[args[1]] = newGate(ts, args[0], args[1])
		return
	}
	g.shut()
	g.expired.Store(args[1] == "expired")
	if args[1] != "shut" {
		g.open(ts)
	}
}

func newGate(ts *testscript.TestScript, from, to string) *gate {
	config, err := clientcmd.BuildConfigFromFlags("", ts.MkAbs(from))
	ts.Check(err)
	target, err := url.Parse(config.Host)
	ts.Check(err)
	transport, err := rest.TransportFor(config)
	ts.Check(err)
	g := &gate{address: "127.0.0.1:0", through: &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
	}}
	ts.Defer(g.shut)
	g.open(ts)
	out := clientcmdapi.NewConfig()
	out.Clusters["gate"] = &clientcmdapi.Cluster{Server: "http://" + g.address}
	out.Contexts["gate"] = &clientcmdapi.Context{Cluster: "gate"}
	out.CurrentContext = "gate"
	ts.Check(clientcmd.WriteToFile(*out, ts.MkAbs(to)))
	return g
}

// ServeHTTP implements http.Handler.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.expired.Load() {
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
		return
	}
	g.through.ServeHTTP(w, r)
}

// Open listens, at the same address as before.
func (g *gate) open(ts *testscript.TestScript) {
	listener, err := net.Listen("tcp", g.address)
	ts.Check(err)
	g.address = listener.Addr().String()
	g.server, g.done = &http.Server{Handler: g, ReadHeaderTimeout: patience}, make(chan struct{})
	go func(s *http.Server, done chan struct{}) {
		defer close(done)
		_ = s.Serve(listener) // until it is shut
	}(g.server, g.done)
}

func (g *gate) shut() {
	if g.server != nil {
		_ = g.server.Close() // its error is that of a connection that is cut
		<-g.done
		g.server = nil
	}
}
