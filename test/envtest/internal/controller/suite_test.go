package controller

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v2 "github.com/kubectl-reconcile/kubectl-reconcile/test/envtest/api/v2"
)

var (
	ctx       context.Context
	cancel    context.CancelFunc
	testEnv   *envtest.Environment
	k8sClient client.Client
	released  sync.Map
)

// wait is how long what the controllers do may take.
const wait = "20s"

// withControllers is set if the control plane runs Kubernetes' own controllers, which envtest's does not.
var withControllers = os.Getenv("KUBECTL_RECONCILE_CONTROLLERS") != ""

func TestControllers(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Controller Suite")
}

var _ = BeforeSuite(func() {
	logf.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	ctx, cancel = context.WithCancel(context.Background())
	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(v2.AddToScheme(scheme)).To(Succeed())
	testEnv = &envtest.Environment{
		Scheme:                scheme,
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "config", "crd")},
		ErrorIfCRDPathMissing: true,
	}
	cfg, err := testEnv.Start()
	Expect(err).NotTo(HaveOccurred())
	k8sClient, err = client.New(cfg, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
	})
	Expect(err).NotTo(HaveOccurred())
	Expect((&StorefrontReconciler{
		Client: mgr.GetClient(), Recorder: mgr.GetEventRecorder("storefront-controller"),
		Released: func(key client.ObjectKey) { released.Store(key, true) },
	}).SetupWithManager(mgr)).To(Succeed())
	go func() {
		defer GinkgoRecover()
		Expect(mgr.Start(ctx)).To(Succeed())
	}()
})

var _ = AfterSuite(func() {
	cancel()
	Expect(testEnv.Stop()).To(Succeed())
})

// inNamespace makes a namespace for one test.
func inNamespace() string {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "shop-"}}
	Expect(k8sClient.Create(ctx, namespace)).To(Succeed())
	return namespace.Name
}

// open creates a storefront, and waits for its Deployment.
func open(namespace string) (*v2.Storefront, *appsv1.Deployment) {
	shop := &v2.Storefront{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: namespace},
		Spec: v2.StorefrontSpec{Image: v2.Image{Repository: "registry.example/shop", Tag: "1.0"},
			Replicas: new(int32(2)), Currency: "EUR"},
	}
	Expect(k8sClient.Create(ctx, shop)).To(Succeed())
	deployment := &appsv1.Deployment{}
	Eventually(func() error { return get(shop, deployment) }, wait).Should(Succeed())
	return shop, deployment
}

func get(of, into client.Object) error {
	return k8sClient.Get(ctx, client.ObjectKeyFromObject(of), into)
}

var _ = Describe("The controller of storefronts", func() {
	It("makes a Deployment that the storefront owns", func() {
		shop, deployment := open(inNamespace())
		Expect(metav1.IsControlledBy(deployment, shop)).To(BeTrue())
		Expect(*deployment.Spec.Replicas).To(BeEquivalentTo(2))
		Expect(deployment.Spec.Template.Spec.Containers[0].Image).To(Equal("registry.example/shop:1.0"))
		Expect(deployment.Spec.RevisionHistoryLimit).NotTo(BeNil(), "the API server sets defaults")
		Eventually(func(g Gomega) {
			var list eventsv1.EventList
			g.Expect(k8sClient.List(ctx, &list, client.InNamespace(shop.Namespace))).To(Succeed())
			var reasons []string
			for _, e := range list.Items {
				reasons = append(reasons, e.Reason)
			}
			g.Expect(reasons).To(ContainElement("Opened"))
		}, wait).Should(Succeed())
	})

	It("follows changes of the storefront", func() {
		shop, deployment := open(inNamespace())
		Eventually(func() error {
			if err := get(shop, shop); err != nil {
				return err
			}
			shop.Spec.Replicas = new(int32(3))
			return k8sClient.Update(ctx, shop)
		}, wait).Should(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(get(deployment, deployment)).To(Succeed())
			g.Expect(*deployment.Spec.Replicas).To(BeEquivalentTo(3))
			g.Expect(get(shop, shop)).To(Succeed())
			g.Expect(shop.Status.ObservedGeneration).To(Equal(shop.Generation))
		}, wait).Should(Succeed())
	})

	It("makes the Deployment again when it is deleted", func() {
		_, deployment := open(inNamespace())
		before := deployment.UID
		Expect(k8sClient.Delete(ctx, deployment)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(get(deployment, deployment)).To(Succeed())
			g.Expect(deployment.UID).NotTo(Equal(before))
		}, wait).Should(Succeed())
	})

	It("reports when the Deployment is ready", func() {
		shop, deployment := open(inNamespace())
		if !withControllers { // as tests with envtest do, where nothing else sets the status
			deployment.Status.Replicas, deployment.Status.ReadyReplicas = 2, 2
			Expect(k8sClient.Status().Update(ctx, deployment)).To(Succeed())
		}
		Eventually(func(g Gomega) {
			g.Expect(get(shop, shop)).To(Succeed())
			g.Expect(meta.IsStatusConditionTrue(shop.Status.Conditions, "Ready")).To(BeTrue())
			g.Expect(shop.Status.ReadyReplicas).To(BeEquivalentTo(2))
		}, wait).Should(Succeed())
	})

	It("releases the domain before the storefront goes", func() {
		shop, _ := open(inNamespace())
		Eventually(func(g Gomega) {
			g.Expect(get(shop, shop)).To(Succeed())
			g.Expect(shop.Finalizers).To(ContainElement(Finalizer))
		}, wait).Should(Succeed())
		Expect(k8sClient.Delete(ctx, shop)).To(Succeed())
		Eventually(func() bool { return apierrors.IsNotFound(get(shop, shop)) }, wait).Should(BeTrue())
		_, ok := released.Load(client.ObjectKeyFromObject(shop))
		Expect(ok).To(BeTrue())
	})

	Context("with Kubernetes' own controllers", func() {
		BeforeEach(func() {
			if !withControllers {
				Skip("envtest has none")
			}
		})

		It("leaves its Deployment to the garbage collector", func() {
			shop, deployment := open(inNamespace())
			Expect(k8sClient.Delete(ctx, shop)).To(Succeed())
			Eventually(func() bool { return apierrors.IsNotFound(get(deployment, deployment)) }, wait).Should(BeTrue())
			Eventually(func(g Gomega) {
				var pods corev1.PodList
				g.Expect(k8sClient.List(ctx, &pods, client.InNamespace(shop.Namespace))).To(Succeed())
				g.Expect(pods.Items).To(BeEmpty())
			}, wait).Should(Succeed())
		})

		It("goes away with its namespace", func() {
			namespace := inNamespace()
			open(namespace)
			object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
			Expect(k8sClient.Delete(ctx, object)).To(Succeed())
			// The namespace controller comes back for what has finalizers after 8 s, as on a cluster.
			Eventually(func() bool { return apierrors.IsNotFound(get(object, object)) }, "60s").Should(BeTrue())
		})
	})
})
