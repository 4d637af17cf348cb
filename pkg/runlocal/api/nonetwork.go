package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/kubernetes"
	kubeletclient "k8s.io/kubernetes/pkg/kubelet/client"
)

// errNoPodNetwork is the error of requests that would have to reach a pod or a node.
var errNoPodNetwork = errors.New("no pod runs here, and there is no pod network")

// noKubelet rejects logs, exec, attach, port-forward and the proxies, which a real server forwards to a kubelet.
type noKubelet struct {
	nodes kubeletclient.ConnectionInfoGetter // upstream's, which finds the node and its address
}

var _ kubeletclient.ConnectionInfoGetter = noKubelet{}

// GetConnectionInfo always fails, with a status that clients print: for a node that does not exist, the status that a
// cluster answers with.
func (k noKubelet) GetConnectionInfo(ctx context.Context, node types.NodeName) (*kubeletclient.ConnectionInfo, error) {
	if _, err := k.nodes.GetConnectionInfo(ctx, node); err != nil {
		return nil, err
	}
	return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure,
		Code:   http.StatusNotImplemented,
		Reason: "NotImplemented",
		Message: fmt.Sprintf("node %q has no kubelet: %v, "+
			"so there are no logs and nothing to exec, attach or forward to", node, errNoPodNetwork),
	}}
}

// noNetwork returns the transport of requests that a real server proxies to pods, services and nodes. It never dials.
func noNetwork() *http.Transport {
	return &http.Transport{DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
		return nil, fmt.Errorf("dialing %q: %w", address, errNoPodNetwork)
	}}
}

// noServices is the resolver of webhooks that are named by service, which cannot be reached. Those named by URL are
// called.
type noServices struct {
	ctx    context.Context // upstream's interface passes none
	client kubernetes.Interface
}

var _ webhook.ServiceResolver = noServices{}

// ResolveEndpoint always fails; for a service that does not exist as on a cluster, where a lister names the kind in the
// singular.
func (s noServices) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	_, err := s.client.CoreV1().Services(namespace).Get(s.ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, apierrors.NewNotFound(corev1.Resource("service"), name)
	}
	return nil, fmt.Errorf("resolving service %q in %q, port %d: %w; name the webhook by url", name, namespace, port,
		errNoPodNetwork)
}
