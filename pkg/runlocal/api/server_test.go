package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

func TestSystemObjects(t *testing.T) {
	f := start(t, Options{})
	var namespaces []string
	list, err := f.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range list.Items {
		namespaces = append(namespaces, n.Name)
		if n.Status.Phase != corev1.NamespaceActive {
			t.Errorf("namespace %q is %q", n.Name, n.Status.Phase)
		}
		if _, err := f.CoreV1().ServiceAccounts(n.Name).Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
			t.Errorf("the default service account: %v", err)
		}
	}
	if diff := cmp.Diff([]string{"default", "kube-node-lease", "kube-public", "kube-system"}, namespaces); diff != "" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}
	service, err := f.CoreV1().Services(f.namespace).Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if service.Spec.ClusterIP != "10.96.0.1" || service.Spec.Ports[0].Port != 443 {
		t.Errorf("service kubernetes has address %s and ports %v", service.Spec.ClusterIP, service.Spec.Ports)
	}
	slice, err := f.DiscoveryV1().EndpointSlices(f.namespace).Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if slice.Labels["kubernetes.io/service-name"] != "kubernetes" || len(slice.Endpoints) != 1 ||
		*slice.Ports[0].Port != 443 {
		t.Errorf("endpoint slice kubernetes: %+v", slice)
	}
	if _, err := f.CoreV1().Endpoints(f.namespace).Get(t.Context(), "kubernetes", metav1.GetOptions{}); err != nil {
		t.Errorf("endpoints: %v", err)
	}
	tracking, err := f.CoreV1().ConfigMaps("kube-system").Get(t.Context(),
		"kube-apiserver-legacy-service-account-token-tracking", metav1.GetOptions{})
	if err != nil || tracking.Data["since"] == "" {
		t.Errorf("since when the use of tokens is recorded: %v, %v", tracking, err)
	}
	for _, class := range []string{"system-cluster-critical", "system-node-critical"} {
		if _, err := f.SchedulingV1().PriorityClasses().Get(t.Context(), class, metav1.GetOptions{}); err != nil {
			t.Errorf("priority class: %v", err)
		}
	}
}

func TestEndpointOf(t *testing.T) {
	for _, tt := range []struct {
		address, host string
		port          int32
		reason        string
	}{
		{"127.0.0.1:6443", unroutable, 6443, "endpoints may not be loopback addresses"},
		{"[::1]:6443", unroutable, 6443, "nor IPv6 ones"},
		{"localhost:6443", unroutable, 6443, "nor names"},
		{"10.1.2.3:443", "10.1.2.3", 443, "an address that others can reach is the endpoint"},
		{"[2001:db8::1]:443", "2001:db8::1", 443, "IPv6 as well"},
	} {
		host, port, err := endpointOf(tt.address)
		if err != nil || host != tt.host || port != tt.port {
			t.Errorf("endpointOf(%q) = %q, %d, %v; %s", tt.address, host, port, err, tt.reason)
		}
	}
}

func TestHealthAndVersion(t *testing.T) {
	f := plain.fixture(t)
	info, err := f.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if info.GitVersion != KubernetesVersion() || info.GitTreeState != "clean" ||
		!strings.HasPrefix(info.GitVersion, "v"+info.Major+"."+info.Minor+".") {
		t.Errorf("version is %+v, want that of module k8s.io/kubernetes, %s", info, KubernetesVersion())
	}
	f.WaitReady(t.Context())
	for path, want := range map[string]string{"/livez": "ok", "/readyz": "ok", "/healthz": "ok",
		"/metrics": "apiserver_request_total"} {
		body, err := f.Discovery().RESTClient().Get().AbsPath(path).DoRaw(t.Context())
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("GET %s: %.200s, %v; want it to contain %q", path, body, err, want)
		}
	}
}

func TestStartRefuses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tt := range []struct {
		options Options
		want    []string
		is      error
		reason  string
	}{
		{Options{Listen: "0.0.0.0:0"}, []string{`"0.0.0.0:0"`}, ErrRemoteListen, "every interface is not loopback"},
		{Options{Listen: ":6443"}, []string{`":6443"`}, ErrRemoteListen, "no host means every interface"},
		{Options{Listen: "192.0.2.7:0"}, []string{"192.0.2.7"}, ErrRemoteListen, "another machine's address"},
		{Options{Listen: "localhost"}, []string{"localhost", "missing port"}, nil, "an address needs a port"},
		{Options{Listen: taken.Addr().String()}, []string{taken.Addr().String(), "in use"}, nil, "the port is taken"},
		{Options{EnableAdmission: []string{"PodSecurty"}}, []string{`no admission plugin "PodSecurty"`}, nil, "a misspelt plugin"},
		{Options{DisableAdmission: []string{"qqqqqqqqqqqqqqqqqqqq"}}, []string{"qqqqqqqqqqqqqqqqqqqq"}, nil, "a plugin that is not to run must exist too"},
		{Options{EnableAdmission: []string{"Priority"}, DisableAdmission: []string{"Priority"}}, []string{"both"}, nil, "a contradiction"},
		{Options{EnableAdmission: []string{"EventRateLimit"}}, []string{"EventRateLimit"}, nil, "a plugin that needs a file fails once others run"},
		{Options{EnableAdmission: []string{"ImagePolicyWebhook"}}, []string{"no config"}, nil, "another that needs a file"},
		{Options{EnableAdmission: []string{"AlwaysDeny"}}, []string{"denying all"}, nil, "the server's own objects are denied too"},
	} {
		s, err := Start(t.Context(), tt.options)
		if err == nil {
			t.Errorf("Start succeeds: %s", tt.reason)
			_ = s.Stop()
			continue
		}
		for _, part := range tt.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("error %q lacks %q: %s", err, part, tt.reason)
			}
		}
		if tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("error %q is not %q: %s", err, tt.is, tt.reason)
		}
	}
}

func TestStopEndsWatchesAndRefusesRequests(t *testing.T) {
	f := start(t, Options{})
	w, err := f.CoreV1().Pods(f.namespace).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Stop(); err != nil {
		t.Fatal(err)
	}
	for e := range w.ResultChan() {
		t.Errorf("a stopped server sends %v", e)
	}
	if _, err := f.CoreV1().Pods(f.namespace).List(t.Context(), metav1.ListOptions{}); !errors.Is(err, errStopped) {
		t.Errorf("listing after Stop: %v, want %v", err, errStopped)
	}
	if err := f.Stop(); err != nil {
		t.Errorf("the second Stop: %v", err)
	}
}

func TestContextEndsServer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Start(ctx, Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := s.Wait(); err != nil {
		t.Errorf("Wait: %v", err)
	}
}

func TestStartWithEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := Start(ctx, Options{}); err == nil {
		t.Errorf("Start succeeds though its context has ended")
		_ = s.Stop()
	}
}

func TestServersAreIndependent(t *testing.T) {
	var a, b *fixture
	var starting sync.WaitGroup
	for _, f := range []**fixture{&a, &b} {
		starting.Go(func() {
			s, err := Start(context.WithoutCancel(t.Context()), Options{})
			if err != nil {
				t.Error(err)
				return
			}
			*f = clients(t, s, s.Config())
		})
	}
	starting.Wait()
	for _, f := range []*fixture{a, b} {
		if f == nil {
			t.Fatal("a server is missing")
		}
		defer func() {
			if err := f.Stop(); err != nil {
				t.Error(err)
			}
		}()
		f.WaitReady(t.Context())
	}
	a.createPod(t, pod("only-here"))
	if _, err := b.CoreV1().Pods(b.namespace).Get(t.Context(), "only-here",
		metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a pod of one server in another: %v", err)
	}
	foreign := b.Config()
	foreign.BearerToken = a.Config().BearerToken
	if _, err := clients(t, b.Server, foreign).CoreV1().Pods("").List(t.Context(),
		metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("one server's token at another: %v", err)
	}
}

func TestDefaultServiceAccounts(t *testing.T) {
	f := start(t, Options{DefaultServiceAccounts: true})
	if _, err := f.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	exists := func(ctx context.Context) (bool, error) {
		_, err := f.CoreV1().ServiceAccounts("shop").Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	}
	eventually(t, "the namespace has its service account", exists)
	if err := f.CoreV1().ServiceAccounts("shop").Delete(t.Context(), "default", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the service account is back", exists)
	eventually(t, "admission lets a pod in", func(ctx context.Context) (bool, error) {
		_, err := f.CoreV1().Pods("shop").Create(ctx, pod("p"), metav1.CreateOptions{})
		return err == nil, nil
	})
}

func TestLastEvent(t *testing.T) {
	f := start(t, Options{})
	pods, maps := schema.GroupResource{Resource: "pods"}, schema.GroupResource{Resource: "configmaps"}
	if got := f.LastEvent(schema.GroupResource{Group: "example.com", Resource: "unheard"}); got != 0 {
		t.Errorf("LastEvent of an unknown resource is %d", got)
	}
	if got := f.LastEvent(pods); got != 0 {
		t.Errorf("LastEvent of pods is %d before any pod", got)
	}
	created := f.createPod(t, pod("p"))
	if got := f.LastEvent(pods); fmt.Sprint(got) != created.ResourceVersion {
		t.Errorf("LastEvent of pods is %d, the pod has %s", got, created.ResourceVersion)
	}
	cm, err := f.CoreV1().ConfigMaps(f.namespace).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := f.LastEvent(maps); fmt.Sprint(got) != cm.ResourceVersion ||
		fmt.Sprint(f.LastEvent(pods)) != created.ResourceVersion {
		t.Errorf("after a config map: LastEvent of config maps is %d, want %s; of pods %d", got, cm.ResourceVersion,
			f.LastEvent(pods))
	}
	w, err := f.CoreV1().Pods(f.namespace).Watch(t.Context(),
		metav1.ListOptions{ResourceVersion: created.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if err := f.CoreV1().Pods(f.namespace).Delete(t.Context(), "p", *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
	for e := range w.ResultChan() { // a deletion without grace shows as an update first, as on a cluster
		if e.Type != watch.Deleted {
			continue
		}
		if p, ok := e.Object.(*corev1.Pod); !ok || p.ResourceVersion != fmt.Sprint(f.LastEvent(pods)) {
			t.Errorf("the deletion is %v, LastEvent is %d", e, f.LastEvent(pods))
		}
		break
	}
}
