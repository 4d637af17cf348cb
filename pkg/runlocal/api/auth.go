package api

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"maps"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	authorizerunion "k8s.io/apiserver/pkg/authorization/union"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
	kubeauthenticator "k8s.io/kubernetes/pkg/kubeapiserver/authenticator"
	"k8s.io/kubernetes/pkg/serviceaccount"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
)

const (
	// adminUser is the user of the server's bearer token, named as in kubeadm's admin.conf.
	adminUser = "kubernetes-admin"
	// issuerURL is kubeadm's --service-account-issuer.
	issuerURL = "https://kubernetes.default.svc.cluster.local"
	// maxExtendedExpiration is kube-apiserver's default.
	maxExtendedExpiration = serviceaccount.ExpirationExtensionSeconds * time.Second
	// tokenCacheTTL is kube-apiserver's --authentication-token-webhook-cache-ttl for tokens accepted. It saves a
	// signature check and two reads on every request with a service account's token.
	tokenCacheTTL = 10 * time.Second
)

// auth authenticates and authorizes requests, and issues the tokens of service accounts.
type auth struct {
	token         string // the administrator's bearer token
	authenticator authenticator.Request
	authorizer    authorizer.Authorizer
	rules         authorizer.RuleResolver
	key           crypto.Signer // of service account tokens
	issuer        serviceaccount.TokenGenerator
	issuers       []string                // of the tokens that are accepted; the first is that of issuer
	audiences     authenticator.Audiences // of tokens
	jwksURI       string                  // of the issuer's metadata; empty means where the server is
	keys          serviceaccount.PublicKeysGetter
	security      *spec.SecurityDefinitions // for OpenAPI v2
	schemes       spec3.SecuritySchemes     // the same for OpenAPI v3
	// clientCA are the authorities of client certificates; nil if none are accepted.
	clientCA dynamiccertificates.CAContentProvider
	// requestHeaders say who may name the user of a request in its headers; nil if none may.
	requestHeaders *authenticatorfactory.RequestHeaderConfig
	// files are authorities in files, which are read again when they change. They must be run.
	files []dynamiccertificates.ControllerRunner
}

// newAuth generates a signing key and the administrator's token. Requests are authenticated by that token, by service
// account tokens, by certificates that Options.ClientCA has signed, or as anonymous; another token is rejected. Members
// of system:masters may do everything, all others what RBAC allows; with Options.Recorded all who authenticate may do
// everything. With Options.CommandLine all of it but the administrator's token is as there.
func newAuth(
	ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, o Options,
) (*auth, error) {
	id := &auth{token: rand.Text()}
	if o.CommandLine != nil {
		return id, id.useCommandLine(ctx, client, factory, o)
	}
	if err := id.makeIssuer(); err != nil {
		return nil, err
	}
	if err := id.makeAuthenticator(ctx, client, o); err != nil {
		return nil, err
	}
	if o.Recorded != nil {
		all := newRecordedAuthorizer()
		id.authorizer, id.rules = all, all
		return id, nil
	}
	return id, id.makeAuthorizer(factory)
}

// makeKey generates the key of service account tokens, which lives as long as the server.
func (id *auth) makeKey() (err error) {
	if id.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return fmt.Errorf("making the key for service account tokens: %w", err)
	}
	return nil
}

// makeIssuer makes the issuer of service account tokens, with a separate key. Their audience is the issuer, which is
// kube-apiserver's default.
func (id *auth) makeIssuer() error {
	if err := id.makeKey(); err != nil {
		return err
	}
	id.issuers, id.audiences = []string{issuerURL}, authenticator.Audiences{issuerURL}
	var err error
	if id.issuer, err = serviceaccount.JWTTokenGenerator(issuerURL, id.key); err != nil {
		return fmt.Errorf("making the issuer of service account tokens: %w", err)
	}
	if id.keys, err = serviceaccount.StaticPublicKeysGetter([]any{id.key.Public()}); err != nil {
		return fmt.Errorf("publishing the key for service account tokens: %w", err)
	}
	return nil
}

// makeAuthenticator makes the authenticator of a server without a command line.
func (id *auth) makeAuthenticator(ctx context.Context, client kubernetes.Interface, o Options) error {
	users := map[string]*user.DefaultInfo{}
	if o.Recorded != nil {
		for _, u := range o.Recorded.Users {
			users[u.Token] = &user.DefaultInfo{Name: u.Name, Groups: []string{user.AllAuthenticated}}
		}
	}
	config := kubeauthenticator.Config{
		Anonymous:                      apiserver.AnonymousAuthConfig{Enabled: true},
		APIAudiences:                   id.audiences,
		ServiceAccountIssuers:          id.issuers,
		ServiceAccountLookup:           true,
		ServiceAccountPublicKeysGetter: id.keys,
		ServiceAccountTokenGetter:      tokenObjectGetter{client},
		SecretsWriter:                  client.CoreV1(),
		TokenSuccessCacheTTL:           tokenCacheTTL,
	}
	if err := id.acceptAuthorities(&config, o.ClientCA); err != nil {
		return err
	}
	return id.finishAuthenticator(ctx, config, users)
}

// finishAuthenticator checks the tokens of users, and the administrator's, before upstream's authenticator, so that
// most requests cost one lookup in a map.
func (id *auth) finishAuthenticator(ctx context.Context, config kubeauthenticator.Config,
	users map[string]*user.DefaultInfo) error {
	known := map[string]*user.DefaultInfo{id.token: {
		Name:   adminUser,
		Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated},
	}}
	maps.Copy(known, users)
	others, _, security, schemes, err := config.New(ctx)
	if err != nil {
		return fmt.Errorf("building the authenticator: %w", err)
	}
	id.security, id.schemes = security, schemes
	id.authenticator = union.New(
		bearertoken.New(authenticator.WrapAudienceAgnosticToken(id.audiences, tokenfile.New(known))),
		others,
	)
	return nil
}

// makeAuthorizer mirrors reloadableAuthorizerResolver.newForConfig of
// k8s.io/kubernetes/pkg/kubeapiserver/authorizer/reload.go for --authorization-mode=RBAC. The node authorizer is left
// out: it is for credentials of kubelets.
func (id *auth) makeAuthorizer(factory informers.SharedInformerFactory) error {
	objects := factory.Rbac().V1()
	byRole := rbac.New(
		&rbac.RoleGetter{Lister: objects.Roles().Lister()},
		&rbac.RoleBindingLister{Lister: objects.RoleBindings().Lister()},
		&rbac.ClusterRoleGetter{Lister: objects.ClusterRoles().Lister()},
		&rbac.ClusterRoleBindingLister{Lister: objects.ClusterRoleBindings().Lister()},
	)
	authz, err := authorizerunion.New(
		authorizerunion.NamedAuthorizer{AuthorizerName: "kubernetes.io/system-privileged-group",
			Authorizer: authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup)},
		authorizerunion.NamedAuthorizer{AuthorizerName: "rbac", Authorizer: byRole},
	)
	if err != nil {
		return fmt.Errorf("building the authorizer: %w", err)
	}
	id.authorizer, id.rules = authz, authorizerunion.NewRuleResolvers(byRole)
	return nil
}

// tokenObjectGetter reads the objects that a service account's token is bound to. Upstream's getter reads informers
// first, which would keep a second copy of every pod, secret and node in memory; here a request costs less than that.
type tokenObjectGetter struct{ client kubernetes.Interface }

var _ serviceaccount.ServiceAccountTokenGetter = tokenObjectGetter{}

// GetServiceAccount reads the account that the token is for.
func (b tokenObjectGetter) GetServiceAccount(
	ctx context.Context, namespace, name string,
) (*corev1.ServiceAccount, error) {
	return b.client.CoreV1().ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
}

// GetPod reads the pod with which the token expires.
func (b tokenObjectGetter) GetPod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return b.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
}

// GetSecret reads the secret with which the token expires.
func (b tokenObjectGetter) GetSecret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return b.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
}

// GetNode reads the node with which the token expires.
func (b tokenObjectGetter) GetNode(ctx context.Context, name string) (*corev1.Node, error) {
	return b.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
}

// GetValidatingWebhookConfiguration reads the configuration that the token was issued for.
func (b tokenObjectGetter) GetValidatingWebhookConfiguration(
	ctx context.Context, name string,
) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	return b.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
}

// GetMutatingWebhookConfiguration reads the configuration that the token was issued for.
func (b tokenObjectGetter) GetMutatingWebhookConfiguration(
	ctx context.Context, name string,
) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	return b.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
}
