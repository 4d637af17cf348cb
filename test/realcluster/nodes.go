package realcluster

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// simulated is the label of nodes whose kubelet is played, as in the plugin's sandbox; on others no kubelet runs pods.
const simulated = "kubectl-reconcile.github.io/simulated"

// startNodes starts kwok, makes the nodes and waits until they are ready.
func (c *Cluster) startNodes(ctx context.Context) error {
	if c.options.Nodes == 0 {
		return nil
	}
	if err := c.startKwok(ctx); err != nil {
		return err
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	for n := range c.options.Nodes {
		if err := makeNode(ctx, client, n); err != nil {
			return err
		}
	}
	return c.home.await(ctx, "the nodes to be ready", func(ctx context.Context) (bool, error) {
		return allReady(ctx, client)
	})
}

func (c *Cluster) startKwok(ctx context.Context) error {
	stages, err := c.stages(ctx)
	if err != nil {
		return err
	}
	args := []string{
		"--kubeconfig=" + c.kubeconfig(kwok),
		"--manage-nodes-with-label-selector=" + simulated + "=true", "--node-lease-duration-seconds=40",
	}
	for _, file := range stages {
		args = append(args, "--config="+file)
	}
	_, err = c.home.start("kwok", nil, c.programs.Path("kwok"), args...)
	return err
}

// stages are the files that tell kwok what a kubelet does: its own for nodes, and for pods those of this module, which
// know the annotations that the simulated nodes of the plugin know.
func (c *Cluster) stages(ctx context.Context) ([]string, error) {
	module, err := moduleRoot(ctx)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, pattern := range []string{
		filepath.Join(c.programs.kwokStages(), "node", "fast", "*.yaml"),
		filepath.Join(c.programs.kwokStages(), "node", "heartbeat-with-lease", "*.yaml"),
		filepath.Join(module, "stages", "*.yaml"),
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("looking for stages: %w", err)
		}
		noStage := func(file string) bool { return filepath.Base(file) == "kustomization.yaml" }
		files = append(files, slices.DeleteFunc(found, noStage)...)
	}
	return files, nil
}

// makeNode makes the n-th node, counted from 0, as the plugin's are, and takes the taint from it that admission puts on
// every node: the controller that would do that when the node is ready need not run.
func makeNode(ctx context.Context, client kubernetes.Interface, n int) error {
	name := fmt.Sprintf("node-%d", n+1)
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("64"),
		corev1.ResourceMemory:           resource.MustParse("256Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		corev1.ResourcePods:             resource.MustParse("4094"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, simulated: "true",
			corev1.LabelOSStable: "linux", corev1.LabelArchStable: runtime.GOARCH,
		}},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity, Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("172.18.0.%d", n+2)},
			{Type: corev1.NodeHostName, Address: name},
		}},
	}
	if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("making node %q: %w", name, err)
	}
	patch := []byte(`{"spec":{"taints":null}}`)
	_, err := client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("making node %q schedulable: %w", name, err)
	}
	return nil
}

func allReady(ctx context.Context, client kubernetes.Interface) (bool, error) {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, fmt.Errorf("listing the nodes: %w", err)
	}
	for _, node := range nodes.Items {
		if !slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}) {
			return false, nil
		}
	}
	return true, nil
}
