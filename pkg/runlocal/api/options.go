package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/serving"
)

// ErrRemoteListen is wrapped by the error of Start when Options.Listen is not a loopback address and
// Options.AllowRemote is not set.
var ErrRemoteListen = errors.New("not a loopback address")

// Options configure Start. The zero value is a server in process only, with kube-apiserver's default admission plugins.
type Options struct {
	// Listen is the host:port to serve TLS on; port 0 picks a free one. Empty means no socket at all.
	Listen string
	// AllowRemote permits a Listen address that other machines can reach.
	AllowRemote bool

	// EnableAdmission and DisableAdmission name admission plugins as kube-apiserver's flags --enable-admission-plugins
	// and --disable-admission-plugins do. An unknown name is an error.
	EnableAdmission, DisableAdmission []string

	// DefaultServiceAccounts makes the server create the ServiceAccount `default` in every namespace, as the
	// serviceaccount controller would. Without one of the two, ServiceAccount admission refuses every pod of a
	// namespace created later; the initial namespaces get theirs in any case.
	DefaultServiceAccounts bool
	// NoDefaultAccounts leaves out the ServiceAccount `default` of the initial namespaces: a kube-apiserver creates
	// none.
	NoDefaultAccounts bool

	// CommandLine, if it is not nil, makes the server stand in for a kube-apiserver with these options. They replace
	// Listen, AllowRemote, the two lists of admission plugins and ServiceRanges.
	CommandLine *CommandLine

	// ClientCA are certificates, in PEM, of authorities whose client certificates are accepted on Listen, as those of
	// kube-apiserver's --client-ca-file: the common name is the user, the organizations are the groups. Nil accepts
	// none.
	ClientCA []byte

	// Metrics, if it is not nil, makes the server serve metrics.k8s.io/v1beta1, the usage of pods and nodes, as
	// metrics-server would.
	Metrics Metrics

	// Components are health checks of other parts of the control plane in this process, for componentstatuses, by their
	// names there: a nil error means healthy. Those that kube-apiserver knows and that are not named are reported as
	// not running. The functions may be called concurrently, until Stop has returned.
	Components map[string]func() error

	// Objects are there from the beginning, as they are, beside those that the server itself makes where they are
	// missing; see Server.Unloaded for those that it does not have. ResourceVersion is the least version that writes
	// come after: that of the newest list they were read from. The server reads Objects until Start has returned.
	Objects         []StoredObject
	ResourceVersion uint64
	// CheckObjects checks built-in Objects as if a client wrote them, and leaves out those that are not valid: for
	// objects that come from no API server, on which controllers could fail.
	CheckObjects bool
	// ServiceRanges are the ranges of the addresses of Services, at most one of each family, the primary family first,
	// if Objects have no ServiceCIDR; nil means kubeadm's default.
	ServiceRanges []string

	// Recorded, if it is not nil, makes the server serve what was recorded of another API server.
	Recorded *Recorded

	// History is how many watch events each resource keeps for watches that start in the past; 0 is memstore's default.
	History int
	// OnCommit is called after every write, with the context of the request and in a goroutine that has inherited the
	// pprof labels of the caller of an in-process request. It must not block and must not write to this server.
	OnCommit func(ctx context.Context, resourceVersion uint64)
	// Observe, if not nil, returns a handler in the place of that of the clients that come by Listen, unless Recorded
	// is set.
	Observe func(http.Handler) http.Handler
	// NewUID, if not nil, returns the uid of an object of the resource that is created; empty, and without it, uids are
	// random. It must be safe for concurrent use. See memstore.Options for the resources that it is for.
	NewUID func(schema.GroupResource) types.UID
	// Clock drives the expiry of objects with a time to live, such as Events, and the compaction of old states, at
	// which lists can be continued for five to ten minutes. Nil means the real clock. Upstream's code, creation
	// timestamps included, always reads the real clock.
	Clock clock.WithTicker
}

// validate returns an error for options that cannot work, before anything is started.
func (o Options) validate() error {
	if err := validateListen(o.Listen, o.AllowRemote); err != nil {
		return err
	}
	for _, text := range o.ServiceRanges {
		if _, err := netip.ParsePrefix(text); err != nil {
			return fmt.Errorf("reading the service range %q: %w", text, err)
		}
	}
	return validatePlugins(o.EnableAdmission, o.DisableAdmission)
}

// validateListen accepts an empty address, a loopback one, and any other only with remote.
func validateListen(listen string, remote bool) error {
	if listen == "" {
		return nil
	}
	loopback, err := serving.IsLoopback(listen)
	if err == nil && !loopback && !remote {
		err = fmt.Errorf("listening on %q: %w", listen, ErrRemoteListen)
	}
	return err
}

// openSocket listens on Listen, before anything is built, so that a port in use is reported first. It returns nil if
// Listen is empty.
func (o Options) openSocket(ctx context.Context) (*serving.Server, error) {
	if o.Listen == "" {
		return nil, nil
	}
	socket := serving.Options{Address: o.Listen, Name: "kube-apiserver", ClientCA: o.ClientCA}
	if o.CommandLine != nil {
		settings, certificate, err := o.CommandLine.tlsSettings()
		if err != nil {
			return nil, err
		}
		accepted, err := o.CommandLine.clientAuthorities()
		if err != nil {
			return nil, err
		}
		socket.TLS, socket.CA = settings, certificate
		if accepted = append(accepted, o.ClientCA...); accepted != nil {
			socket.ClientCA = accepted
		}
	}
	return serving.Listen(ctx, socket)
}
