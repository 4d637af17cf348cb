package connect

import (
	"context"
	"fmt"

	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
)

// ServerVersion returns the version of the cluster, or an error if it cannot be reached.
func (c *Connection) ServerVersion(ctx context.Context) (string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(c.Config)
	if err != nil {
		return "", fmt.Errorf("making a client of the cluster: %w", err)
	}
	info, err := client.ServerVersionWithContext(ctx)
	if err != nil {
		return "", err
	}
	return info.GitVersion, nil
}

// OtherMinorText says that a cluster's version has another minor than the controllers; empty if it has not, or if that
// cannot be found out.
func OtherMinorText(cluster, ours string) string {
	theirs, err := utilversion.ParseGeneric(cluster)
	if err != nil {
		return ""
	}
	own, err := utilversion.ParseGeneric(ours)
	if err != nil || theirs.Major() == own.Major() && theirs.Minor() == own.Minor() {
		return ""
	}
	return fmt.Sprintf("the controllers are those of Kubernetes %s: the cluster's own, of %s, may act differently",
		ours, cluster)
}
