package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // as programs do, kube-apiserver's main among them

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// families are the metrics that the server exposes, by name, with native histograms.
func (f *fixture) families(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	format := expfmt.NewFormat(expfmt.TypeProtoDelim)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.Config().Host+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", string(format))
	response, err := clientOf(t, f.Config()).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // it was read to the end
	families := map[string]*dto.MetricFamily{}
	for decoder := expfmt.NewDecoder(response.Body, format); ; {
		var family dto.MetricFamily
		if err := decoder.Decode(&family); errors.Is(err, io.EOF) {
			return families
		} else if err != nil {
			t.Fatal(err)
		}
		families[family.GetName()] = &family
	}
}

// missingMetrics are those of kube-apiserver that this server does not have, with the reason.
func missingMetrics() map[string]string {
	const (
		watchCache = "no watch cache stands before the store"
		grpc       = "no requests are sent to an etcd"
		proxied    = "requests are not forwarded to other API servers"
	)
	return map[string]string{
		"apiserver_storage_consistency_checks_total":            watchCache,
		"apiserver_watch_cache_consistent_read_total":           watchCache,
		"apiserver_watch_cache_events_dispatched_total":         watchCache,
		"apiserver_watch_cache_events_received_total":           watchCache,
		"apiserver_watch_cache_initialization_duration_seconds": watchCache,
		"apiserver_watch_cache_initializations_total":           watchCache,
		"apiserver_watch_cache_read_wait_seconds":               watchCache,
		"apiserver_watch_cache_resource_version":                watchCache,
		"apiserver_watch_events_dispatch_duration_seconds":      watchCache,
		"watch_cache_capacity":                                  watchCache,
		"grpc_client_handled_total":                             grpc,
		"grpc_client_msg_received_total":                        grpc,
		"grpc_client_msg_sent_total":                            grpc,
		"grpc_client_started_total":                             grpc,
		"etcd_bookmark_total":                                   grpc,
		"etcd_lease_object_counts":                              "objects expire without leases",
		"apiserver_storage_size_bytes":                          "there is no database file",
		"apiserver_kube_aggregator_x509_insecure_sha1_total":    proxied,
		"apiserver_kube_aggregator_x509_missing_san_total":      proxied,
		"apiserver_nodeport_repair_reconcile_errors_total":      "the node ports in use are not stored, so nothing has to be repaired",
		"kubernetes_build_info":                                 "a program that contains Kubernetes' packages is no build of Kubernetes",
	}
}

// TestMetricsAreUpstreams wants every metric of a kube-apiserver that is not known to be missing.
func TestMetricsAreUpstreams(t *testing.T) {
	_, authority := newClientAuthority(t)
	f := start(t, Options{ClientCA: authority})
	f.WaitReady(t.Context())
	review := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{}}
	token, err := f.CoreV1().ServiceAccounts(f.namespace).CreateToken(t.Context(), "default", review,
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	asAccount := f.Config()
	asAccount.BearerToken = token.Status.Token
	if answer := answered(t, asAccount, "/version"); answer.StatusCode != http.StatusOK {
		t.Fatalf("with a token of a service account: %s", answer.Status)
	}
	if _, err := f.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	missing := missingMetrics()
	var want []string
	for line := range strings.Lines(string(data)) {
		if name := strings.TrimSpace(line); !strings.HasPrefix(name, "#") && missing[name] == "" {
			want = append(want, name)
		}
	}
	if len(want) < 200 {
		t.Fatalf("only %d names are wanted", len(want))
	}
	var lacking []string
	err = wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 2*time.Minute, true,
		func(context.Context) (bool, error) {
			got := f.families(t)
			lacking = slices.DeleteFunc(slices.Clone(want), func(name string) bool { return got[name] != nil })
			return len(lacking) == 0, nil
		})
	if err != nil {
		t.Fatalf("missing: %v", lacking)
	}
	got := f.families(t)
	for name, reason := range missing {
		// by another test, which reads the aggregator's priorities
		linked := strings.HasPrefix(name, "apiserver_kube_aggregator_")
		if got[name] != nil && !linked {
			t.Errorf("%s is there, though: %s", name, reason)
		}
	}
}

// TestHistogramsAreNative: since v1.37 histograms are exposed in both formats, to those who can read the second.
func TestHistogramsAreNative(t *testing.T) {
	f := plain.fixture(t)
	if _, err := f.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	families := f.families(t)
	for _, name := range []string{"apiserver_request_duration_seconds", "apiserver_request_sli_duration_seconds",
		"etcd_request_duration_seconds"} {
		family := families[name]
		if family == nil {
			t.Errorf("%s is missing", name)
			continue
		}
		histogram := family.GetMetric()[0].GetHistogram()
		if len(histogram.GetBucket()) == 0 || histogram.Schema == nil || histogram.GetZeroThreshold() == 0 {
			t.Errorf("%s has %d classic buckets, and schema %v of native ones", name, len(histogram.GetBucket()),
				histogram.Schema)
		}
	}
}
