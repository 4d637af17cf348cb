package realcluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (c *Cluster) startEtcd(peerPort int) error {
	client := c.Etcd()
	peer := "http://127.0.0.1:" + strconv.Itoa(peerPort)
	_, err := c.home.start("etcd", nil, c.programs.Path("etcd"),
		"--data-dir", filepath.Join(c.home.dir, "etcd"),
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer,
		"--unsafe-no-fsync", // what is lost with the machine is not missed
		"--log-level", "warn",
	)
	return err
}

// auditPolicy has kube-apiserver log each request once, when it is answered. Watches end with the server.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted, Panic]
omitManagedFields: true
rules:
- level: Request # whether a deletion is a dry run is in its body
  verbs: [delete, deletecollection]
- level: Request
  verbs: [create]
  resources: [{group: "", resources: [pods/eviction]}]
- level: Metadata
  verbs: [create, update, patch, delete, deletecollection]
`

// ServiceRange is where Services get their addresses from: the embedded API's is the same.
const ServiceRange = "10.96.0.0/12"

func (c *Cluster) startAPIServer() error {
	dir := c.home.dir
	if err := errors.Join(c.writeUsers(), writeFile(dir, "audit-policy.yaml", []byte(auditPolicy))); err != nil {
		return err
	}
	_, err := c.home.start("kube-apiserver", nil, c.programs.Path("kube-apiserver"),
		"--feature-gates=WatchList="+strconv.FormatBool(!c.options.NoWatchList),
		"--etcd-servers="+c.Etcd(),
		"--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(c.port),
		// It goes into the Endpoints of the Service kubernetes, where a loopback address is refused.
		"--advertise-address=192.0.2.1",
		"--tls-cert-file="+filepath.Join(dir, "server.crt"), "--tls-private-key-file="+filepath.Join(dir, "server.key"),
		"--cert-dir="+dir,
		"--client-ca-file="+filepath.Join(dir, "ca.crt"),
		"--token-auth-file="+filepath.Join(dir, "tokens.csv"),
		"--authorization-mode=Node,RBAC",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file="+filepath.Join(dir, "sa.pub"),
		"--service-account-signing-key-file="+filepath.Join(dir, "sa.key"),
		"--service-cluster-ip-range="+ServiceRange,
		"--allow-privileged=true",
		"--disable-admission-plugins="+strings.Join(c.options.DisableAdmission, ","),
		"--audit-policy-file="+filepath.Join(dir, "audit-policy.yaml"),
		"--audit-log-path="+c.AuditLog(), "--audit-log-mode=blocking",
	)
	return err
}

// awaitAPIServer waits until the server says that all of it is ready, and has made what every cluster has.
func (c *Cluster) awaitAPIServer(ctx context.Context) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	err = c.home.await(ctx, "kube-apiserver to be ready", func(ctx context.Context) (bool, error) {
		var code int
		result := client.CoreV1().RESTClient().Get().AbsPath("/readyz").Do(ctx).StatusCode(&code)
		return code == http.StatusOK, result.Error()
	})
	if err != nil {
		return err
	}
	return c.home.await(ctx, "the namespace default", func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		return err == nil, err
	})
}

// rate is how many requests a second Kubernetes' own clients may send: so many that it is no limit. By default a
// thousand pods take the controllers nearly a minute, most of which they wait.
const rate = "5000"

// AutoscalerPeriod is how often horizontal pod autoscalers look at metrics here: by default they do every 15 seconds.
const AutoscalerPeriod = "2s"

// NodeFlags have kube-controller-manager, and the plugin, look at nodes more often, take one that is silent for
// unreachable sooner, and taint more of them at a time. A node's lease is renewed every ten seconds. A rate of 1 would
// be none: when all nodes were not ready, node-lifecycle keeps the limiter that lets nothing through, whose rate reads
// 1, too.
func NodeFlags() []string {
	return []string{"--node-monitor-period=1s", "--node-monitor-grace-period=30s", "--node-eviction-rate=2"}
}

// serviceAccounts is the controller without which every pod is refused.
const serviceAccounts = "serviceaccount-controller"

func (c *Cluster) startControllers(ctx context.Context) error {
	names := slices.Clone(c.options.Controllers)
	if len(names) == 0 {
		return nil
	}
	if !slices.Contains(names, "*") && !slices.Contains(names, serviceAccounts) {
		names = append(names, serviceAccounts)
	}
	dir := c.home.dir
	args := append(NodeFlags(),
		"--kubeconfig="+c.kubeconfig(controllerManager),
		"--controllers="+strings.Join(names, ","),
		"--use-service-account-credentials=true", // each controller is a separate user, which the audit log names
		"--service-account-private-key-file="+filepath.Join(dir, "sa.key"),
		"--root-ca-file="+filepath.Join(dir, "ca.crt"),
		"--cluster-signing-cert-file="+filepath.Join(dir, "ca.crt"),
		"--cluster-signing-key-file="+filepath.Join(dir, "ca.key"),
		"--leader-elect="+strconv.FormatBool(c.options.LeaderElection), "--secure-port=0",
		"--horizontal-pod-autoscaler-sync-period="+AutoscalerPeriod,
		"--kube-api-qps="+rate, "--kube-api-burst="+rate,
	)
	_, err := c.home.start(controllers, nil, c.programs.Path(controllers), args...)
	if err != nil {
		return err
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	const what = "kube-controller-manager to make a ServiceAccount"
	return c.home.await(ctx, what, func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// schedulerConfig is what kube-scheduler has no flags for.
const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: %q, qps: ` + rate + `, burst: ` + rate + `}
`

func (c *Cluster) startScheduler(context.Context) error {
	if !c.options.Scheduler {
		return nil
	}
	config := fmt.Sprintf(schedulerConfig, c.kubeconfig(scheduler))
	if err := writeFile(c.home.dir, "scheduler.yaml", []byte(config)); err != nil {
		return err
	}
	_, err := c.home.start("kube-scheduler", nil, c.programs.Path("kube-scheduler"),
		"--config="+filepath.Join(c.home.dir, "scheduler.yaml"), "--secure-port=0")
	return err
}
