package api

import (
	"errors"
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/serving"
)

// ErrNoListener is returned by Kubeconfig for a server without Options.Listen.
var ErrNoListener = errors.New("the embedded API server listens on no address")

// contextName names cluster, user and context in the kubeconfig.
const contextName = "reconcile-sandbox"

// Kubeconfig returns a kubeconfig with the address, the certificate and the administrator's token of the server.
// Without Options.Listen it fails with ErrNoListener.
func (s *Server) Kubeconfig() ([]byte, error) {
	if s.listener == nil {
		return nil, ErrNoListener
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[contextName] = &clientcmdapi.Cluster{Server: s.listener.URL,
		CertificateAuthorityData: s.listener.CA}
	config.AuthInfos[contextName] = &clientcmdapi.AuthInfo{Token: s.admin.BearerToken}
	config.Contexts[contextName] = &clientcmdapi.Context{Cluster: contextName, AuthInfo: contextName,
		Namespace: "default"}
	config.CurrentContext = contextName
	data, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encoding the kubeconfig: %w", err)
	}
	return data, nil
}

// WriteKubeconfig writes Kubeconfig to path with mode 0600, replacing what is there in one step: a reader sees the old
// file or the whole of this one. A symbolic link at path is replaced, not followed.
func (s *Server) WriteKubeconfig(path string) error {
	data, err := s.Kubeconfig()
	if err != nil {
		return err
	}
	if err := serving.WritePrivate(path, data); err != nil {
		return fmt.Errorf("writing kubeconfig %q: %w", path, err)
	}
	return nil
}
