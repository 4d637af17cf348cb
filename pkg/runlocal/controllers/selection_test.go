package controllers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/controller-manager/app"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/tap"
)

func namesOf(cs []Controller) []string {
	var out []string
	for _, c := range cs {
		out = append(out, c.Name)
	}
	return out
}

// allNames are the names of what "*" selects, without some.
func allNames(without ...string) []string {
	return namesOf(slices.DeleteFunc(running(),
		func(c Controller) bool { return c.OffByDefault || slices.Contains(without, c.Name) }))
}

func TestSelect(t *testing.T) {
	both := []string{"deployment-controller", "replicaset-controller"}
	for _, test := range []struct {
		reason string
		args   []string
		want   []string
	}{
		{"no arguments select nothing", nil, nil},
		{"a name", []string{"replicaset-controller"}, both[1:]},
		{"an alias, as kube-controller-manager takes it", []string{"deployment"}, both[:1]},
		{"the short name of one that has no alias", []string{"podcertificaterequest-cleaner"},
			[]string{"podcertificaterequest-cleaner-controller"}},
		{"the order is that of starting, not of asking", []string{"replicaset", "deployment"}, both},
		{"name and alias are one controller", []string{"deployment", "deployment-controller"}, both[:1]},
		{"all that run, and are not off by default", []string{"*"}, allNames()},
		{"all but two", []string{"*", "-replicaset", "-garbagecollector"},
			allNames("replicaset-controller", "garbage-collector-controller")},
		{"the star counts wherever it stands", []string{"-replicaset", "*"}, allNames("replicaset-controller")},
		{"the first of two counts: left out", []string{"-deployment", "deployment", "replicaset"}, both[1:]},
		{"the first of two counts: run", []string{"deployment", "-deployment-controller", "replicaset"}, both},
		{"leaving out what does not run anyway", []string{"*", "-nodeipam"}, allNames()},
		{"leaving out alone chooses nothing, as in kube-controller-manager", []string{"-replicaset"}, nil},
	} {
		chosen, err := Select(test.args)
		if err != nil {
			t.Errorf("%s: %v", test.reason, err)
		}
		if diff := cmp.Diff(test.want, namesOf(chosen)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

// TestSelectIsUpstreams compares what is chosen with kube-controller-manager's own decision, for every list of up to
// three of some arguments.
func TestSelectIsUpstreams(t *testing.T) {
	off := sets.NewString()
	for _, c := range running() {
		if c.OffByDefault {
			off.Insert(c.Name)
		}
	}
	words := []string{
		"", "*", "deployment-controller", "-deployment-controller", "token-cleaner-controller", "-token-cleaner-controller",
	}
	for _, first := range words {
		for _, second := range words {
			for _, third := range words {
				args := slices.DeleteFunc([]string{first, second, third}, func(s string) bool { return s == "" })
				chosen, err := Select(args)
				if err != nil {
					t.Fatalf("%q: %v", args, err)
				}
				want := namesOf(slices.DeleteFunc(running(),
					func(c Controller) bool { return !app.IsControllerEnabled(c.Name, off, args) }))
				if diff := cmp.Diff(want, namesOf(chosen)); diff != "" {
					t.Errorf("%s (-upstream +here):\n%s", strings.Join(args, ","), diff)
				}
			}
		}
	}
}

func TestSelectFor(t *testing.T) {
	signing := Authority{SigningCertFile: "ca.crt", SigningKeyFile: "ca.key"}
	withKeys := allNames("root-ca-certificate-publisher-controller", "serviceaccount-token-controller",
		"kube-apiserver-serving-clustertrustbundle-publisher-controller")
	for _, test := range []struct {
		reason    string
		authority Authority
		args      []string
		want      []string
		left      map[string]string
		refused   string // the name of one that is named and cannot run
	}{
		{
			"of all, those that lack something are left out", signing, []string{"*"}, withKeys,
			map[string]string{
				"root-ca-cert-publisher": MissingRootCA, "kube-apiserver-serving-clustertrustbundle-publisher": MissingRootCA,
				"serviceaccount-token": MissingServiceAccountKey,
			}, "",
		},
		{"one that was left out lacks nothing", signing, []string{"deployment", "-serviceaccount-token"},
			[]string{"deployment-controller"}, nil, ""},
		{"one that is named and has all", signing, []string{"csrsigning"},
			[]string{"certificatesigningrequest-signing-controller"}, nil, ""},
		{"one that is named is not left out silently", Authority{}, []string{"*", "csrsigning"}, nil, nil,
			"certificatesigningrequest-signing-controller"},
		{"half of what signs is none", Authority{SigningCertFile: "ca.crt"}, []string{"csrsigning"}, nil, nil,
			"certificatesigningrequest-signing-controller"},
	} {
		chosen, left, err := SelectFor(test.authority, test.args)
		refused, ok := errors.AsType[*NotRunError](err)
		if (err != nil) != (test.refused != "") || ok && refused.Name != test.refused {
			t.Errorf("%s: %v", test.reason, err)
		}
		if diff := cmp.Diff(test.want, namesOf(chosen)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
		var lacks map[string]string
		for _, c := range left {
			if lacks == nil {
				lacks = map[string]string{}
			}
			lacks[c.Short] = c.Reason
		}
		if diff := cmp.Diff(test.left, lacks); diff != "" {
			t.Errorf("%s: left out (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestSelectRefusesUnknownNames(t *testing.T) {
	for _, arg := range []string{"deploymnt", "-deploymnt", "", "-*"} {
		_, err := Select([]string{"replicaset", arg})
		var unknown *UnknownError
		if !errors.As(err, &unknown) {
			t.Fatalf("%q: want an *UnknownError, got %v", arg, err)
		}
		if want := map[string]string{"deploymnt": "deploymnt", "-deploymnt": "deploymnt", "": "",
			"-*": "*"}[arg]; unknown.Name != want {
			t.Errorf("%q: the error names %q, want %q", arg, unknown.Name, want)
		}
		for _, name := range []string{"deployment", "deployment-controller", "job"} {
			if !slices.Contains(unknown.Known, name) {
				t.Errorf("the known names lack %q: nothing near to it can be proposed", name)
			}
		}
	}
}

func TestSelectSaysWhyAControllerDoesNotRun(t *testing.T) {
	_, err := Select([]string{"nodeipam"})
	var refused *NotRunError
	if !errors.As(err, &refused) {
		t.Fatalf("want a *NotRunError, got %v", err)
	}
	want := NotRunError{Name: "node-ipam-controller", Reason: notRunning()[0].NotRun}
	if diff := cmp.Diff(want, *refused); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

// TestWithout: what is left selects what was selected, but for what is to go.
func TestWithout(t *testing.T) {
	words := []string{"", "*", "deployment-controller", "-job", "replicaset", "tokencleaner"}
	for _, out := range [][]string{{"deployment"}, {"tokencleaner"}, {"replicaset", "job"}} {
		gone, err := Select(out)
		if err != nil {
			t.Fatal(err)
		}
		for _, first := range words {
			for _, second := range words {
				args := slices.DeleteFunc([]string{first, second}, func(s string) bool { return s == "" })
				before, err := Select(args)
				if err != nil {
					t.Fatalf("%q: %v", args, err)
				}
				want := slices.DeleteFunc(before, func(c Controller) bool { return c.Named(out) })
				left := Without(args, gone)
				got, err := Select(left)
				if err != nil {
					t.Fatalf("%q without %q is %q: %v", args, out, left, err)
				}
				if diff := cmp.Diff(namesOf(want), namesOf(got)); diff != "" {
					t.Errorf("%q without %q is %q (-want +got):\n%s", args, out, left, diff)
				}
			}
		}
	}
}

// authority is that of the session's server, with an authority for certificates in files of the test.
func (s *session) authority(t testing.TB) Authority {
	t.Helper()
	root, err := s.server.RootCA()
	if err != nil {
		t.Fatal(err)
	}
	a := Authority{RootCA: root, ServiceAccountKey: s.server.ServiceAccountKey()}
	a.SigningCertFile, a.SigningKeyFile = signingFiles(t)
	return a
}

func signingFiles(t testing.TB) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(2 * 365 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key")
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: encoded},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestLacks(t *testing.T) {
	for _, test := range []struct {
		controller Controller
		want       string
	}{
		{rootCAPublisher(), MissingRootCA},
		{trustBundlePublisher(), MissingRootCA},
		{serviceAccountToken(), MissingServiceAccountKey},
		{csrSigning(), MissingSigningAuthority},
		{csrApproving(), ""},
		{deploymentController(), ""},
	} {
		if got := test.controller.MissingAuthority(Authority{}); got != test.want {
			t.Errorf("%s lacks %q, want %q", test.controller.Name, got, test.want)
		}
		whole := Authority{RootCA: []byte("ca"), SigningCertFile: "a", SigningKeyFile: "b"}
		whole.ServiceAccountKey, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if got := test.controller.MissingAuthority(whole); got != "" {
			t.Errorf("%s lacks %q, and has all", test.controller.Name, got)
		}
	}
}

func TestUnserved(t *testing.T) {
	deployments, claims := schema.GroupResource{Group: "apps",
		Resource: "deployments"}, schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaims"}
	bundles := schema.GroupResource{Group: "certificates.k8s.io", Resource: "clustertrustbundles"}
	for _, tt := range []struct {
		reason string
		reads  []schema.GroupResource
		served []schema.GroupVersionResource
		want   []schema.GroupResource
	}{
		{"all is there", []schema.GroupResource{deployments}, []schema.GroupVersionResource{deployments.WithVersion("v1")},
			nil},
		{"an older version is none that upstream's informers read", []schema.GroupResource{deployments, claims},
			[]schema.GroupVersionResource{deployments.WithVersion("v1"), claims.WithVersion("v1beta1")},
			[]schema.GroupResource{claims}},
		{"of trust bundles any version does", []schema.GroupResource{bundles},
			[]schema.GroupVersionResource{bundles.WithVersion("v1alpha1")}, nil},
		{"whatever kinds there are", []schema.GroupResource{{Group: "*", Resource: "*"}}, nil, nil},
	} {
		c := Controller{Reads: tt.reads}
		got := c.Unserved(func(r schema.GroupVersionResource) bool { return slices.Contains(tt.served, r) })
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

// lists notes what is listed or watched, by version.
type lists struct {
	next http.RoundTripper
	mu   *sync.Mutex
	of   map[schema.GroupVersionResource]bool
}

var collection = regexp.MustCompile(`^/(?:api|apis/([^/]+))/([^/]+)/([^/]+)$`)

// RoundTrip implements http.RoundTripper.
func (l lists) RoundTrip(r *http.Request) (*http.Response, error) {
	if m := collection.FindStringSubmatch(r.URL.Path); m != nil && r.Method == http.MethodGet {
		l.mu.Lock()
		l.of[schema.GroupVersionResource{Group: m[1], Version: m[2], Resource: m[3]}] = true
		l.mu.Unlock()
	}
	return l.next.RoundTrip(r)
}

// TestReadVersions starts every controller, and waits until what their rows say is read in one of the versions.
func TestReadVersions(t *testing.T) {
	t.Parallel()
	s := newSession(t, tap.Options{}, servers.Server)
	seen := lists{mu: &sync.Mutex{}, of: map[schema.GroupVersionResource]bool{}}
	s.config.Wrap(func(next http.RoundTripper) http.RoundTripper { return lists{next, seen.mu, seen.of} })
	s.run(t, 1, "*")
	was := func(r schema.GroupVersionResource) bool {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		return seen.of[r]
	}
	for _, c := range running() {
		for _, r := range c.Reads {
			if r.Resource == "*" || c.OffByDefault {
				continue
			}
			eventually(t, "a request for "+r.String()+", which the row of "+c.Short+" has", func() bool {
				return slices.ContainsFunc(readableVersions(r), func(version string) bool { return was(r.WithVersion(version)) })
			})
		}
	}
}

func TestFor(t *testing.T) {
	for _, tt := range []struct {
		kind  schema.GroupKind
		short string // empty: none
	}{
		{schema.GroupKind{Group: "apps", Kind: "Deployment"}, "deployment"},
		{schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, "replicaset"},
		{schema.GroupKind{Group: "apps", Kind: "StatefulSet"}, "statefulset"},
		{schema.GroupKind{Group: "apps", Kind: "DaemonSet"}, "daemonset"},
		{schema.GroupKind{Group: "batch", Kind: "Job"}, "job"}, // not ttl-after-finished, which deletes it
		{schema.GroupKind{Group: "batch", Kind: "CronJob"}, "cronjob"},
		{schema.GroupKind{Kind: "ReplicationController"}, "replicationcontroller"},
		{schema.GroupKind{Kind: "PersistentVolumeClaim"}, "persistentvolume-binder"},
		{schema.GroupKind{Kind: "PersistentVolume"}, "persistentvolume-binder"},
		{schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}, "horizontalpodautoscaling"},
		{schema.GroupKind{Group: "policy", Kind: "PodDisruptionBudget"}, "disruption"},
		{schema.GroupKind{Kind: "Service"}, ""}, // it is ready without its endpoints
		{schema.GroupKind{Group: "example.com", Kind: "Deployment"}, ""},
	} {
		c, ok := For(tt.kind)
		if c.Short != tt.short || ok != (tt.short != "") {
			t.Errorf("the controller of %s is %q, want %q", tt.kind, c.Short, tt.short)
		}
		if same, found := ByShort(tt.short); found != ok || same.Name != c.Name {
			t.Errorf("the controller %q is %q", tt.short, same.Name)
		}
	}
}

// TestKeysAreRead: the objects that keys name are among those that the controller reads.
func TestKeysAreRead(t *testing.T) {
	for _, c := range All() {
		every := slices.Contains(c.Reads, schema.GroupResource{Group: "*", Resource: "*"})
		for _, k := range c.Keys {
			if !every && !slices.Contains(c.Reads, k.GroupResource()) {
				t.Errorf("%s has keys of %s, which it does not read", c.Name, k.GroupResource())
			}
		}
	}
}
