package realcluster

import (
	"fmt"
	"path/filepath"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Users of the control plane. RBAC knows the names of Kubernetes' own.
const (
	admin             = "kubernetes-admin"
	controllerManager = "system:kube-controller-manager"
	scheduler         = "system:kube-scheduler"
	kwok              = "kwok"
	provisioner       = "provisioner"
)

// token is a user's. That it is easy to guess does not matter: the server listens on the loopback address for the
// length of a test, and has nothing to hide.
func token(user string) string { return "token-of-" + strings.ReplaceAll(user, ":", "-") }

// writeUsers writes the file of kube-apiserver's --token-auth-file, and a kubeconfig for each user.
func (c *Cluster) writeUsers() error {
	var lines []string
	for user, group := range map[string]string{
		admin: "system:masters", kwok: "system:masters", provisioner: "system:masters",
		controllerManager: "", scheduler: "",
	} {
		lines = append(lines, fmt.Sprintf("%s,%s,,%s", token(user), user, group))
		if err := c.writeKubeconfig(user); err != nil {
			return err
		}
	}
	return writeFile(c.home.dir, "tokens.csv", []byte(strings.Join(lines, "\n")+"\n"))
}

func (c *Cluster) kubeconfig(user string) string {
	return filepath.Join(c.home.dir, strings.ReplaceAll(user, ":", "-")+".kubeconfig")
}

func (c *Cluster) writeKubeconfig(user string) error {
	const name = "realcluster"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: c.url(), CertificateAuthorityData: c.ca.pem}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: token(user)}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, c.kubeconfig(user)); err != nil {
		return fmt.Errorf("writing the kubeconfig of %s: %w", user, err)
	}
	return nil
}
