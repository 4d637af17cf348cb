package why

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/runlocaltest"
)

// stage is a control plane on which situations are played.
type stage struct {
	config *rest.Config
	client dynamic.Interface
	// real reports that it is not embedded.
	real bool
	// controllers reports that controllers act on the objects. Without them nothing makes ServiceAccounts on a real
	// control plane.
	controllers bool
}

// newStage returns the control plane for situations with controllers, or for those without.
func newStage(t *testing.T, withControllers bool) *stage {
	t.Helper()
	on := &stage{controllers: withControllers, real: *alone+*acting != ""}
	kubeconfig := map[bool]string{false: *alone, true: *acting}[withControllers]
	var err error
	switch {
	case !on.real:
		on.config = embedded(t, withControllers)
	case kubeconfig == "":
		t.Skip("no control plane is given for it")
	default:
		t.Parallel()
		if on.config, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeIdle(t, on.config) })
	}
	on.config.QPS, on.config.WarningHandler = -1, rest.NoWarnings{}
	if on.client, err = dynamic.NewForConfig(on.config); err != nil {
		t.Fatal(err)
	}
	if !withControllers {
		on.addNode(t, "node-1", "True")
	}
	return on
}

// closeIdle closes the connections of clients, which all share one transport.
func closeIdle(t *testing.T, config *rest.Config) {
	t.Helper()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	utilnet.CloseIdleConnectionsFor(transport)
}

// embedded starts an embedded control plane.
func embedded(t *testing.T, withControllers bool) *rest.Config {
	t.Helper()
	options := runlocal.Options{NoScheduling: true}
	if withControllers {
		options = runlocal.Options{Nodes: 3, Controllers: runlocal.Names("*")}
	}
	return runlocaltest.Start(t, options).Config()
}

// addNode makes the node that pods of situations are on, as simulated nodes are named, or one like it.
func (s *stage) addNode(t *testing.T, name, ready string) {
	t.Helper()
	nodes := s.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"})
	node := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": name},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": ready}}},
	}}
	if _, err := nodes.Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
