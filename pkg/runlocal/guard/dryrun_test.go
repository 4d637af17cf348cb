package guard

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	asJSON     = runtime.ContentTypeJSON
	asProtobuf = runtime.ContentTypeProtobuf
)

// encoded is an object as a typed client sends it.
func encoded(t testing.TB, media string, gv schema.GroupVersion, obj runtime.Object) []byte {
	t.Helper()
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), media)
	if !ok {
		t.Fatalf("no encoder for %s", media)
	}
	body, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, gv), obj)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// attempt is a row of the table of all sorts of writes.
type attempt struct {
	reason string
	method string
	uri    string
	media  string
	body   func(t testing.TB, media string) []byte
	// server and client are the codes of the answers in the two modes.
	server, client int
	// unsent says that the request is not sent to the server in any mode.
	unsent bool
	// review is whether the request is sent in both modes, for it is a review.
	review bool
}

func literal(text string) func(testing.TB, string) []byte {
	return func(testing.TB, string) []byte { return []byte(text) }
}

func typed(gv schema.GroupVersion, obj runtime.Object) func(testing.TB, string) []byte {
	return func(t testing.TB, media string) []byte { return encoded(t, media, gv, obj) }
}

// fixtures creates what the table is about, unless another test has: no test changes it.
func (g *guarded) fixtures(t testing.TB) {
	t.Helper()
	ctx := t.Context()
	_, err1 := g.admin.CoreV1().Pods("default").Create(ctx, pod("web"), metav1.CreateOptions{})
	_, err2 := g.admin.CoreV1().ConfigMaps("default").Create(ctx, settings("settings"), metav1.CreateOptions{})
	_, err3 := g.admin.AppsV1().Deployments("default").Create(ctx, web(), metav1.CreateOptions{})
	_, err4 := g.admin.CertificatesV1().CertificateSigningRequests().Create(ctx, signing(t), metav1.CreateOptions{})
	_, err5 := g.admin.CoordinationV1().Leases("kube-system").Create(ctx, lease(), metav1.CreateOptions{})
	for _, err := range []error{err1, err2, err3, err4, err5} {
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
}

func settings(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Data: map[string]string{"a": "1"}}
}

func lease() *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "leader", Namespace: "kube-system"}}
}

func web() *appsv1.Deployment {
	replicas, labels := int32(1), map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod("").Spec},
		},
	}
}

// approved is a certificate signing request with an approval.
func approved(t testing.TB) *certificatesv1.CertificateSigningRequest {
	csr := signing(t)
	csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{
		{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test", LastUpdateTime: metav1.Now()},
	}
	return csr
}

func table(t testing.TB) []attempt {
	core, apps := corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion
	grace := int64(0)
	always := metav1.DeletePropagationBackground
	const pods, maps = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/configmaps"
	options := typed(core, &metav1.DeleteOptions{GracePeriodSeconds: &grace, PropagationPolicy: &always})
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}}
	forced := eviction.DeepCopy()
	forced.DeleteOptions = &metav1.DeleteOptions{GracePeriodSeconds: &grace}
	tried := eviction.DeepCopy()
	tried.DeleteOptions = &metav1.DeleteOptions{DryRun: []string{"All"}}
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "web.", Namespace: "default"},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "default",
			Name: "web"}, Reason: "Test", Type: "Normal",
	}
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	var rows []attempt
	for _, media := range []string{asJSON, asProtobuf} {
		rows = append(rows, []attempt{
			{reason: "an object", method: "POST", uri: maps, media: media, body: typed(core, settings("new")), server: 201, client: 201},
			{reason: "an object whose name is made", method: "POST", uri: "/api/v1/namespaces/default/events", media: media, body: typed(core, event), server: 201, client: 201},
			{reason: "a whole object", method: "PUT", uri: maps + "/settings", media: media, body: typed(core, settings("settings")), server: 200, client: 200},
			{reason: "a Lease, as an election writes it", method: "PUT", uri: "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/leader", media: media, body: typed(coordinationv1.SchemeGroupVersion, lease()), server: 422, client: 200},
			{reason: "a scale", method: "PUT", uri: "/apis/apps/v1/namespaces/default/deployments/web/scale", media: media, body: typed(autoscalingv1.SchemeGroupVersion, scale), server: 200, client: 200},
			{reason: "a status", method: "PUT", uri: "/apis/apps/v1/namespaces/default/deployments/web/status", media: media, body: typed(apps, web()), server: 200, client: 200},
			{reason: "a finalization", method: "PUT", uri: "/api/v1/namespaces/default/finalize", media: media, body: typed(core, space), server: 200, client: 200},
			{reason: "an approval", method: "PUT", uri: "/apis/certificates.k8s.io/v1/certificatesigningrequests/csr/approval", media: media, body: typed(certificatesv1.SchemeGroupVersion, approved(t)), server: 200, client: 200},
			{reason: "containers added to a pod that runs", method: "PUT", uri: pods + "/web/ephemeralcontainers", media: media, body: typed(core, pod("web")), server: 200, client: 200},
			{reason: "a deletion with options in the body, where the query does not count", method: "DELETE", uri: pods + "/web", media: media, body: options, server: 200, client: 200},
			{reason: "a deletion of many with options in the body", method: "DELETE", uri: pods + "?labelSelector=app%3Dweb", media: media, body: options, server: 200, client: 200},
			{reason: "an eviction", method: "POST", uri: pods + "/web/eviction", media: media, body: typed(policyv1.SchemeGroupVersion, eviction), server: 201, client: 201},
			{reason: "an eviction with options", method: "POST", uri: pods + "/web/eviction", media: media, body: typed(policyv1.SchemeGroupVersion, forced), server: 201, client: 201},
			{reason: "an eviction that is a dry run already", method: "POST", uri: pods + "/web/eviction", media: media, body: typed(policyv1.SchemeGroupVersion, tried), server: 201, client: 201},
			{reason: "a binding", method: "POST", uri: pods + "/web/binding", media: media, body: typed(core, binding), server: 201, client: 201},
			{reason: "a binding by the older way", method: "POST", uri: "/api/v1/namespaces/default/bindings", media: media, body: typed(core, binding), server: 201, client: 201},
		}...)
	}
	return append(rows, []attempt{
		{reason: "a deletion without a body", method: "DELETE", uri: pods + "/web", server: 200, client: 200},
		{reason: "a deletion whose query says otherwise", method: "DELETE", uri: pods + "/web?dryRun=&gracePeriodSeconds=0", server: 200, client: 200},
		{reason: "a deletion of many without a body", method: "DELETE", uri: maps, server: 200, client: 200},
		{reason: "a deletion of what is not there", method: "DELETE", uri: pods + "/other", server: 404, client: 404},
		{reason: "a merge patch", method: "PATCH", uri: maps + "/settings", media: "application/merge-patch+json", body: literal(`{"data":{"a":"2"}}`), server: 200, client: 200},
		{reason: "a JSON patch", method: "PATCH", uri: maps + "/settings", media: "application/json-patch+json", body: literal(`[{"op":"add","path":"/data/b","value":"2"}]`), server: 200, client: 200},
		{reason: "a JSON patch that does not apply", method: "PATCH", uri: maps + "/settings", media: "application/json-patch+json", body: literal(`[{"op":"test","path":"/data/a","value":"2"}]`), server: 422, client: 422},
		{reason: "a strategic merge patch", method: "PATCH", uri: pods + "/web", media: "application/strategic-merge-patch+json", body: literal(`{"metadata":{"labels":{"b":"2"}}}`), server: 200, client: 200},
		{reason: "a patch of a status", method: "PATCH", uri: pods + "/web/status", media: "application/strategic-merge-patch+json", body: literal(`{"status":{"phase":"Running"}}`), server: 200, client: 200},
		{reason: "a patch for another object of the name", method: "PATCH", uri: pods + "/web", media: "application/merge-patch+json", body: literal(`{"metadata":{"uid":"other"}}`), server: 422, client: 422},
		{reason: "a patch for another version of the object", method: "PATCH", uri: pods + "/web", media: "application/merge-patch+json", body: literal(`{"metadata":{"resourceVersion":"1","labels":{"x":"y"}}}`), server: 409, client: 409},
		{reason: "server-side apply, which only a server can do", method: "PATCH", uri: maps + "/settings?fieldManager=m&force=true", media: "application/apply-patch+yaml", body: literal("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {c: x}"), server: 200, client: 415},
		{reason: "a review of permissions", method: "POST", uri: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", media: asJSON, body: literal(`{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}`), server: 201, client: 201, review: true},
		{reason: "a review of the user", method: "POST", uri: "/apis/authentication.k8s.io/v1/selfsubjectreviews", media: asJSON, body: literal(`{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`), server: 201, client: 201, review: true},
		{reason: "a token, which is valid even if a dry run issues it", method: "POST", uri: "/api/v1/namespaces/default/serviceaccounts/default/token", media: asJSON, body: literal(`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}`), server: 403, client: 403, unsent: true},
		{reason: "a way into a pod", method: "GET", uri: pods + "/web/exec?command=rm", server: 403, client: 403, unsent: true},
		{reason: "a way into a pod, by POST", method: "POST", uri: pods + "/web/attach", server: 403, client: 403, unsent: true},
		{reason: "a way to whatever a pod serves", method: "GET", uri: pods + "/web/proxy/shutdown", server: 403, client: 403, unsent: true},
		{reason: "a write to whatever a service serves", method: "POST", uri: "/api/v1/namespaces/default/services/web/proxy/", server: 403, client: 403, unsent: true},
		{reason: "a way to a kubelet", method: "GET", uri: "/api/v1/nodes/n/proxy/run/x", server: 403, client: 403, unsent: true},
		{reason: "a path of an old way to what pods serve", method: "GET", uri: "/api/v1/proxy/namespaces/default/pods/web", server: 403, client: 403, unsent: true},
		{reason: "a write to something that is no object", method: "POST", uri: "/debug/flags/v", server: 403, client: 403, unsent: true},
		{reason: "an unknown method", method: "BREW", uri: pods, server: 403, client: 403, unsent: true},
		{reason: "a path that is not clean", method: "DELETE", uri: "/api/v1/namespaces/default/../default/pods/web", server: 403, client: 403, unsent: true},
		{reason: "a path that continues after the subresource", method: "PUT", uri: pods + "/web/status/more", server: 403, client: 403, unsent: true},
		{reason: "options that cannot be read", method: "DELETE", uri: pods + "/web", media: asJSON, body: literal(`{"dryRun":`), server: 415, client: 400, unsent: true},
		{reason: "options that are followed by others", method: "DELETE", uri: pods + "/web", media: asJSON, body: literal(`{}{"gracePeriodSeconds":0}`), server: 415, client: 400, unsent: true},
		{reason: "options that are none", method: "DELETE", uri: pods + "/web", media: asJSON, body: literal(`null`), server: 415, client: 200, unsent: true},
		{reason: "options in an encoding that is not known", method: "DELETE", uri: pods + "/web", media: "application/cbor", body: literal("\xd9\xd9\xf7\xa0"), server: 415, client: 400, unsent: true},
		{reason: "options that say that they are protobuf", method: "DELETE", uri: pods + "/web", media: asProtobuf, body: literal(`{"gracePeriodSeconds":0}`), server: 415, client: 400, unsent: true},
		{reason: "a kind that the server does not have", method: "POST", uri: "/apis/example.com/v1/namespaces/default/gadgets", media: asJSON, body: literal(`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g"}}`), server: 201, client: 201, unsent: true},
	}...)
}

// TestNothingIsWritten plays every sort of write in both modes on a server: what reaches it says that it is a dry run,
// and afterwards no object has changed.
func TestNothingIsWritten(t *testing.T) {
	for _, mode := range []Mode{Server, Client} {
		t.Run(string(mode), func(t *testing.T) {
			g := guardedOf(sharedServer(t), mode)
			g.fixtures(t)
			before := g.versions(t)
			for _, row := range table(t) {
				var body []byte
				if row.body != nil {
					body = row.body(t, row.media)
				}
				code, answer := g.do(t, row.method, row.uri, row.media, body)
				want := row.server
				if mode == Client {
					want = row.client
				}
				what := fmt.Sprintf("%s (%s %s, %s)", row.reason, row.method, row.uri, row.media)
				if code != want {
					t.Errorf("%s: answered %d, want %d: %.300q", what, code, want, answer)
				}
				reached := g.writes()
				if g.answered == (mode == Server && !row.unsent || row.review) {
					t.Errorf("%s: the answer says that it was given here: %t", what, g.answered)
				}
				if sends := mode == Server && !row.unsent || row.review; sends != (len(reached) == 1) {
					t.Errorf("%s: %d requests reached the server, want sent: %t", what, len(reached), sends)
				}
				for _, s := range reached {
					if why := wet(s); why != "" {
						t.Errorf("%s: %s", what, why)
					}
				}
			}
			if diff := cmp.Diff(before, g.versions(t)); diff != "" {
				t.Errorf("resourceVersions (-before +after):\n%s", diff)
			}
		})
	}
}

// wet says why a request is not a dry run; empty if it is.
func wet(s sent) string {
	at, err := url.Parse(s.uri)
	if err != nil {
		return err.Error()
	}
	if got := at.Query()["dryRun"]; !cmp.Equal(got, []string{"All"}) {
		return fmt.Sprintf("dryRun in the query is %q", got)
	}
	options := &metav1.DeleteOptions{}
	switch {
	case s.method == http.MethodDelete && len(s.body) > 0:
		obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(s.body, nil, options)
		if err != nil || obj != runtime.Object(options) {
			return fmt.Sprintf("the options are %v (%v)", obj, err)
		}
	case strings.HasSuffix(at.Path, "/eviction"):
		obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(s.body, nil, nil)
		eviction, ok := obj.(*policyv1.Eviction)
		if err != nil || !ok {
			return fmt.Sprintf("the eviction is %v (%v)", obj, err)
		}
		if eviction.DeleteOptions == nil {
			return "" // the query counts
		}
		options = eviction.DeleteOptions
	default:
		return ""
	}
	if !cmp.Equal(options.DryRun, []string{"All"}) {
		return fmt.Sprintf("dryRun in the options is %q", options.DryRun)
	}
	return ""
}
