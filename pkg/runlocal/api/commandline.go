package api

import (
	"context"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/admission"
	apiserverinstall "k8s.io/apiserver/pkg/apis/apiserver/install"
	"k8s.io/apiserver/pkg/audit"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/resourceconfig"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/keyutil"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/capabilities"
	controlplaneoptions "k8s.io/kubernetes/pkg/controlplane/apiserver/options"
	kubeauthenticator "k8s.io/kubernetes/pkg/kubeapiserver/authenticator"
	kubeoptions "k8s.io/kubernetes/pkg/kubeapiserver/options"
	"k8s.io/kubernetes/pkg/serviceaccount"
	"k8s.io/kubernetes/plugin/pkg/auth/authenticator/token/bootstrap"
	netutils "k8s.io/utils/net"
)

// CommandLine are the options of a kube-apiserver's command line, for a server that stands in for a kube-apiserver, as
// NewCommandLine returns them. Used are those of serving, authentication, authorization, admission, audit, the served
// API versions, service accounts, addresses of Services, and limits of requests. Feature gates and privileged
// containers are settings of the process: of several servers in one process, the first decides.
type CommandLine struct{ *options.ServerRunOptions }

// applyTo replaces the options that a command line has too.
func (l *CommandLine) applyTo(o *Options) {
	o.Listen = net.JoinHostPort(l.SecureServing.BindAddress.String(), strconv.Itoa(l.SecureServing.BindPort))
	o.AllowRemote = true // --bind-address says so
	o.EnableAdmission, o.DisableAdmission = l.Admission.GenericAdmission.EnablePlugins,
		l.Admission.GenericAdmission.DisablePlugins
	if named := l.Admission.PluginNames; named != nil { // as computePluginNames of pkg/kubeapiserver/options does
		o.EnableAdmission = named
		o.DisableAdmission = slices.DeleteFunc(slices.Clone(kubeoptions.AllOrderedPlugins),
			func(name string) bool { return slices.Contains(named, name) })
	}
	o.ServiceRanges = []string{l.PrimaryServiceClusterIPRange.String()}
	if l.SecondaryServiceClusterIPRange.IP != nil {
		o.ServiceRanges = append(o.ServiceRanges, l.SecondaryServiceClusterIPRange.String())
	}
	capabilities.Setup(l.AllowPrivileged, 0)
}

// tlsSettings returns the settings of the socket, and the certificate in PEM.
func (l *CommandLine) tlsSettings() (*tls.Config, []byte, error) {
	pair := l.SecureServing.ServerCert.CertKey
	certificate, err := tls.LoadX509KeyPair(pair.CertFile, pair.KeyFile)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the serving certificate: %w", err)
	}
	encoded, err := os.ReadFile(pair.CertFile)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the serving certificate: %w", err)
	}
	settings := &tls.Config{
		Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2", "http/1.1"},
		MinVersion: tls.VersionTLS12, // upstream's default too
	}
	if l.SecureServing.DisableHTTP2Serving {
		settings.NextProtos = []string{"http/1.1"}
	}
	if settings.MinVersion, err = cliflag.TLSVersion(l.SecureServing.MinTLSVersion); err != nil {
		return nil, nil, err
	}
	if suites := l.SecureServing.CipherSuites; len(suites) > 0 {
		if settings.CipherSuites, err = cliflag.TLSCipherSuites(suites); err != nil {
			return nil, nil, err
		}
	}
	if curves := l.SecureServing.CurvePreferences; len(curves) > 0 {
		if settings.CurvePreferences, err = cliflag.TLSCurvePreferences(curves); err != nil {
			return nil, nil, err
		}
	}
	return settings, encoded, nil
}

// clientAuthorities returns, in PEM, the authorities whose certificates clients are requested to send.
func (l *CommandLine) clientAuthorities() ([]byte, error) {
	var all []byte
	for _, file := range []string{l.Authentication.ClientCert.ClientCA, l.Authentication.RequestHeader.ClientCAFile} {
		if file == "" {
			continue
		}
		encoded, err := os.ReadFile(file) //nolint:gosec // G304: the command line says which
		if err != nil {
			return nil, fmt.Errorf("reading the authorities of client certificates: %w", err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(encoded) {
			return nil, fmt.Errorf("reading the authorities of client certificates: %q has no certificate", file)
		}
		all = append(append(all, encoded...), '\n')
	}
	return all, nil
}

// served returns the API versions that --runtime-config leaves of those that are served by default, and adds.
func (l *CommandLine) served() (*serverstorage.ResourceConfig, error) {
	served, err := resourceconfig.MergeAPIResourceConfigs(servedVersions(), l.APIEnablement.RuntimeConfig,
		legacyscheme.Scheme)
	if err != nil {
		return nil, fmt.Errorf("choosing the API versions to serve: %w", err)
	}
	return served, nil
}

// configureGeneric applies the options of requests.
func (l *CommandLine) configureGeneric(c *genericapiserver.Config) {
	address, version := c.ExternalAddress, c.EffectiveVersion
	_ = l.GenericServerRunOptions.ApplyTo(c) // fails only if the registry was not set, which NewCommandLine has done
	c.ExternalAddress, c.EffectiveVersion = address, version
	c.EnableProfiling, c.EnableContentionProfiling = l.Features.EnableProfiling, l.Features.EnableContentionProfiling
}

// auditing returns what records requests, and what decides which; both are nil without a policy.
func (l *CommandLine) auditing() (audit.Backend, audit.PolicyRuleEvaluator, error) {
	var c genericapiserver.Config
	if err := l.Audit.ApplyTo(&c); err != nil {
		return nil, nil, fmt.Errorf("setting up the audit log: %w", err)
	}
	return c.AuditBackend, c.AuditPolicyRuleEvaluator, nil
}

// pluginConfig returns the configuration of the admission plugins.
func (l *CommandLine) pluginConfig(names []string) (admission.ConfigProvider, error) {
	scheme := runtime.NewScheme()
	apiserverinstall.Install(scheme)
	config, err := admission.ReadAdmissionConfiguration(names, l.Admission.GenericAdmission.ConfigFile, scheme)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of the admission plugins: %w", err)
	}
	return config, nil
}

// useCommandLine authenticates and authorizes by a command line. It mirrors BuiltInAuthenticationOptions.ApplyTo of
// k8s.io/kubernetes/pkg/kubeapiserver/options/authentication.go and BuildAuthorizer of
// k8s.io/kubernetes/pkg/controlplane/apiserver/config.go.
func (id *auth) useCommandLine(ctx context.Context, client kubernetes.Interface,
	factory informers.SharedInformerFactory, o Options) error {
	l := o.CommandLine
	if err := id.useSigningKey(l.ServiceAccountSigningKeyFile); err != nil {
		return err
	}
	id.issuer, id.issuers = l.ServiceAccountIssuer, l.Authentication.ServiceAccounts.Issuers
	id.jwksURI = l.Authentication.ServiceAccounts.JWKSURI
	config, err := l.Authentication.ToAuthenticationConfig()
	if err != nil {
		return fmt.Errorf("reading the options of authentication: %w", err)
	}
	id.keys, id.audiences = config.ServiceAccountPublicKeysGetter, config.APIAudiences
	if id.requestHeaders = config.RequestHeaderConfig; id.requestHeaders != nil {
		id.follow(id.requestHeaders.CAContentProvider)
	}
	id.follow(config.ClientCAContentProvider)
	config.ServiceAccountTokenGetter, config.SecretsWriter = tokenObjectGetter{client}, client.CoreV1()
	if config.BootstrapToken {
		config.BootstrapTokenAuthenticator = bootstrap.NewTokenAuthenticator(
			factory.Core().V1().Secrets().Lister().Secrets("kube-system"))
	}
	if err := id.acceptAuthorities(&config, o.ClientCA); err != nil {
		return err
	}
	if err := id.finishAuthenticator(ctx, config, nil); err != nil {
		return err
	}
	access, err := l.Authorization.ToAuthorizationConfig(factory)
	if err != nil {
		return fmt.Errorf("reading the options of authorization: %w", err)
	}
	if id.authorizer, id.rules, err = access.New(ctx, "kube-apiserver"); err != nil {
		return fmt.Errorf("building the authorizer: %w", err)
	}
	return nil
}

// follow adds authorities to files, if they are in a file.
func (id *auth) follow(authorities dynamiccertificates.CAContentProvider) {
	if file, ok := authorities.(dynamiccertificates.ControllerRunner); ok {
		id.files = append(id.files, file)
	}
}

// useSigningKey reads the key of service account tokens, for the controllers. Without one there is none that the
// server accepts.
func (id *auth) useSigningKey(file string) error {
	if file == "" {
		return id.makeKey()
	}
	key, err := keyutil.PrivateKeyFromFile(file)
	if err != nil {
		return fmt.Errorf("reading the key for service account tokens: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return fmt.Errorf("reading the key for service account tokens: %q has a %T", file, key)
	}
	id.key = signer
	return nil
}

// acceptAuthorities lets a further authority sign client certificates, if it is not nil.
func (id *auth) acceptAuthorities(config *kubeauthenticator.Config, more []byte) error {
	if more != nil {
		further, err := dynamiccertificates.NewStaticCAContent("client-ca", more)
		if err != nil {
			return fmt.Errorf("reading the authority of client certificates: %w", err)
		}
		if config.ClientCAContentProvider == nil {
			config.ClientCAContentProvider = further
		} else {
			config.ClientCAContentProvider = dynamiccertificates.NewUnionCAContentProvider(
				config.ClientCAContentProvider, further)
		}
	}
	id.clientCA = config.ClientCAContentProvider
	return nil
}

// NewCommandLine completes and validates the options that were parsed, as kube-apiserver does before it starts. It
// changes them, reads the files that they name, makes a serving certificate where there is none, and sets the feature
// gates of the process.
func NewCommandLine(o *options.ServerRunOptions) (*CommandLine, error) {
	if err := o.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, err
	}
	l := &CommandLine{o}
	if err := l.complete(); err != nil {
		return nil, err
	}
	if err := utilerrors.NewAggregate(o.Validate()); err != nil {
		return nil, err
	}
	o.Metrics.Apply()
	return l, nil
}

// complete sets what is not given. It mirrors ServerRunOptions.Complete of
// k8s.io/kubernetes/cmd/kube-apiserver/app/options/completion.go and Options.Complete of
// k8s.io/kubernetes/pkg/controlplane/apiserver/options/options.go, without the signer of tokens in another process,
// which would link a client of gRPC.
func (l *CommandLine) complete() error {
	if err := l.completeServiceRanges(); err != nil {
		return err
	}
	run := l.GenericServerRunOptions
	if err := run.Complete(); err != nil {
		return err
	}
	if err := run.DefaultAdvertiseAddress(l.SecureServing.SecureServingOptions); err != nil {
		return err
	}
	if err := l.SecureServing.MaybeDefaultWithSelfSignedCerts(run.AdvertiseAddress.String(),
		[]string{"kubernetes.default.svc", "kubernetes.default", "kubernetes"},
		[]net.IP{l.APIServerServiceIP}); err != nil {
		return fmt.Errorf("making a serving certificate: %w", err)
	}
	if run.ExternalHost == "" {
		run.ExternalHost = run.AdvertiseAddress.String()
	}
	l.Authorization.Complete()
	l.Authentication.ApplyAuthorization(l.Authorization)
	for key, value := range l.APIEnablement.RuntimeConfig {
		switch {
		case key == "v1" || strings.HasPrefix(key, "v1/") || key == "api/v1" || strings.HasPrefix(key, "api/v1/"):
			delete(l.APIEnablement.RuntimeConfig, key)
			l.APIEnablement.RuntimeConfig["/v1"] = value
		case key == "api/legacy":
			delete(l.APIEnablement.RuntimeConfig, key)
		}
	}
	return l.completeServiceAccounts()
}

// completeServiceRanges reads --service-cluster-ip-range: one range, or one of each family.
func (l *CommandLine) completeServiceRanges() error {
	var ranges [2]net.IPNet
	if l.ServiceClusterIPRanges != "" {
		parts := strings.Split(l.ServiceClusterIPRanges, ",")
		if len(parts) > len(ranges) {
			return errors.New("--service-cluster-ip-range must not contain more than two entries")
		}
		for i, text := range parts {
			_, one, err := netutils.ParseCIDRSloppy(text)
			if err != nil {
				return fmt.Errorf("service-cluster-ip-range[%d] is not a valid cidr", i)
			}
			ranges[i] = *one
		}
	}
	var err error
	l.PrimaryServiceClusterIPRange, l.APIServerServiceIP, err = controlplaneoptions.ServiceIPRange(ranges[0])
	if err != nil {
		return fmt.Errorf("error determining service IP ranges for primary service cidr: %w", err)
	}
	l.SecondaryServiceClusterIPRange = ranges[1]
	if ranges[1].IP != nil && netutils.IsIPv6CIDR(&ranges[0]) == netutils.IsIPv6CIDR(&ranges[1]) {
		return errors.New(
			"--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family")
	}
	return nil
}

// completeServiceAccounts makes what signs the tokens of service accounts.
func (l *CommandLine) completeServiceAccounts() error {
	accounts := l.Authentication.ServiceAccounts
	if most := accounts.MaxExpiration; most != 0 && (most < time.Hour || most > (1<<32)*time.Second) {
		return errors.New("the service-account-max-token-expiration must be between 1 hour and 2^32 seconds")
	}
	l.ServiceAccountTokenMaxExpiration = accounts.MaxExpiration
	if len(accounts.Issuers) == 0 || accounts.Issuers[0] == "" || l.ServiceAccountSigningKeyFile == "" {
		return nil
	}
	key, err := keyutil.PrivateKeyFromFile(l.ServiceAccountSigningKeyFile)
	if err != nil {
		return fmt.Errorf("failed to parse service-account-issuer-key-file: %w", err)
	}
	if l.ServiceAccountIssuer, err = serviceaccount.JWTTokenGenerator(accounts.Issuers[0], key); err != nil {
		return fmt.Errorf("failed to build token generator: %w", err)
	}
	return nil
}
