package envtest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
)

// etcdDefaultURL is etcd's default for --listen-client-urls.
const etcdDefaultURL = "http://localhost:2379"

// usageCode is etcd's exit code for flags that it does not have.
const usageCode = 2

// etcdFlags are etcd's flags, without those that are honoured or refused; a flag with a * needs no value. None of them
// makes a difference where nothing is stored.
const etcdFlags = `
	advertise-client-urls auth-token auth-token-ttl auto-compaction-mode auto-compaction-retention
	backend-batch-interval backend-batch-limit backend-bbolt-freelist-type bcrypt-cost
	bootstrap-defrag-threshold-megabytes cipher-suites compact-hash-check-time compaction-batch-limit
	compaction-sleep-interval corrupt-check-time cors data-dir discovery-cacert discovery-cert discovery-dial-timeout
	discovery-endpoints discovery-fallback discovery-insecure-skip-tls-verify* discovery-insecure-transport*
	discovery-keepalive-time discovery-keepalive-timeout discovery-key discovery-password discovery-proxy
	discovery-request-timeout discovery-srv discovery-srv-name discovery-token discovery-user discovery
	distributed-tracing-address distributed-tracing-instance-id distributed-tracing-sampling-rate
	distributed-tracing-service-name downgrade-check-time election-timeout enable-distributed-tracing*
	enable-grpc-gateway* enable-log-rotation* enable-pprof* experimental-bootstrap-defrag-threshold-megabytes
	experimental-compact-hash-check-enabled* experimental-compact-hash-check-time experimental-compaction-batch-limit
	experimental-compaction-sleep-interval experimental-corrupt-check-time experimental-distributed-tracing-address
	experimental-distributed-tracing-instance-id experimental-distributed-tracing-sampling-rate
	experimental-distributed-tracing-service-name experimental-downgrade-check-time
	experimental-enable-distributed-tracing* experimental-enable-lease-checkpoint*
	experimental-enable-lease-checkpoint-persist* experimental-initial-corrupt-check* experimental-max-learners
	experimental-memory-mlock* experimental-peer-skip-client-san-verification* experimental-set-member-localaddr*
	experimental-snapshot-catchup-entries experimental-stop-grpc-service-on-defrag*
	experimental-txn-mode-write-with-shared-buffer* experimental-warning-apply-duration
	experimental-warning-unary-request-duration experimental-watch-progress-notify-interval feature-gates
	force-new-cluster* grpc-keepalive-interval grpc-keepalive-min-time grpc-keepalive-timeout heartbeat-interval
	host-whitelist initial-advertise-peer-urls initial-cluster initial-cluster-state initial-cluster-token
	initial-election-tick-advance* listen-peer-urls log-format log-level log-outputs log-rotation-config-json logger
	max-concurrent-streams max-learners max-request-bytes max-snapshots max-txn-ops max-wals memory-mlock* metrics
	name peer-auto-tls* peer-cert-allowed-cn peer-cert-allowed-hostname peer-cert-file peer-client-cert-auth*
	peer-client-cert-file peer-client-key-file peer-crl-file peer-key-file peer-skip-client-san-verification*
	peer-trusted-ca-file pre-vote* quota-backend-bytes raft-read-timeout raft-write-timeout self-signed-cert-validity
	snapshot-catchup-entries snapshot-count socket-reuse-address* socket-reuse-port* strict-reconfig-check*
	tls-max-version tls-min-version unsafe-no-fsync* v2-deprecation wal-dir warning-apply-duration
	warning-unary-request-duration watch-progress-notify-interval`

// etcdRefused are the flags without which clients could not connect as they expect, or that read other settings.
const etcdRefused = `auto-tls* cert-file client-cert-allowed-hostname client-cert-auth* client-cert-file
	client-crl-file client-key-file config-file key-file trusted-ca-file`

// etcdOptions are what stands in for etcd runs with.
type etcdOptions struct {
	clientURLs, clientHTTPURLs, metricsURLs string
	version                                 bool
	log                                     io.Writer
}

// runEtcd answers at /health until ctx ends, and keeps nothing: what stands in for kube-apiserver has its objects in
// memory. It creates no files.
func runEtcd(ctx context.Context, args []string, streams genericiooptions.IOStreams) error {
	o := &etcdOptions{log: streams.ErrOut}
	flags := o.flags()
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return printEtcdHelp(streams.Out, flags)
	case err != nil:
		return &exitError{err, usageCode}
	case flags.NArg() > 0:
		return &exitError{fmt.Errorf("%q is not a valid flag", flags.Arg(0)), usageCode}
	case o.version:
		_, err := fmt.Fprintf(streams.Out, "etcd Version: none (kubectl reconcile %s answers in its place)\n",
			cli.Version())
		return err
	}
	if err := refuseEtcd(flags); err != nil {
		return err
	}
	debug.FreeOSMemory() // it only waits from now on
	return o.Run(ctx)
}

// flags returns the flags.
func (o *etcdOptions) flags() *flag.FlagSet {
	flags := flag.NewFlagSet(etcdName, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.clientURLs, "listen-client-urls", etcdDefaultURL, "")
	flags.StringVar(&o.clientHTTPURLs, "listen-client-http-urls", "", "")
	flags.StringVar(&o.metricsURLs, "listen-metrics-urls", "", "")
	flags.BoolVar(&o.version, "version", false, "")
	for name := range strings.FieldsSeq(etcdFlags + " " + etcdRefused) {
		if name, isBool := strings.CutSuffix(name, "*"); isBool {
			flags.Bool(name, false, "")
		} else {
			flags.String(name, "", "")
		}
	}
	flags.Usage = func() {}
	return flags
}

// printEtcdHelp writes all flags, in the form in which envtest looks for some.
func printEtcdHelp(w io.Writer, flags *flag.FlagSet) error {
	var text strings.Builder
	text.WriteString(`Usage:

  etcd [flags]
    Stand in for etcd beside the API server of kubectl reconcile, for tests: answer at /health, and
    keep nothing. What differs is in docs/envtest.md.

Flags:
`)
	flags.VisitAll(func(f *flag.Flag) { fmt.Fprintf(&text, "  --%s\n", f.Name) })
	_, err := io.WriteString(w, text.String())
	return err
}

// refuseEtcd returns an error for the first flag that cannot be honoured.
func refuseEtcd(flags *flag.FlagSet) error {
	var err error
	flags.Visit(func(f *flag.Flag) {
		for name := range strings.FieldsSeq(etcdRefused) {
			off := f.Value.String() == "" || f.Value.String() == "false"
			if strings.TrimSuffix(name, "*") == f.Name && !off && err == nil {
				err = cli.WithHint(fmt.Errorf("--%s cannot be honoured: kubectl reconcile stands in for etcd, "+
					"and serves /health over HTTP only", f.Name), "use envtest's etcd for this test")
			}
		}
	})
	return err
}

// Run serves until ctx ends.
func (o *etcdOptions) Run(ctx context.Context) error {
	var listeners []net.Listener
	closeAll := func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}
	for one := range strings.FieldsFuncSeq(o.clientURLs+","+o.clientHTTPURLs+","+o.metricsURLs,
		func(r rune) bool { return r == ',' }) {
		l, err := listenURL(ctx, one)
		if err != nil {
			closeAll()
			return err
		}
		listeners = append(listeners, l)
		_, _ = fmt.Fprintf(o.log, "kubectl reconcile in the place of etcd: /health at http://%s, nothing is stored\n",
			l.Addr())
	}
	server := &http.Server{Handler: etcdHandler(), ReadHeaderTimeout: etcdHeaderTimeout}
	failed := make(chan error, len(listeners))
	var serving sync.WaitGroup
	for _, l := range listeners {
		serving.Go(func() { failed <- server.Serve(l) })
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	_ = server.Close() // its errors are those of the connections
	serving.Wait()
	return err
}

const etcdHeaderTimeout = 5 * time.Second

// listenURL listens on a URL of etcd's flags.
func listenURL(ctx context.Context, text string) (net.Listener, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("reading the URL to listen on: %w", err)
	}
	var config net.ListenConfig
	switch u.Scheme {
	case "http":
		l, err := config.Listen(ctx, "tcp", u.Host)
		if err != nil {
			return nil, fmt.Errorf("listening on %q: %w", text, err)
		}
		return l, nil
	default:
		return nil, fmt.Errorf("listening on %q: kubectl reconcile stands in for etcd, and serves /health "+
			"over HTTP only", text)
	}
}

// etcdHandler answers as etcd does when it is healthy. Other paths do not exist, in particular those of its API.
func etcdHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"health":"true","reason":""}`)
	})
	for _, path := range []string{"/livez", "/readyz"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	}
	return mux
}
