package realcluster

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// meter serves metrics.k8s.io/v1beta1 for pods, behind kube-apiserver's aggregation layer, as metrics-server does: what
// they use is said by the annotations that the simulated nodes of the plugin know.
type meter struct{ client kubernetes.Interface }

// metricsPath is where the group is served.
const metricsPath = "/apis/metrics.k8s.io/v1beta1"

// startMeter serves metrics until the control plane ends, and registers them.
func (c *Cluster) startMeter(ctx context.Context) error {
	if !c.options.Metrics {
		return nil
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	certificate, err := tls.LoadX509KeyPair(
		filepath.Join(c.home.dir, "server.crt"), filepath.Join(c.home.dir, "server.key"))
	if err != nil {
		return fmt.Errorf("reading the certificate for metrics: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening for metrics: %w", err)
	}
	c.meter = &http.Server{
		Handler: (&meter{client}).handler(), ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	}
	c.serving.Go(func() { _ = c.meter.ServeTLS(listener, "", "") }) // it returns when it is closed, and says so
	if err := c.registerMeter(ctx, client, listener.Addr().(*net.TCPAddr).Port); err != nil {
		return err
	}
	return c.home.await(ctx, "metrics to be served", func(ctx context.Context) (bool, error) {
		var code int
		err := client.CoreV1().RESTClient().Get().AbsPath(metricsPath).Do(ctx).StatusCode(&code).Error()
		if code == http.StatusServiceUnavailable || code == http.StatusNotFound {
			return false, nil
		}
		return code == http.StatusOK, err
	})
}

// stopMeter ends what startMeter has started.
func (c *Cluster) stopMeter() error {
	if c.meter == nil {
		return nil
	}
	err := c.meter.Close()
	c.serving.Wait()
	return err
}

// registerMeter tells kube-apiserver of the server: an external name may be an address, which no name server is asked
// for.
func (c *Cluster) registerMeter(ctx context.Context, client kubernetes.Interface, port int) error {
	at := int32(port) //nolint:gosec // a port
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "metrics"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeExternalName, ExternalName: "127.0.0.1",
			Ports: []corev1.ServicePort{{Port: at, TargetPort: intstr.FromInt32(at)}},
		},
	}
	_, err := client.CoreV1().Services(metav1.NamespaceSystem).Create(ctx, service, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("making the Service of metrics: %w", err)
	}
	registered, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		return fmt.Errorf("making a client of the control plane: %w", err)
	}
	services := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	_, err = registered.Resource(services).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": "v1beta1.metrics.k8s.io"},
		"spec": map[string]any{
			"group": "metrics.k8s.io", "version": "v1beta1",
			"groupPriorityMinimum": int64(100), "versionPriority": int64(100), "insecureSkipTLSVerify": true,
			"service": map[string]any{"namespace": metav1.NamespaceSystem, "name": "metrics", "port": int64(port)},
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	return nil
}

func (m *meter) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+metricsPath, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, metav1.APIResourceList{
			TypeMeta:     metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"},
			GroupVersion: "metrics.k8s.io/v1beta1",
			APIResources: []metav1.APIResource{{
				Name: "pods", Kind: "PodMetrics", Namespaced: true, Verbs: []string{"get", "list"},
			}},
		})
	})
	mux.HandleFunc("GET "+metricsPath+"/namespaces/{namespace}/pods", func(w http.ResponseWriter, r *http.Request) {
		list, err := m.list(r.Context(), r.PathValue("namespace"), r.URL.Query().Get("labelSelector"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer(w, list)
	})
	return mux
}

func answer(w http.ResponseWriter, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(data); err != nil && !errors.Is(err, net.ErrClosed) {
		panic(http.ErrAbortHandler) // the client is gone
	}
}
