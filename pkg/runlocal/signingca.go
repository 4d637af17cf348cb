package runlocal

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/serving"
)

// signingAuthority is a certificate authority in files of a private folder, for the controller that signs certificates
// reads files. A nil one is that of a session without this controller.
type signingAuthority struct {
	dir      string
	cert     []byte // PEM
	certFile string
	keyFile  string
}

// newSigningAuthority makes a key and a self-signed certificate. remove must be called at the end.
func newSigningAuthority() (*signingAuthority, error) {
	certificate, key, err := selfSigned("kubectl-reconcile sandbox")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "kubectl-reconcile-ca-") // mode 0700
	if err != nil {
		return nil, fmt.Errorf("making a folder for the certificate authority: %w", err)
	}
	a := &signingAuthority{dir: dir, cert: certificate, certFile: filepath.Join(dir, "ca.crt"),
		keyFile: filepath.Join(dir, "ca.key")}
	err = errors.Join(serving.WritePrivate(a.certFile, certificate), serving.WritePrivate(a.keyFile, key))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("writing the certificate authority: %w", err), a.remove())
	}
	return a, nil
}

// remove removes the files. It may be called again.
func (a *signingAuthority) remove() error {
	if a == nil {
		return nil
	}
	return os.RemoveAll(a.dir)
}

// selfSigned makes a certificate authority of that name, both parts in PEM. It is valid for ten years: longer than the
// certificates that it signs, as a certificate is cut off at the end of its authority.
func selfSigned(name string) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("making the key of the certificate authority: %w", err)
	}
	config := cert.Config{CommonName: name, NotBefore: time.Now().Add(-time.Hour)} // clocks differ
	signed, err := cert.NewSelfSignedCACert(config, private)
	if err != nil {
		return nil, nil, fmt.Errorf("making the certificate of the certificate authority: %w", err)
	}
	certificate, err = cert.EncodeCertificates(signed)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding the certificate of the certificate authority: %w", err)
	}
	if key, err = keyutil.MarshalPrivateKeyToPEM(private); err != nil {
		return nil, nil, fmt.Errorf("encoding the key of the certificate authority: %w", err)
	}
	return certificate, key, nil
}

// prepare leaves to the controllers what the API server would do in their place, and makes what they sign with.
func (s *Session) prepare(o *Options) error {
	o.API.DefaultServiceAccounts = !o.NoDefaultAccounts && !o.API.NoDefaultAccounts && o.API.Recorded == nil &&
		!runs(o.Controllers, names.ServiceAccountController)
	if !runs(o.Controllers, names.CertificateSigningRequestSigningController) {
		return nil
	}
	var err error
	if s.signing, err = newSigningAuthority(); err != nil {
		return err
	}
	o.API.ClientCA = append(o.API.ClientCA, s.signing.cert...)
	return nil
}

// authority is what the controllers sign with: the keys of the session's own API server. It has been started.
func (s *Session) authority() (controllers.Authority, error) {
	root, err := s.server.RootCA()
	if err != nil {
		return controllers.Authority{}, err
	}
	a := controllers.Authority{RootCA: root, ServiceAccountKey: s.server.ServiceAccountKey()}
	if s.signing != nil {
		a.SigningCertFile, a.SigningKeyFile = s.signing.certFile, s.signing.keyFile
	}
	return a, nil
}

// runs reports whether a controller is among those that are run.
func runs(of []controllers.Controller, name string) bool {
	return slices.ContainsFunc(of, func(c controllers.Controller) bool { return c.Name == name })
}
