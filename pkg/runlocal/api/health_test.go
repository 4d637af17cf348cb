package api

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// checked are the names of the checks that a health endpoint reports as passed, sorted.
func (f *fixture) checked(t *testing.T, path string) []string {
	t.Helper()
	body, err := f.Discovery().RESTClient().Get().AbsPath(path).Param("verbose", "").DoRaw(t.Context())
	if err != nil {
		t.Fatalf("GET %s: %v: %s", path, err, body)
	}
	var names []string
	for lines := bufio.NewScanner(bytes.NewReader(body)); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "[+]"); ok {
			names = append(names, strings.TrimSuffix(name, " ok"))
		}
	}
	slices.Sort(names)
	return names
}

// upstreamChecks are the checks of kube-apiserver v1.37.1's /readyz, read from one with its default settings and a
// client CA. The value says why there is none here, and is empty if there is.
func upstreamChecks() map[string]string {
	const aggregated = "requests are not forwarded to other API servers"
	const merged = "OpenAPI documents are merged when they are requested"
	const identity = "there is one server, which needs no lease to be told from others"
	return map[string]string{
		"ping": "", "log": "", "etcd": "", "etcd-readiness": "", "informer-sync": "", "shutdown": "",
		"autoregister-completion":                                    "",
		"poststarthook/bootstrap-controller":                         "",
		"poststarthook/crd-informer-synced":                          "",
		"poststarthook/generic-apiserver-start-informers":            "",
		"poststarthook/kube-apiserver-autoregistration":              "",
		"poststarthook/priority-and-fairness-config-consumer":        "",
		"poststarthook/priority-and-fairness-config-producer":        "",
		"poststarthook/priority-and-fairness-filter":                 "",
		"poststarthook/rbac/bootstrap-roles":                         "",
		"poststarthook/scheduling/bootstrap-system-priority-classes": "",
		"poststarthook/start-apiextensions-controllers":              "",
		"poststarthook/start-apiextensions-informers":                "",
		"poststarthook/start-apiserver-admission-initializer":        "",
		"poststarthook/start-cluster-authentication-info-controller": "",
		"poststarthook/start-kube-aggregator-informers":              "",
		"poststarthook/start-kubernetes-service-cidr-controller":     "",
		"poststarthook/start-legacy-token-tracking-controller":       "",
		"poststarthook/start-service-ip-repair-controllers":          "",
		"poststarthook/start-system-namespaces-controller":           "",
		"poststarthook/storage-object-count-tracker-hook":            "",
		"poststarthook/storage-readiness":                            "",
		"poststarthook/apiservice-status-local-available-controller": "",

		"poststarthook/apiservice-discovery-controller":                       aggregated,
		"poststarthook/apiservice-registration-controller":                    aggregated,
		"poststarthook/apiservice-status-remote-available-controller":         aggregated,
		"poststarthook/apiservice-openapi-controller":                         merged,
		"poststarthook/apiservice-openapiv3-controller":                       merged,
		"poststarthook/peer-endpoint-reconciler-controller":                   identity,
		"poststarthook/start-kube-apiserver-identity-lease-controller":        identity,
		"poststarthook/start-kube-apiserver-identity-lease-garbage-collector": identity,
	}
}

func TestHealthChecksAreUpstreams(t *testing.T) {
	f := plain.fixture(t)
	f.WaitReady(t.Context())
	var want []string
	for name, missing := range upstreamChecks() {
		if missing == "" {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, f.checked(t, "/readyz")); diff != "" {
		t.Errorf("/readyz (-kube-apiserver +here):\n%s", diff)
	}
	alive := slices.DeleteFunc(want, func(name string) bool {
		// checks of readiness alone
		return slices.Contains([]string{"etcd-readiness", "informer-sync", "shutdown"}, name)
	})
	for _, path := range []string{"/livez", "/healthz"} {
		if diff := cmp.Diff(alive, f.checked(t, path)); diff != "" {
			t.Errorf("%s (-kube-apiserver +here):\n%s", path, diff)
		}
	}
}

func TestSingleHealthChecks(t *testing.T) {
	f := plain.fixture(t)
	f.WaitReady(t.Context())
	get := func(path string) (string, error) {
		body, err := f.Discovery().RESTClient().Get().RequestURI(path).DoRaw(t.Context())
		return string(body), err
	}
	for _, path := range []string{"/readyz/etcd", "/livez/etcd", "/healthz/etcd", "/readyz/log",
		"/readyz/etcd-readiness", "/readyz/autoregister-completion"} {
		if body, err := get(path); err != nil || body != "ok" {
			t.Errorf("GET %s: %q, %v", path, body, err)
		}
	}
	body, err := get("/livez?verbose&exclude=etcd")
	if err != nil || !strings.Contains(body, "[+]etcd excluded: ok\n") || strings.Contains(body, "warn:") {
		t.Errorf("without the check of the storage: %s, %v", body, err)
	}
}

// TestWaitReady wants /readyz to say ok as soon as WaitReady has returned: who waits for the one may ask the other.
func TestWaitReady(t *testing.T) {
	f := start(t, Options{})
	f.WaitReady(t.Context())
	if body, err := f.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(t.Context()); err != nil {
		t.Errorf("/readyz: %v: %s", err, body)
	}
}

func TestStepsFailUntilTheyAreDone(t *testing.T) {
	steps := newStartSteps()
	failing := func() []string {
		var names []string
		for _, step := range steps {
			if step.Check(nil) != nil {
				names = append(names, step.Name())
			}
		}
		return names
	}
	all := failing()
	if len(all) != len(steps) {
		t.Fatalf("before the start only %q fail", all)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := steps.wait(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for steps that nothing does: %v", err)
	}
	steps.finish(stepRoles, stepService)
	want := slices.DeleteFunc(slices.Clone(all),
		func(name string) bool { return name == stepRoles || name == stepService })
	if diff := cmp.Diff(want, failing()); diff != "" {
		t.Errorf("what fails after two steps (-want +got):\n%s", diff)
	}
	steps.finish(want...)
	if err := steps.wait(t.Context()); err != nil || len(failing()) > 0 {
		t.Errorf("after all steps %q fail, %v", failing(), err)
	}
}

func TestLogCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := make(chan struct{})
		var hold atomic.Bool
		check := &logCheck{flush: func() {
			if hold.Load() {
				<-blocked
			}
		}}
		if err := check.Check(nil); err != nil {
			t.Errorf("before the server runs: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			check.run(ctx)
		}()
		<-time.After(time.Hour)
		if err := check.Check(nil); err != nil {
			t.Errorf("while messages can be logged: %v", err)
		}
		hold.Store(true)
		<-time.After(flushInterval + flushTimeout)
		if check.Check(nil) == nil {
			t.Error("no error, though nothing could be logged for two minutes")
		}
		close(blocked)
		<-time.After(flushInterval)
		if err := check.Check(nil); err != nil {
			t.Errorf("after it was possible again: %v", err)
		}
		cancel()
		<-ended
	})
}

func TestStorageCheck(t *testing.T) {
	f := start(t, Options{})
	f.backend.store.Close()
	var refused apierrors.APIStatus
	_, err := f.Discovery().RESTClient().Get().AbsPath("/readyz/etcd").DoRaw(t.Context())
	if !errors.As(err, &refused) || refused.Status().Code != http.StatusInternalServerError {
		t.Errorf("the check of a store that is closed: %v", err)
	}
}
