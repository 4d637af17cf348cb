package realcluster

import (
	"context"
	"path/filepath"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// defaultStorageClass is nodes.DefaultStorageClass of the plugin.
const defaultStorageClass = "standard"

// buildProvisioner builds the plugin's simulated provisioner, as a separate program, and returns its file. Without cgo
// it needs no other packages than the plugin, which was built.
func buildProvisioner(ctx context.Context) (string, error) {
	module, err := moduleRoot(ctx)
	if err != nil {
		return "", err
	}
	checkout := filepath.Join(module, "..", "..")
	program := filepath.Join(checkout, "bin", "test", "provisioner")
	unlock, err := lock(filepath.Join(checkout, "bin", "test", ".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	_, err = output(ctx, checkout, "env", "CGO_ENABLED=0", "go", "build", "-o", program, "./test/provisioner")
	return program, err
}

// startVolumes starts what makes volumes, and waits until it has made the default StorageClass.
func (c *Cluster) startVolumes(ctx context.Context) error {
	if !c.options.Volumes {
		return nil
	}
	args := []string{"--kubeconfig", c.kubeconfig(provisioner)}
	if _, err := c.home.start(provisioner, nil, c.programs.provisioner, args...); err != nil {
		return err
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	return c.home.await(ctx, "the default StorageClass", func(ctx context.Context) (bool, error) {
		_, err := client.StorageV1().StorageClasses().Get(ctx, defaultStorageClass, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}
