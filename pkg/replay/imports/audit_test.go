package imports

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// auditLine returns an entry of an audit log about the pod a/web at second 1. rest is added to it, and may hold fields
// once more, of which the later ones count.
func auditLine(verb, level string, code int, answer, rest string) string {
	if answer != "" {
		answer = `,"responseObject":` + answer
	}
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":%q,"auditID":"i","stage":"ResponseComplete",`+
		`"requestURI":"/api/v1/namespaces/a/pods","verb":%q,"user":{"username":"alice"},"userAgent":"kubectl/v1.37.1",`+
		`"objectRef":{"resource":"pods","namespace":"a","name":"web","apiVersion":"v1"},"responseStatus":{"code":%d}%s,`+
		`"requestReceivedTimestamp":"2026-01-02T03:04:00.900000Z","stageTimestamp":"2026-01-02T03:04:01.000000Z"%s}`+"\n",
		level, verb, code, answer, rest)
}

func at(second string) string { return `,"stageTimestamp":"2026-01-02T03:04:` + second + `Z"` }

// TestMergedParts: what is merged into an object is in it, and nothing else has changed.
func TestMergedParts(t *testing.T) {
	const object = `{"kind":"Deployment","metadata":{"generation":1,"name":"web","resourceVersion":"5"},"spec":{"paused":true,"replicas":1}}`
	for _, tt := range []struct {
		reason, object string
		part           objectPart
		want           string
	}{
		{"metadata replaces metadata", object, objectPart{metadata: []byte(`{"metadata":{"name":"web","resourceVersion":"6"}}`)}, `{"kind":"Deployment","metadata":{"name":"web","resourceVersion":"6"},"spec":{"paused":true,"replicas":1}}`},
		{"a scale is a number of replicas, which is a new generation", object, objectPart{scale: []byte(`{"metadata":{"resourceVersion":"6"},"spec":{"replicas":3}}`)}, `{"kind":"Deployment","metadata":{"generation":2,"name":"web","resourceVersion":"6"},"spec":{"paused":true,"replicas":3}}`},
		{"not if it is the same", object, objectPart{scale: []byte(`{"metadata":{"resourceVersion":"6"},"spec":{"replicas":1}}`)}, `{"kind":"Deployment","metadata":{"generation":1,"name":"web","resourceVersion":"6"},"spec":{"paused":true,"replicas":1}}`},
		{"an object without a spec has no replicas", `{"metadata":{}}`, objectPart{scale: []byte(`{"metadata":{"resourceVersion":"6"},"spec":{"replicas":1}}`)}, `{"metadata":{}}`},
	} {
		got, err := tt.part.mergedInto([]byte(tt.object))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %s, want %s: %v", tt.reason, got, tt.want, err)
		}
	}
}

func TestAudit(t *testing.T) {
	pod := func(version, rest string) string { return objectText("Pod", "a", "web", version, rest) }
	const (
		full    = "RequestResponse"
		success = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"web","kind":"pods","uid":"u-web"}}`
	)
	created := auditLine("create", full, 201, pod("5", ""), "")
	const createdLines = "03:04:01.000 STREAM 1 v1 Pod pods namespaced\n03:04:01.000 ADDED 1 a/web @5 by alice\n"
	for _, tt := range []struct {
		reason, input, want string
		skipped             []replay.Skipped
	}{
		{"a write is what it was answered with", created, createdLines, nil},
		{
			"updates and patches are changes", created + auditLine("update", full, 200, pod("6", ""), at("02")) + auditLine("patch", full, 200, pod("7", ""), at("03")),
			createdLines + "03:04:02.000 MODIFIED 1 a/web @6 by alice\n03:04:03.000 MODIFIED 1 a/web @7 by alice\n", nil,
		},
		{
			"a patch that is an apply may create", auditLine("patch", full, 201, pod("5", ""), ""), createdLines, nil,
		},
		{
			"a deletion that is answered with a Status has the last known state", created + auditLine("delete", full, 200, success, at("09")),
			createdLines + "03:04:09.000 DELETED 1 a/web @5 by alice\n", nil,
		},
		{
			"without it there is nothing to show", auditLine("delete", full, 200, success, ""), "",
			[]replay.Skipped{{Reason: replay.SkipNoContent, Count: 1}},
		},
		{
			"a pod that ends gracefully is only marked, then gone",
			auditLine("delete", full, 200, pod("8", `,"deletionTimestamp":"2026-01-02T03:04:01Z","deletionGracePeriodSeconds":30`), "") +
				auditLine("delete", full, 200, pod("9", `,"deletionTimestamp":"2026-01-02T03:04:01Z","deletionGracePeriodSeconds":0`), at("30")),
			"03:04:01.000 STREAM 1 v1 Pod pods namespaced\n03:04:01.000 MODIFIED 1 a/web @8 by alice\n03:04:30.000 DELETED 1 a/web @9 by alice\n", nil,
		},
		{
			"an object is gone with its last finalizer",
			auditLine("delete", full, 200, pod("8", `,"deletionTimestamp":"2026-01-02T03:04:01Z","finalizers":["x"]`), "") +
				auditLine("patch", full, 200, pod("9", `,"deletionTimestamp":"2026-01-02T03:04:01Z"`), at("30")),
			"03:04:01.000 STREAM 1 v1 Pod pods namespaced\n03:04:01.000 MODIFIED 1 a/web @8 by alice\n03:04:30.000 DELETED 1 a/web @9 by alice\n", nil,
		},
		{
			"a collection is deleted object by object",
			auditLine("deletecollection", full, 200, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"x","namespace":"a"}},{"metadata":{"name":"y","namespace":"a"}}]}`, ""),
			"03:04:01.000 STREAM 1 v1 Pod pods namespaced\n03:04:01.000 DELETED 1 a/x by alice\n03:04:01.000 DELETED 1 a/y by alice\n", nil,
		},
		{
			"what is read, refused, tried, or not yet complete is nothing",
			auditLine("get", full, 200, pod("1", ""), "") + auditLine("update", full, 409, success, "") + auditLine("watch", full, 200, "", "") +
				auditLine("create", full, 201, pod("1", ""), `,"requestURI":"/api/v1/pods?dryRun=All"`) + auditLine("create", full, 0, "", `,"stage":"RequestReceived"`) +
				auditLine("create", full, 201, pod("1", ""), `,"objectRef":{"resource":"subjectaccessreviews","apiGroup":"authorization.k8s.io","apiVersion":"v1"}`) +
				auditLine("create", full, 201, "", `,"objectRef":{"resource":"serviceaccounts","subresource":"token","apiVersion":"v1"}`), "", nil,
		},
		{
			"entries without objects are counted", auditLine("create", "Metadata", 201, "", "") + auditLine("update", "Request", 200, "", "") + auditLine("delete", "Metadata", 200, "", ""), "",
			[]replay.Skipped{{Reason: replay.SkipNoContent, Count: 3}},
		},
		{
			"and so are answers that are other objects", auditLine("create", full, 201, success, `,"objectRef":{"resource":"pods","subresource":"binding","namespace":"a","name":"web","apiVersion":"v1"}`), "",
			[]replay.Skipped{{Reason: replay.SkipSubresource, Count: 1}},
		},
		{
			"a status is the object", created + auditLine("patch", full, 200, pod("6", ""), `,"objectRef":{"resource":"pods","subresource":"status","namespace":"a","name":"web","apiVersion":"v1"}`+at("02")),
			createdLines + "03:04:02.000 MODIFIED 1 a/web @6 by alice\n", nil,
		},
		{
			"who acts for another is that other", auditLine("create", full, 201, pod("5", ""), `,"impersonatedUser":{"username":"bob"}`),
			strings.ReplaceAll(createdLines, "alice", "bob"), nil,
		},
		{
			"entries that are late are put in order", auditLine("patch", full, 200, pod("7", ""), at("02.500")) + created,
			createdLines + "03:04:02.500 MODIFIED 1 a/web @7 by alice\n", nil,
		},
		{
			"of two writes at once the older version is first", created + auditLine("patch", full, 200, pod("7", ""), at("02")) + auditLine("patch", full, 200, pod("6", ""), at("02.001")),
			createdLines + "03:04:02.000 MODIFIED 1 a/web @6 by alice\n03:04:02.001 MODIFIED 1 a/web @7 by alice\n", nil,
		},
		{
			"later than that it stays where it is, with the time of those before", created + auditLine("patch", full, 200, pod("7", ""), at("30")) + auditLine("patch", full, 200, pod("8", ""), at("40")) + auditLine("patch", full, 200, pod("6", ""), at("02")),
			createdLines + "03:04:30.000 MODIFIED 1 a/web @7 by alice\n03:04:30.000 MODIFIED 1 a/web @6 by alice\n03:04:40.000 MODIFIED 1 a/web @8 by alice\n", nil,
		},
		{
			"a write that changed nothing has the version that was known", created + auditLine("patch", full, 200, pod("5", ""), at("02")), createdLines, nil,
		},
		{
			"the garbage collector asks for metadata only, which is merged into what is known",
			auditLine("create", full, 201, pod("5", `,"finalizers":["x"]`), "") +
				auditLine("patch", full, 200, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"web","namespace":"a","uid":"u-web","resourceVersion":"6","finalizers":["x"],"deletionTimestamp":"2026-01-02T03:04:01Z"}}`, at("02")) +
				auditLine("patch", full, 200, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"web","namespace":"a","uid":"u-web","resourceVersion":"6","deletionTimestamp":"2026-01-02T03:04:01Z"}}`, at("03")),
			createdLines + "03:04:02.000 MODIFIED 1 a/web @6 by alice\n03:04:03.000 DELETED 1 a/web @6 by alice\n", nil,
		},
		{
			"of what is not known it is not enough", auditLine("patch", full, 200, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"web","namespace":"a"}}`, ""), "",
			[]replay.Skipped{{Reason: replay.SkipNoContent, Count: 1}},
		},
		{
			"a scale is merged, too", auditLine("create", full, 201, pod("5", `},"spec":{"replicas":1`), "") + auditLine("patch", full, 200, `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"web","resourceVersion":"6"},"spec":{"replicas":3}}`,
				`,"objectRef":{"resource":"pods","subresource":"scale","namespace":"a","name":"web","apiVersion":"v1"}`+at("02")),
			createdLines + "03:04:02.000 MODIFIED 1 a/web @6 by alice\n", nil,
		},
		{
			"of what is not known there is none", auditLine("patch", full, 200, `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"web"}}`, `,"objectRef":{"resource":"pods","subresource":"scale","namespace":"a","name":"web","apiVersion":"v1"}`), "",
			[]replay.Skipped{{Reason: replay.SkipSubresource, Count: 1}},
		},
		{
			"of a collection, what runs or has finalizers is marked only, which its answer does not show",
			auditLine("deletecollection", full, 200, `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"x"},"spec":{"nodeName":"n"},"status":{"phase":"Running"}},`+
				`{"metadata":{"name":"y","namespace":"a"},"spec":{"nodeName":"n"},"status":{"phase":"Failed"}},{"metadata":{"name":"z","finalizers":["x"]}}]}`, ""),
			"03:04:01.000 STREAM 1 v1 Pod pods namespaced\n03:04:01.000 DELETED 1 a/y by alice\n",
			[]replay.Skipped{{Reason: replay.SkipNoContent, Count: 1}},
		},
		{
			"webhooks get lists", `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[` + strings.TrimSpace(created) + `]}`, createdLines, nil,
		},
		{
			"the plural name is that of the request", auditLine("create", full, 201, `{"apiVersion":"x.org/v1","kind":"Octopus","metadata":{"name":"o"}}`, `,"objectRef":{"resource":"octopodes","name":"o","apiGroup":"x.org","apiVersion":"v1"}`),
			"03:04:01.000 STREAM 1 x.org/v1 Octopus octopodes cluster\n03:04:01.000 ADDED 1 o by alice\n", nil,
		},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			s, err := Open(t.Context(), strings.NewReader(tt.input))
			if err != nil {
				t.Fatal(err)
			}
			got, err := lines(s)
			checkEnd(t, s, err, "")
			if diff := cmp.Diff(tt.want, withoutRequests(got)); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.skipped, s.Skipped()); diff != "" {
				t.Errorf("skipped (-want +got):\n%s", diff)
			}
		})
	}
}

// withoutRequests returns the lines that are about objects.
func withoutRequests(lines string) string {
	var out strings.Builder
	for line := range strings.Lines(lines) {
		if !strings.Contains(line, " REQUEST ") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// TestAuditedRequests: what was refused, or has no content, is a request all the same.
func TestAuditedRequests(t *testing.T) {
	const (
		agent = `,"userAgent":"kube-controller-manager/v1.37.1 (linux/amd64) kubernetes/abc/`
		user  = `,"user":{"username":"system:serviceaccount:kube-system:`
	)
	for _, tt := range []struct{ reason, input, want string }{
		{
			"the answer has the name, the uid and the version", auditLine("create", "RequestResponse", 201, objectText("Pod", "a", "web-x", "5", ""), `,"objectRef":{"resource":"pods","namespace":"a","name":"","apiVersion":"v1"}`),
			"REQUEST create pods a/web-x 201 u-web-x @5 by alice",
		},
		{
			"a deletion is answered with a Status", auditLine("delete", "RequestResponse", 200, `{"kind":"Status","apiVersion":"v1","details":{"uid":"u"}}`, ""),
			"REQUEST delete pods a/web 200 u by alice",
		},
		{"a refusal", auditLine("update", "Metadata", 409, "", `,"responseStatus":{"code":409,"reason":"Conflict","message":"changed"}`), "REQUEST update pods a/web 409 Conflict changed by alice"},
		{
			"a refusal of a name that was to be generated", auditLine("create", "Request", 403, "", `,"objectRef":{"resource":"pods","namespace":"a","name":""},"requestObject":{"metadata":{"generateName":"web-"}}`),
			"REQUEST create pods a/web- 403 by alice",
		},
		{"an eviction", auditLine("create", "Metadata", 201, "", `,"objectRef":{"resource":"pods","subresource":"eviction","namespace":"a","name":"web"}`), "REQUEST create pods/eviction a/web 201 by alice"},
		{"a controller by its user agent", auditLine("update", "Metadata", 200, "", agent+`deployment-controller"`), "REQUEST update pods a/web 200 by deployment-controller"},
		{"which may have its account", auditLine("update", "Metadata", 200, "", agent+`system:serviceaccount:kube-system:job-controller"`), "REQUEST update pods a/web 200 by job-controller"},
		{"a controller by its account", auditLine("update", "Metadata", 200, "", user+`job-controller"},"userAgent":"hyperkube/v1 (x) y/system:serviceaccount:kube-system:job-controller"`), "REQUEST update pods a/web 200 by job-controller"},
		{"another program with its account", auditLine("update", "Metadata", 200, "", user+`node-controller"},"userAgent":"cloud-controller-manager/v1 (x) y/system:serviceaccount:kube-system:node-controller"`), "REQUEST update pods a/web 200 by system:serviceaccount:kube-system:node-controller"},
		{"somebody for it", auditLine("update", "Metadata", 200, "", `,"impersonatedUser":{"username":"system:serviceaccount:kube-system:job-controller"}`), "REQUEST update pods a/web 200 by system:serviceaccount:kube-system:job-controller"},
		{"a namespace", auditLine("update", "Metadata", 200, "", `,"objectRef":{"resource":"namespaces","namespace":"a","name":"a"}`), "REQUEST update namespaces a 200 by alice"},
		{"a Secret", auditLine("update", "Metadata", 422, "", `,"responseStatus":{"code":422,"reason":"Invalid","message":"hunter2"},"objectRef":{"resource":"secrets","namespace":"a","name":"web"}`), "REQUEST update secrets a/web 422 Invalid by alice"},
		{"the uid is there at any level", auditLine("delete", "Metadata", 200, "", `,"responseStatus":{"code":200,"details":{"uid":"u"}}`), "REQUEST delete pods a/web 200 u by alice"},
		{"what is no write", auditLine("get", "Metadata", 200, "", ""), ""},
		{"a dry run", auditLine("delete", "Request", 200, "", `,"requestObject":{"dryRun":["All"]}`), ""},
		{"Events", auditLine("create", "Metadata", 201, "", `,"objectRef":{"resource":"events","namespace":"a"}`), ""},
	} {
		s, err := Open(t.Context(), strings.NewReader(tt.input))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := lines(s)
		var requests []string
		for line := range strings.Lines(got) {
			if _, request, ok := strings.Cut(strings.TrimSpace(line), " REQUEST "); ok {
				requests = append(requests, "REQUEST "+request)
			}
		}
		if diff := cmp.Diff(tt.want, strings.Join(requests, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}
