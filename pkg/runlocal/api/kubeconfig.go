package api

import (
	"cmp"
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

// KubeconfigOptions are what a kubeconfig has beside the address and the certificate of a server. The zero value is for
// the administrator of a sandbox.
type KubeconfigOptions struct {
	// Name names cluster, user and context; empty means reconcile-sandbox.
	Name string
	// Namespace is that of the context; empty means default.
	Namespace string
	// Token is the user's bearer token; empty means the administrator's.
	Token string
}

// Kubeconfig returns a kubeconfig with the address, the certificate and the administrator's token of the server.
// Without Options.Listen it fails with ErrNoListener.
func (s *Server) Kubeconfig() ([]byte, error) { return s.KubeconfigWith(KubeconfigOptions{}) }

// KubeconfigWith is Kubeconfig with options.
func (s *Server) KubeconfigWith(o KubeconfigOptions) ([]byte, error) {
	if s.listener == nil {
		return nil, ErrNoListener
	}
	name := cmp.Or(o.Name, contextName)
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: s.listener.URL, CertificateAuthorityData: s.listener.CA}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: cmp.Or(o.Token, s.admin.BearerToken)}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name,
		Namespace: cmp.Or(o.Namespace, "default")}
	config.CurrentContext = name
	data, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encoding the kubeconfig: %w", err)
	}
	return data, nil
}

// WriteKubeconfig writes Kubeconfig to path with mode 0600, replacing what is there in one step: a reader sees the old
// file or the whole of this one. A symbolic link at path is replaced, not followed.
func (s *Server) WriteKubeconfig(path string) error {
	return s.WriteKubeconfigWith(path, KubeconfigOptions{})
}

// WriteKubeconfigWith is WriteKubeconfig with options.
func (s *Server) WriteKubeconfigWith(path string, o KubeconfigOptions) error {
	data, err := s.KubeconfigWith(o)
	if err != nil {
		return err
	}
	if err := serving.WritePrivate(path, data); err != nil {
		return fmt.Errorf("writing kubeconfig %q: %w", path, err)
	}
	return nil
}
