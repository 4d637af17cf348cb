package run

import (
	"crypto"
	"crypto/tls"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

// The flags of authorityFlags are called as kube-controller-manager's.
const (
	accountKeyFlag  = "service-account-private-key-file"
	rootCAFlag      = "root-ca-file"
	signingCertFlag = "cluster-signing-cert-file"
	signingKeyFlag  = "cluster-signing-key-file"
)

// authorityFlags are the files that a control plane starts kube-controller-manager with, and that no API gives. Nothing
// is taken from the kubeconfig in their place: what a user's connection trusts need not be what pods are to trust.
type authorityFlags struct {
	accountKey  string
	rootCA      string
	signingCert string
	signingKey  string
}

func (f *authorityFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.accountKey, accountKeyFlag, "",
		"on a cluster, file with the private key of service accounts, for the controller serviceaccount-token")
	flags.StringVar(&f.rootCA, rootCAFlag, "",
		"on a cluster, file with the CA certificates by which pods verify the API server, "+
			"for the controllers that publish them")
	flags.StringVar(&f.signingCert, signingCertFlag, "",
		"on a cluster, file with the certificate of the authority that signs certificates, "+
			"for the controller csrsigning")
	flags.StringVar(&f.signingKey, signingKeyFlag, "",
		"on a cluster, file with the private key of the certificate of --cluster-signing-cert-file")
}

// isAuthorityFlag reports whether a flag is one of authorityFlags.
func isAuthorityFlag(flag string) bool {
	switch flag {
	case accountKeyFlag, rootCAFlag, signingCertFlag, signingKeyFlag:
		return true
	}
	return false
}

// authority reads the files that were given.
func (f *authorityFlags) authority() (controllers.Authority, error) {
	a := controllers.Authority{SigningCertFile: f.signingCert, SigningKeyFile: f.signingKey}
	var errs []error
	if f.accountKey != "" {
		var err error
		a.ServiceAccountKey, err = readSigner(f.accountKey)
		errs = append(errs, ofFlag(accountKeyFlag, err))
	}
	if f.rootCA != "" {
		var err error
		a.RootCA, err = readCertificates(f.rootCA)
		errs = append(errs, ofFlag(rootCAFlag, err))
	}
	return a, errors.Join(append(errs, f.signing())...)
}

// signing checks the pair of files that the controller reads itself.
func (f *authorityFlags) signing() error {
	switch {
	case f.signingCert == "" && f.signingKey == "":
		return nil
	case f.signingCert == "":
		return fmt.Errorf("--%s needs --%s", signingKeyFlag, signingCertFlag)
	case f.signingKey == "":
		return fmt.Errorf("--%s needs --%s", signingCertFlag, signingKeyFlag)
	}
	certificates, err := cert.CertsFromFile(f.signingCert)
	if err == nil && len(certificates) != 1 {
		err = fmt.Errorf("%s holds %s, and one can sign", f.signingCert, cli.Plural(len(certificates), "certificate"))
	}
	if err != nil {
		return ofFlag(signingCertFlag, err)
	}
	_, err = tls.LoadX509KeyPair(f.signingCert, f.signingKey)
	return ofFlag(signingKeyFlag, err)
}

// readSigner reads a private key in PEM.
func readSigner(path string) (crypto.Signer, error) {
	key, err := keyutil.PrivateKeyFromFile(path)
	if err != nil {
		return nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s holds a %T, which cannot sign", path, key)
	}
	return signer, nil
}

// readCertificates returns the text of a file of certificates in PEM.
func readCertificates(path string) ([]byte, error) {
	text, err := os.ReadFile(path) //nolint:gosec // G304: the user names it
	if err != nil {
		return nil, err
	}
	if _, err := cert.ParseCertsPEM(text); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return text, nil
}

func ofFlag(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("reading the file of --%s: %w", name, err)
}

// flagsFor are the flags that give what a controller lacks, for a hint.
func flagsFor(lack string) string {
	switch lack {
	case controllers.MissingRootCA:
		return "--" + rootCAFlag
	case controllers.MissingServiceAccountKey:
		return "--" + accountKeyFlag
	case controllers.MissingSigningAuthority:
		return "--" + signingCertFlag + " and --" + signingKeyFlag
	}
	return ""
}
