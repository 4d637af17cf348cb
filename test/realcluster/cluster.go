package realcluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Options say what a control plane consists of, beside etcd and kube-apiserver.
type Options struct {
	// Controllers are those of kube-controller-manager, by the names of its flag --controllers; without any it does not
	// run. The serviceaccount controller is always among them: without it every pod is refused.
	Controllers []string
	// LeaderElection has kube-controller-manager hold its Lease, as it does where there are several.
	LeaderElection bool
	// Scheduler reports whether kube-scheduler runs.
	Scheduler bool
	// Nodes is how many nodes there are, whose kubelet kwok plays; with 0, kwok does not run.
	Nodes int
	// Metrics reports whether metrics.k8s.io is served, as metrics-server would: pods use what their annotations say
	// (docs/nodes.md of the plugin).
	Metrics bool
	// Volumes reports whether claims get volumes: the plugin's simulated provisioner runs, and makes a default
	// StorageClass.
	Volumes bool
	// DisableAdmission are admission plugins that kube-apiserver shall not run.
	DisableAdmission []string
	// AuditBodies has the audit log contain what was sent and answered, but of Events and Leases: an answer has the
	// version of the object that the request made.
	AuditBodies bool
	// NoWatchList has kube-apiserver refuse watches that begin with a list, as older ones do.
	NoWatchList bool
	// Log is told what takes long; it may be nil.
	Log func(format string, args ...any)
}

// Cluster is a control plane that runs. Its methods may be called concurrently.
type Cluster struct {
	home     *home
	programs Programs
	options  Options
	ca       *authority
	port     int
	etcdPort int
	meter    *http.Server // nil without Options.Metrics
	serving  sync.WaitGroup
}

// startTimeout is generous: a machine that runs other tests at once takes many times the five seconds that are usual.
const startTimeout = 3 * time.Minute

// Start builds the programs if need be, starts them on free ports of the loopback address, with TLS, RBAC and an audit
// log, and returns when all are ready. They end with Stop, with ctx, and however this process ends: no process, port or
// folder stays. The error has the last lines of the program that failed.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	programs, err := Build(ctx, o.Log)
	if err != nil {
		return nil, err
	}
	if o.Volumes {
		if programs.provisioner, err = buildProvisioner(ctx); err != nil {
			return nil, err
		}
	}
	var c *Cluster
	for range 3 { // another process may take a port between the moment it is found free and the moment it is bound
		if c, err = start(ctx, programs, o); !errors.Is(err, errPortTaken) {
			break
		}
	}
	return c, err
}

func start(ctx context.Context, programs Programs, o Options) (*Cluster, error) {
	home, err := newHome("realcluster")
	if err != nil {
		return nil, err
	}
	home.closeWith(ctx)
	c := &Cluster{home: home, programs: programs, options: o}
	limited, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := c.startAll(limited); err != nil {
		// What has ended by itself is the cause of what else went wrong.
		return nil, withPortTaken(errors.Join(home.ended(), err, c.Stop()))
	}
	context.AfterFunc(ctx, func() { _ = c.stopMeter() })
	return c, nil
}

func (c *Cluster) startAll(ctx context.Context) error {
	ca, err := writeKeys(c.home.dir, time.Now())
	if err != nil {
		return err
	}
	c.ca = ca
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	c.port, c.etcdPort = ports[0], ports[1]
	for _, step := range []func(context.Context) error{
		func(context.Context) error { return c.startEtcd(ports[2]) },
		func(context.Context) error { return c.startAPIServer() },
		c.awaitAPIServer,
		c.startControllers,
		c.startScheduler,
		c.startNodes,
		c.startVolumes,
		c.startMeter,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends everything. The error reports a program that had ended before.
func (c *Cluster) Stop() error { return errors.Join(c.stopMeter(), c.home.close()) }

// Dir is the cluster's own folder, with the logs of its programs. It is removed with the cluster; a test may put its
// own files there.
func (c *Cluster) Dir() string { return c.home.dir }

// AuditLog is a file with a JSON line of audit.k8s.io/v1 for each request that may change something and was answered,
// at level Metadata; of deletions and evictions with the body, at level Request, and of all with Options.AuditBodies at
// level RequestResponse.
func (c *Cluster) AuditLog() string { return filepath.Join(c.home.dir, "audit.log") }

// Kubeconfig is a file for kubectl, of a user who may do everything.
func (c *Cluster) Kubeconfig() string { return c.kubeconfig(admin) }

// Processes are the numbers of the processes that run, by the program's name.
func (c *Cluster) Processes() map[string]int { return c.home.numbers() }

// Config is for a user who may do everything, and is not throttled. The caller owns it.
func (c *Cluster) Config() *rest.Config {
	return &rest.Config{
		Host: c.url(), BearerToken: token(admin), QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: slices.Clone(c.ca.pem)},
	}
}

// Etcd is the address of the store, which needs no password.
func (c *Cluster) Etcd() string { return "http://127.0.0.1:" + strconv.Itoa(c.etcdPort) }

func (c *Cluster) url() string { return "https://" + c.address() }

func (c *Cluster) address() string { return "127.0.0.1:" + strconv.Itoa(c.port) }

func (c *Cluster) client() (*kubernetes.Clientset, error) {
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return nil, fmt.Errorf("making a client of the control plane: %w", err)
	}
	return client, nil
}
