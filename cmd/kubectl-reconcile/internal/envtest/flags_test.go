package envtest

import (
	"flag"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// honoured are the flags of kube-apiserver that do here what they do there. With refused and withoutEffect they are all:
// a flag that an upgrade adds must be decided on.
const honoured = `
	admission-control admission-control-config-file advertise-address allow-metric-labels allow-metric-labels-manifest
	allow-privileged anonymous-auth api-audiences audit-log-batch-buffer-size audit-log-batch-max-size
	audit-log-batch-max-wait audit-log-batch-throttle-burst audit-log-batch-throttle-enable
	audit-log-batch-throttle-qps audit-log-compress audit-log-format audit-log-maxage audit-log-maxbackup
	audit-log-maxsize audit-log-mode audit-log-path audit-log-truncate-enabled audit-log-truncate-max-batch-size
	audit-log-truncate-max-event-size audit-log-version audit-policy-file audit-webhook-batch-buffer-size
	audit-webhook-batch-initial-backoff audit-webhook-batch-max-size audit-webhook-batch-max-wait audit-webhook-batch-throttle-burst
	audit-webhook-batch-throttle-enable audit-webhook-batch-throttle-qps audit-webhook-config-file
	audit-webhook-initial-backoff audit-webhook-mode audit-webhook-truncate-enabled
	audit-webhook-truncate-max-batch-size audit-webhook-truncate-max-event-size audit-webhook-version
	authentication-config authentication-token-webhook-cache-ttl authentication-token-webhook-config-file
	authentication-token-webhook-version authorization-config authorization-mode authorization-policy-file
	authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl
	authorization-webhook-config-file authorization-webhook-version bind-address cert-dir client-ca-file
	contention-profiling cors-allowed-origins default-not-ready-toleration-seconds
	default-unreachable-toleration-seconds disable-admission-plugins disable-http2-serving disabled-metrics
	emulated-version emulation-forward-compatible enable-admission-plugins enable-bootstrap-token-auth
	enable-priority-and-fairness event-ttl external-hostname feature-gates goaway-chance help log-flush-frequency
	log-text-info-buffer-size log-text-split-stream logging-format max-mutating-requests-inflight
	max-requests-inflight min-compatibility-version min-request-timeout oidc-ca-file oidc-client-id oidc-groups-claim
	oidc-groups-prefix oidc-issuer-url oidc-required-claim oidc-signing-algs oidc-username-claim oidc-username-prefix
	profiling request-timeout requestheader-allowed-names requestheader-client-ca-file
	requestheader-extra-headers-prefix requestheader-group-headers requestheader-uid-headers
	requestheader-username-headers runtime-config runtime-config-emulation-forward-compatible secure-port
	service-account-extend-token-expiration service-account-issuer service-account-jwks-uri service-account-key-file
	service-account-lookup service-account-max-token-expiration service-account-signing-key-file
	service-cluster-ip-range service-node-port-range show-hidden-metrics-for-version
	strict-transport-security-directives tls-cert-file tls-cipher-suites tls-curve-preferences tls-min-version
	tls-private-key-file token-auth-file v version vmodule`

func TestEveryFlagIsDecidedOn(t *testing.T) {
	f, err := newAPIServerFlags()
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	f.all.VisitAll(func(flag *pflag.Flag) { have = append(have, flag.Name) })
	decided := append(strings.Fields(honoured), withoutEffect...)
	for _, r := range refused {
		decided = append(decided, r.flag)
	}
	slices.Sort(have)
	slices.Sort(decided)
	if diff := cmp.Diff(have, decided); diff != "" {
		t.Errorf("flags of upstream (-) and those that are decided on (+):\n%s", diff)
	}
}

func TestRefuse(t *testing.T) {
	for _, tt := range []struct {
		args   []string
		want   string
		reason string
	}{
		{nil, "", "defaults are honoured"},
		{[]string{"--secure-port=1"}, "", "an ordinary flag"},
		{[]string{"--encryption-provider-config=f"}, "--encryption-provider-config cannot be honoured", "needs etcd"},
		{[]string{"--encryption_provider_config=f"}, "--encryption-provider-config cannot be honoured", "as upstream"},
		{[]string{"--enable-garbage-collector=true"}, "", "the value that makes no difference"},
		{[]string{"--enable-garbage-collector=false"}, "--enable-garbage-collector cannot be honoured", "the other"},
		{[]string{"--endpoint-reconciler-type=none"}, "--endpoint-reconciler-type cannot", "no endpoints are expected"},
		{[]string{"--watch-cache=false"}, "", "without effect"},
	} {
		f, err := newAPIServerFlags()
		if err != nil {
			t.Fatal(err)
		}
		if err := f.all.Parse(tt.args); err != nil {
			t.Fatalf("%q: %v", tt.args, err)
		}
		err = refuse(f.all)
		if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q: %s", tt.args, err, tt.want, tt.reason)
		}
	}
}

func TestEtcdFlags(t *testing.T) {
	for _, tt := range []struct {
		args   []string
		parsed bool
		ok     bool
		reason string
	}{
		{[]string{"--data-dir=d", "--unsafe-no-fsync=true", "--listen-peer-urls=http://h:0"}, true, true, "envtest's"},
		{[]string{"-data-dir", "d"}, true, true, "one dash, as etcd takes it"},
		{[]string{"--pre-vote"}, true, true, "no value"},
		{[]string{"--nonsense"}, false, false, "unknown"},
		{[]string{"--cert-file=f"}, true, false, "clients would expect TLS"},
		{[]string{"--client-cert-auth=false"}, true, true, "off"},
		{[]string{"--client-cert-auth"}, true, false, "on"},
	} {
		flags := (&etcdOptions{}).flags()
		flags.SetOutput(io.Discard)
		err := flags.Parse(tt.args)
		if (err == nil) != tt.parsed {
			t.Errorf("%q: %v: %s", tt.args, err, tt.reason)
			continue
		}
		if tt.parsed {
			if err := refuseEtcd(flags); (err == nil) != tt.ok {
				t.Errorf("%q: %v: %s", tt.args, err, tt.reason)
			}
		}
	}
	seen := map[string]bool{}
	(&etcdOptions{}).flags().VisitAll(func(f *flag.Flag) { seen[f.Name] = true })
	for _, name := range []string{"listen-client-urls", "advertise-client-urls", "unsafe-no-fsync", "data-dir"} {
		if !seen[name] {
			t.Errorf("envtest gives --%s, which does not exist", name)
		}
	}
}
