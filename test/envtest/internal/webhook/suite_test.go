package webhook

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	v1 "github.com/kubectl-reconcile/kubectl-reconcile/test/envtest/api/v1"
	v2 "github.com/kubectl-reconcile/kubectl-reconcile/test/envtest/api/v2"
)

var (
	ctx       context.Context
	cancel    context.CancelFunc
	testEnv   *envtest.Environment
	cfg       *rest.Config
	k8sClient client.Client
	warnings  []string
)

func TestWebhooks(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Webhook Suite")
}

// collector keeps the warnings of the API server.
type collector struct{}

func (collector) HandleWarningHeader(_ int, _ string, text string) { warnings = append(warnings, text) }

var _ = BeforeSuite(func() {
	logf.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	ctx, cancel = context.WithCancel(context.Background())
	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(v1.AddToScheme(scheme)).To(Succeed())
	Expect(v2.AddToScheme(scheme)).To(Succeed())
	testEnv = &envtest.Environment{
		Scheme:                scheme,
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "config", "crd")},
		ErrorIfCRDPathMissing: true,
		WebhookInstallOptions: envtest.WebhookInstallOptions{
			Paths: []string{filepath.Join("..", "..", "config", "webhook")},
		},
	}
	var err error
	cfg, err = testEnv.Start()
	Expect(err).NotTo(HaveOccurred())
	collecting := rest.CopyConfig(cfg)
	collecting.WarningHandler = collector{}
	k8sClient, err = client.New(collecting, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	hooks := testEnv.WebhookInstallOptions
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: hooks.LocalServingHost, Port: hooks.LocalServingPort, CertDir: hooks.LocalServingCertDir,
		}),
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(SetupWithManager(mgr)).To(Succeed())
	go func() {
		defer GinkgoRecover()
		Expect(mgr.Start(ctx)).To(Succeed())
	}()
	Eventually(func() error {
		address := net.JoinHostPort(hooks.LocalServingHost, strconv.Itoa(hooks.LocalServingPort))
		conn, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Second}, "tcp", address,
			&tls.Config{InsecureSkipVerify: true}) //nolint:gosec // G402: only whether it listens
		if err != nil {
			return err
		}
		return conn.Close()
	}, "10s").Should(Succeed())
})

var _ = AfterSuite(func() {
	cancel()
	Expect(testEnv.Stop()).To(Succeed())
})

func storefront(name string) *v2.Storefront {
	return &v2.Storefront{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec:       v2.StorefrontSpec{Image: v2.Image{Repository: "registry.example/shop"}, Currency: "EUR"},
	}
}

var _ = Describe("Storefronts", func() {
	It("get defaults", func() {
		shop := storefront("defaults")
		Expect(k8sClient.Create(ctx, shop)).To(Succeed())
		Expect(*shop.Spec.Replicas).To(BeEquivalentTo(2))
		Expect(shop.Spec.Image.Tag).To(Equal("stable"))
	})

	It("are refused by the validating webhook", func() {
		shop := storefront("latest")
		shop.Spec.Image.Tag = "latest"
		err := k8sClient.Create(ctx, shop)
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(ContainSubstring("latest is not allowed")))
	})

	It("are accepted with a warning", func() {
		shop := storefront("warned")
		shop.Spec.Currency = ""
		Expect(k8sClient.Create(ctx, shop)).To(Succeed())
		Expect(warnings).To(ContainElement(ContainSubstring("prices are shown without one")))
	})

	It("are refused by their schema, and by its rules", func() {
		shop := storefront("negative")
		shop.Spec.Replicas = new(int32(-1))
		Expect(apierrors.IsInvalid(k8sClient.Create(ctx, shop))).To(BeTrue())
		shop = storefront("many")
		shop.Spec.Replicas = new(int32(11))
		Expect(k8sClient.Create(ctx, shop)).To(MatchError(ContainSubstring("at most 10 replicas")))
	})

	It("keep their currency", func() {
		shop := storefront("currency")
		Expect(k8sClient.Create(ctx, shop)).To(Succeed())
		shop.Spec.Currency = "GBP"
		Expect(k8sClient.Update(ctx, shop)).To(MatchError(ContainSubstring(`cannot be changed from "EUR"`)))
	})

	It("are not deleted while they are protected", func() {
		shop := storefront("protected")
		shop.Annotations = map[string]string{protected: "true"}
		Expect(k8sClient.Create(ctx, shop)).To(Succeed())
		Expect(k8sClient.Delete(ctx, shop)).To(MatchError(ContainSubstring("it is protected")))
		shop.Annotations = nil
		Expect(k8sClient.Update(ctx, shop)).To(Succeed())
		Expect(k8sClient.Delete(ctx, shop)).To(Succeed())
	})

	It("are converted between versions", func() {
		old := &v1.Storefront{ObjectMeta: metav1.ObjectMeta{Name: "old", Namespace: "default"},
			Spec: v1.StorefrontSpec{Image: "registry.example/shop:1.2"}}
		Expect(k8sClient.Create(ctx, old)).To(Succeed())
		var stored v2.Storefront
		Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(old), &stored)).To(Succeed())
		Expect(stored.Spec.Image).To(Equal(v2.Image{Repository: "registry.example/shop", Tag: "1.2"}))
		Expect(*stored.Spec.Replicas).To(BeEquivalentTo(2)) // the webhook for v2 is called for v1 too

		shop := storefront("new")
		Expect(k8sClient.Create(ctx, shop)).To(Succeed())
		var list v1.StorefrontList
		Expect(k8sClient.List(ctx, &list)).To(Succeed())
		var images []string
		for _, item := range list.Items {
			images = append(images, item.Spec.Image)
		}
		Expect(images).To(ContainElements("registry.example/shop:1.2", "registry.example/shop:stable"))
	})

	It("are applied server-side by two managers, who conflict", func() {
		for _, manager := range []string{"alice", "bob"} {
			shop := storefront("applied")
			shop.TypeMeta = metav1.TypeMeta{APIVersion: v2.GroupVersion.String(), Kind: "Storefront"}
			shop.Spec.Image.Tag = manager
			err := k8sClient.Patch(ctx, shop, client.Apply, client.FieldOwner(manager)) //nolint:staticcheck // typed
			Expect(apierrors.IsConflict(err)).To(Equal(manager == "bob"), "%v", err)
		}
	})

	It("are read by a user who may, and not by one who may not", func() {
		reader, err := testEnv.AddUser(envtest.User{Name: "reader", Groups: []string{"system:masters"}}, cfg)
		Expect(err).NotTo(HaveOccurred())
		stranger, err := testEnv.AddUser(envtest.User{Name: "stranger", Groups: []string{"guests"}}, cfg)
		Expect(err).NotTo(HaveOccurred())
		may, err := client.New(reader.Config(), client.Options{Scheme: k8sClient.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		Expect(may.List(ctx, &v2.StorefrontList{})).To(Succeed())
		_, err = client.New(stranger.Config(), client.Options{Scheme: k8sClient.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		mayNot, err := client.New(stranger.Config(), client.Options{Scheme: k8sClient.Scheme(), Mapper: may.RESTMapper()})
		Expect(err).NotTo(HaveOccurred())
		err = mayNot.List(ctx, &corev1.SecretList{})
		Expect(err).To(MatchError(ContainSubstring(`User "stranger" cannot list resource "secrets"`)))
	})

	It("are seen by kubectl", func() {
		user, err := testEnv.AddUser(envtest.User{Name: "kubectl", Groups: []string{"system:masters"}}, cfg)
		Expect(err).NotTo(HaveOccurred())
		kubectl, err := user.Kubectl()
		Expect(err).NotTo(HaveOccurred())
		out, _, err := kubectl.Run("get", "storefronts.v2.shop.example.com", "--all-namespaces")
		if err != nil {
			Skip("kubectl does not run: " + err.Error())
		}
		text := new(string)
		Expect(readAll(out, text)).To(Succeed())
		Expect(*text).To(ContainSubstring("READY"))
	})
})

func readAll(r io.Reader, into *string) error {
	data, err := io.ReadAll(r)
	*into = string(data)
	return err
}
