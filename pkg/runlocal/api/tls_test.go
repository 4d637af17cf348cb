package api

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// overTLS are clients by the kubeconfig of f, on separate connections that end with the test.
func overTLS(t *testing.T, f *fixture) (*fixture, *rest.Config) {
	t.Helper()
	data, err := f.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(data)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	// A separate dialer keeps the transport out of client-go's process-wide cache.
	config.Dial = (&net.Dialer{}).DialContext
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	remote := clients(t, f.Server, config)
	remote.namespace = f.namespace
	return remote, config
}

func TestServeTLS(t *testing.T) {
	f := listening.fixture(t)
	remote, config := overTLS(t, f)
	if config.Host != f.URL() || !strings.HasPrefix(f.URL(), "https://127.0.0.1:") {
		t.Errorf("the kubeconfig names %q, the server %q", config.Host, f.URL())
	}
	if _, err := remote.CoreV1().Pods(f.namespace).Create(t.Context(), pod("p"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.CoreV1().Pods(f.namespace).Get(t.Context(), "p", metav1.GetOptions{}); err != nil {
		t.Errorf("a pod created over TLS, in process: %v", err)
	}
	bad := rest.CopyConfig(config)
	bad.BearerToken = "wrong"
	if _, err := clients(t, f.Server, bad).CoreV1().Pods("").List(t.Context(),
		metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("a wrong token over TLS: %v", err)
	}
	distrustful := rest.CopyConfig(config)
	distrustful.CAData = nil
	_, err := clients(t, f.Server, distrustful).CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok {
		t.Errorf("without the certificate: %v", err)
	}
}

func TestHTTP2AndCertificateNames(t *testing.T) {
	f := listening.fixture(t)
	_, config := overTLS(t, f)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(f.URL())
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "localhost"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			"https://"+net.JoinHostPort(host, at.Port())+"/version", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Errorf("as %q: %v", host, err)
			continue
		}
		if response.ProtoMajor != 2 || response.StatusCode != http.StatusOK || response.Header.Get("Audit-Id") == "" {
			t.Errorf("as %q: %s %s, audit id %q", host, response.Proto, response.Status,
				response.Header.Get("Audit-Id"))
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestStopEndsWatchesOverTLS(t *testing.T) {
	f := start(t, Options{Listen: "127.0.0.1:0"})
	remote, _ := overTLS(t, f)
	w, err := remote.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f.createPod(t, pod("p"))
	if e := <-w.ResultChan(); e.Object.(*corev1.Pod).Name != "p" {
		t.Errorf("the watch has %v", e)
	}
	if err := f.Stop(); err != nil {
		t.Fatal(err)
	}
	for e := range w.ResultChan() {
		t.Errorf("a stopped server sends %v", e)
	}
	if _, err := remote.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("a stopped server answers")
	}
}

func TestWarningsReachClients(t *testing.T) {
	f := plain.fixture(t)
	var got []string
	as := f.as(t, func(c *rest.Config) {
		c.WarningHandlerWithContext = warnings(func(text string) { got = append(got, text) })
	})
	if _, err := as.CoreV1().Endpoints(f.namespace).List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || !strings.Contains(got[0], "deprecated") {
		t.Errorf("warnings: %q", got)
	}
}

type warnings func(string)

func (w warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) { w(text) }

func TestWriteKubeconfig(t *testing.T) {
	f := listening.fixture(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteKubeconfig(path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the kubeconfig has mode %v, %v", info.Mode(), err)
	}
	config, err := clientcmd.LoadFromFile(path)
	if err != nil || config.Clusters[config.Contexts[config.CurrentContext].Cluster].Server != f.URL() {
		t.Errorf("the kubeconfig: %+v, %v", config, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v, %v", entries, err)
	}
	if err := f.WriteKubeconfig(filepath.Join(dir, "no", "such", "dir")); err == nil ||
		!strings.Contains(err.Error(), "no/such/dir") {
		t.Errorf("writing to a directory that does not exist: %v", err)
	}
	if _, err := plain.fixture(t).Kubeconfig(); !errors.Is(err, ErrNoListener) {
		t.Errorf("the kubeconfig of a server without a listener: %v", err)
	}
}

func TestListenOnAllInterfaces(t *testing.T) {
	if _, err := Start(t.Context(), Options{Listen: "0.0.0.0:0"}); !errors.Is(err, ErrRemoteListen) {
		t.Errorf("without AllowRemote: %v", err)
	}
	f := start(t, Options{Listen: "0.0.0.0:0", AllowRemote: true})
	if !strings.HasPrefix(f.URL(), "https://127.0.0.1:") {
		t.Errorf("the URL %q is no address to connect to", f.URL())
	}
}

// kubectl speaks JSON, patches strategically and requests field validation.
func TestJSONClientOverTLS(t *testing.T) {
	f := listening.fixture(t)
	remote, config := overTLS(t, f)
	if config.ContentType != "" {
		t.Errorf("the kubeconfig has the content type %q", config.ContentType)
	}
	deployments := remote.AppsV1().Deployments(f.namespace)
	if _, err := deployments.Create(t.Context(), deployment("web"),
		metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
		t.Fatal(err)
	}
	patch := `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"nginx:2"},{"name":"side","image":"busybox"}]}}}}`
	patched, err := deployments.Patch(t.Context(), "web", types.StrategicMergePatchType, []byte(patch),
		metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if c := patched.Spec.Template.Spec.Containers; len(c) != 2 || c[0].Image != "nginx:2" || c[1].Name != "side" {
		t.Errorf("containers are merged by name: %+v", c)
	}
	if _, err := deployments.Patch(t.Context(), "web", types.JSONPatchType,
		[]byte(`[{"op":"test","path":"/spec/replicas","value":7}]`), metav1.PatchOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a JSON patch whose test fails: %v", err)
	}
	_, err = deployments.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec":{"nosuch":1}}`),
		metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict})
	if err == nil || !strings.Contains(err.Error(), `unknown field "spec.nosuch"`) {
		t.Errorf("an unknown field: %v", err)
	}
	stale := patched.DeepCopy()
	stale.ResourceVersion = "1"
	if _, err := deployments.Update(t.Context(), stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("a stale update: %v", err)
	}
}
