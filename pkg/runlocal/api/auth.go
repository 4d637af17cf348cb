package api

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
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

// audiences returns the audiences of tokens: the issuer, which is kube-apiserver's default.
func audiences() authenticator.Audiences { return authenticator.Audiences{issuerURL} }

// auth authenticates and authorizes requests, and issues the tokens of service accounts.
type auth struct {
	token         string // the administrator's bearer token
	authenticator authenticator.Request
	authorizer    authorizer.Authorizer
	rules         authorizer.RuleResolver
	key           *ecdsa.PrivateKey // of service account tokens
	issuer        serviceaccount.TokenGenerator
	keys          serviceaccount.PublicKeysGetter
	security      *spec.SecurityDefinitions // for OpenAPI v2
	schemes       spec3.SecuritySchemes     // the same for OpenAPI v3
	// clientCA are the authorities of client certificates; nil if none are accepted.
	clientCA dynamiccertificates.CAContentProvider
}

// newAuth generates a signing key and the administrator's token. Requests are authenticated by that token, by service
// account tokens, by certificates that Options.ClientCA has signed, or as anonymous; another token is rejected. Members
// of system:masters may do everything, all others what RBAC allows; with Options.Recorded all who authenticate may do
// everything.
func newAuth(
	ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, o Options,
) (*auth, error) {
	id := &auth{token: rand.Text()}
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

// makeIssuer generates the key of service account tokens, which lives as long as the server.
func (id *auth) makeIssuer() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making the key for service account tokens: %w", err)
	}
	id.key = key
	if id.issuer, err = serviceaccount.JWTTokenGenerator(issuerURL, key); err != nil {
		return fmt.Errorf("making the issuer of service account tokens: %w", err)
	}
	if id.keys, err = serviceaccount.StaticPublicKeysGetter([]any{&key.PublicKey}); err != nil {
		return fmt.Errorf("publishing the key for service account tokens: %w", err)
	}
	return nil
}

// makeAuthenticator checks the administrator's token before upstream's authenticator, so that most requests cost one
// lookup in a map.
func (id *auth) makeAuthenticator(ctx context.Context, client kubernetes.Interface, o Options) error {
	users := map[string]*user.DefaultInfo{id.token: {
		Name:   adminUser,
		Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated},
	}}
	if o.Recorded != nil {
		for _, u := range o.Recorded.Users {
			users[u.Token] = &user.DefaultInfo{Name: u.Name, Groups: []string{user.AllAuthenticated}}
		}
	}
	admin, clientCA := tokenfile.New(users), o.ClientCA
	config := kubeauthenticator.Config{
		Anonymous:                      apiserver.AnonymousAuthConfig{Enabled: true},
		APIAudiences:                   audiences(),
		ServiceAccountIssuers:          []string{issuerURL},
		ServiceAccountLookup:           true,
		ServiceAccountPublicKeysGetter: id.keys,
		ServiceAccountTokenGetter:      tokenObjectGetter{client},
		SecretsWriter:                  client.CoreV1(),
		TokenSuccessCacheTTL:           tokenCacheTTL,
	}
	if clientCA != nil {
		accepted, err := dynamiccertificates.NewStaticCAContent("client-ca", clientCA)
		if err != nil {
			return fmt.Errorf("reading the authority of client certificates: %w", err)
		}
		config.ClientCAContentProvider, id.clientCA = accepted, accepted
	}
	others, _, security, schemes, err := config.New(ctx)
	if err != nil {
		return fmt.Errorf("building the authenticator: %w", err)
	}
	id.security, id.schemes = security, schemes
	id.authenticator = union.New(
		bearertoken.New(authenticator.WrapAudienceAgnosticToken(audiences(), admin)),
		others,
	)
	return nil
}

// makeAuthorizer mirrors pkg/kubeapiserver/authorizer/reload.go for --authorization-mode=RBAC. The node authorizer is
// left out: it is for credentials of kubelets.
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
