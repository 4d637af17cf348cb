package envtest

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func nothing(string) string { return "" }

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		command     string
		environment map[string]string
		code        int
		out, errOut string // what they begin with
		reason      string
	}{
		{"kube-apiserver --version", nil, 0, "Kubernetes v1.37.1\n", "", "as upstream's"},
		{"kube-apiserver --help", nil, 0, "The API server of kubectl reconcile", "", "envtest looks for flags"},
		{"kube-apiserver --foo", nil, 1, "", "Error: unknown flag: --foo\n", "upstream's error"},
		{"kube-apiserver --insecure-port=0", nil, 1, "", "Error: unknown flag: --insecure-port\n", "gone since 1.24"},
		{"kube-apiserver what", nil, 1, "", `Error: "kube-apiserver" does not take any arguments`, "upstream's error"},
		{"kube-apiserver --secure-port=x", nil, 1, "", `Error: invalid argument "x" for "--secure-port"`, "upstream's"},
		{"kube-apiserver --tracing-config-file=f", nil, 1, "",
			"Error: --tracing-config-file cannot be honoured by the API server of kubectl reconcile: ", "one line"},
		{"kube-apiserver", map[string]string{controllersVariable: "deploymnt"}, 1, "",
			"Error: KUBECTL_RECONCILE_CONTROLLERS=deploymnt: ", "the environment is read"},
		{"etcd --version", nil, 0, "etcd Version: none", "", "it is not etcd"},
		{"etcd --help", nil, 0, "Usage:\n", "", "envtest looks for flags"},
		{"etcd --foo", nil, 2, "", "Error: flag provided but not defined: -foo\n", "etcd's error and code"},
		{"etcd what", nil, 2, "", `Error: "what" is not a valid flag`, "etcd's error and code"},
		{"etcd --cert-file=f", nil, 1, "", "Error: --cert-file cannot be honoured: ", "one line"},
		{"etcd --listen-client-urls=https://127.0.0.1:0", nil, 1, "", `Error: listening on "https://`, "no TLS"},
		{"kubectl get pods", nil, 1, "", "Error: no kubectl was on PATH", "says what to do"},
	} {
		var out, errOut bytes.Buffer
		words := strings.Fields(tt.command)
		code, ok := Run(t.Context(), words[0], words[1:], genericiooptions.IOStreams{Out: &out, ErrOut: &errOut},
			func(name string) string { return tt.environment[name] })
		if !ok || code != tt.code || !strings.HasPrefix(out.String(), tt.out) ||
			!strings.HasPrefix(errOut.String(), tt.errOut) || tt.errOut == "" && errOut.Len() > 0 {
			t.Errorf("%s: %d, %.200q, %.200q: %s", tt.command, code, out.String(), errOut.String(), tt.reason)
		}
		if tt.errOut != "" && strings.Count(errOut.String(), "\n") != 1 {
			t.Errorf("%s: more than one line: %q", tt.command, errOut.String())
		}
	}
	if _, ok := Run(t.Context(), "kubectl-reconcile", nil, genericiooptions.IOStreams{}, nothing); ok {
		t.Error("the plugin itself is none of them")
	}
}

// free returns an address of this machine that nothing listens on.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestEtcd(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	defer http.DefaultClient.CloseIdleConnections()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir, address := t.TempDir(), free(t)
	ended := make(chan error, 1)
	go func() {
		ended <- runEtcd(ctx, []string{"--data-dir=" + dir, "--listen-client-urls=http://" + address},
			genericiooptions.IOStreams{Out: io.Discard, ErrOut: io.Discard})
	}()
	for path, want := range map[string]int{"/health": http.StatusOK, "/readyz": http.StatusOK,
		"/version": http.StatusNotFound, "/v3/kv/range": http.StatusNotFound} {
		if got := status(t, "http://"+address+path); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	err := runEtcd(ctx, []string{"--listen-client-urls=http://" + address},
		genericiooptions.IOStreams{ErrOut: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("on the same port: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("the data folder: %v, %v", files, err)
	}
}

// status returns the status of the answer, once there is one.
func status(t *testing.T, url string) int {
	t.Helper()
	code := 0
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 10*time.Second, true,
		func(context.Context) (bool, error) {
			response, err := http.Get(url)
			if err != nil {
				return false, nil //nolint:nilerr // it does not listen yet
			}
			code = response.StatusCode
			return true, response.Body.Close()
		})
	if err != nil {
		t.Fatal(err)
	}
	return code
}
