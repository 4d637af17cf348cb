package envtest

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
)

// Why flags cannot be honoured.
const (
	noEtcd       = "objects are kept in memory, not in etcd"
	noForwarding = "requests are not forwarded to other API servers"
	noNetwork    = "nothing outside this process is reached but webhooks"
)

// refused are the flags that cannot be honoured, and would make a difference. The values are those that make none.
var refused = []struct {
	flag, reason string
	values       []string
}{
	{"debug-socket-path", "profiles are served at /debug/pprof only", []string{""}},
	{"egress-selector-config-file", noNetwork, []string{""}},
	{"enable-aggregator-routing", noForwarding, []string{"false"}},
	{"enable-garbage-collector", "objects always have the finalizers of the garbage collector", []string{"true"}},
	{"enable-logs-handler", "there are no log files", []string{"false"}},
	{"encryption-provider-config", noEtcd, []string{""}},
	{"endpoint-reconciler-type", "one server uses the store, and publishes its address",
		[]string{"lease", "master-count"}},
	{"etcd-servers-overrides", noEtcd, []string{"[]"}},
	{"kubernetes-service-node-port", "the Service kubernetes has a cluster address only", []string{"0"}},
	{"peer-advertise-ip", noForwarding, []string{""}},
	{"peer-advertise-port", noForwarding, []string{""}},
	{"peer-ca-file", noForwarding, []string{""}},
	{"permit-port-sharing", "the port is not shared", []string{"false"}},
	{"proxy-client-cert-file", noForwarding, []string{""}},
	{"proxy-client-key-file", noForwarding, []string{""}},
	{"service-account-signing-endpoint", "tokens are signed with --service-account-signing-key-file", []string{""}},
	{"tls-sni-cert-key", "one certificate is served, that of --tls-cert-file", []string{"[]"}},
	{"tracing-config-file", "traces are not exported", []string{""}},
}

// withoutEffect are the flags that are accepted and do nothing: what they set does not exist here, or is a limit or an
// interval that tests do not see.
var withoutEffect = []string{
	"aggregator-reject-forwarding-redirect", "apiserver-count",
	"coordinated-leadership-lease-duration", "coordinated-leadership-renew-deadline",
	"coordinated-leadership-retry-period", "default-watch-cache-size", "delete-collection-workers",
	"encryption-provider-config-automatic-reload", "etcd-cafile", "etcd-certfile", "etcd-compaction-interval",
	"etcd-count-metric-poll-period", "etcd-db-metric-poll-interval", "etcd-healthcheck-timeout", "etcd-keyfile",
	"etcd-prefix", "etcd-readycheck-timeout", "etcd-servers", "http2-max-streams-per-connection",
	"kubelet-certificate-authority", "kubelet-client-certificate", "kubelet-client-key", "kubelet-port",
	"kubelet-preferred-address-types", "kubelet-read-only-port", "kubelet-timeout", "lease-reuse-duration-seconds",
	"livez-grace-period", "max-connection-bytes-per-sec", "permit-address-sharing", "shutdown-delay-duration",
	"shutdown-send-retry-after", "shutdown-watch-termination-grace-period", "storage-backend",
	"storage-initialization-timeout", "storage-media-type", "watch-cache", "watch-cache-sizes",
}

// refuse returns an error for the first flag that cannot be honoured.
func refuse(flags *pflag.FlagSet) error {
	for _, r := range refused {
		flag := flags.Lookup(r.flag)
		if flag != nil && flag.Changed && !slices.Contains(r.values, flag.Value.String()) {
			return cli.WithHint(fmt.Errorf("--%s cannot be honoured by the API server of kubectl reconcile: %s",
				r.flag, r.reason), "use envtest's kube-apiserver for this test")
		}
	}
	return nil
}
