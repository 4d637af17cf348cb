package inspect

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestRefusals: the messages are those of Kubernetes v1.37.1, as controllers report them.
func TestRefusals(t *testing.T) {
	for _, row := range []struct {
		message string
		cause   CauseType
		refers  string
		detail  string
	}{
		{
			`pods "web-1" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1`,
			QuotaExceeded, "ResourceQuota/few", "requested: pods=1, used: pods=1, limited: pods=1",
		},
		{
			`pods "web-1" is forbidden: failed quota: cpu: must specify limits.cpu for: web`,
			QuotaExceeded, "ResourceQuota/cpu", "must specify limits.cpu for: web",
		},
		{
			`pods "web-1" is forbidden: status unknown for quota: few, resources: pods`,
			QuotaExceeded, "ResourceQuota/few", "status unknown for quota: few, resources: pods",
		},
		{
			`pods "web-1" is forbidden: [maximum cpu usage per Container is 1, but limit is 2, minimum memory usage per Pod is 1Gi]`,
			LimitRangeViolated, "", "maximum cpu usage per Container is 1, but limit is 2, minimum memory usage per Pod is 1Gi]",
		},
		{
			`Pod "web-1" is invalid: spec.containers[0].resources.requests: Invalid value: "700m": must be less than or equal to cpu limit of 500m`,
			LimitRangeViolated, "", `Invalid value: "700m": must be less than or equal to cpu limit of 500m`,
		},
		{
			`pods "web-1" is forbidden: error looking up service account shop/robot: serviceaccount "robot" not found`,
			MissingObject, "ServiceAccount/robot", `error looking up service account shop/robot: serviceaccount "robot" not found`,
		},
		{
			`pods "web-1" is forbidden: no PriorityClass with name urgent was found`,
			MissingObject, "PriorityClass/urgent", "no PriorityClass with name urgent was found",
		},
		{
			`pods "web-1" is forbidden: pod rejected: RuntimeClass "gvisor" not found`,
			MissingObject, "RuntimeClass/gvisor", `RuntimeClass "gvisor" not found`,
		},
		{
			`Internal error occurred: failed calling webhook "a.example.com": failed to call webhook: Post "https://h.n.svc:443/?timeout=10s": context deadline exceeded`,
			WebhookUnreachable, "", `Post "https://h.n.svc:443/?timeout=10s": context deadline exceeded`,
		},
		{`admission webhook "a.example.com" denied the request: no`, AdmissionDenied, "", "no"},
		{`admission webhook "a.example.com" denied the request without explanation`, AdmissionDenied, "", ""},
		{
			`pods "web-1" is forbidden: violates PodSecurity "restricted:latest": hostNetwork=true`,
			AdmissionDenied, "", `violates PodSecurity "restricted:latest": hostNetwork=true`,
		},
		{
			`pods is forbidden: User "system:serviceaccount:a:b" cannot create resource "pods" in API group "" in the namespace "c"`,
			AccessDenied, "", `User "system:serviceaccount:a:b" cannot create resource "pods" in API group "" in the namespace "c"`,
		},
		{ // what a webhook writes is its own: no plugin of the API server has written it
			`admission webhook "a.example.com" denied the request: exceeded quota: team limit`,
			AdmissionDenied, "", "exceeded quota: team limit",
		},
		{
			`admission webhook "a.example.com" denied the request: maximum cpu usage per Pod is 4`,
			AdmissionDenied, "", "maximum cpu usage per Pod is 4",
		},
		{
			`Internal error occurred: failed calling webhook "a.example.com": failed to call webhook: admission webhook "b.example.com" denied the request: no`,
			WebhookUnreachable, "", `admission webhook "b.example.com" denied the request: no`,
		},
		{
			`pods "web-1" is forbidden: ValidatingAdmissionPolicy 'team' with binding 'team' denied request: failed quota: team: too many`,
			AdmissionDenied, "ValidatingAdmissionPolicy/team", "failed quota: team: too many",
		},
		{`Deployment.apps "web" is invalid: spec.replicas: Invalid value: -1`, "", "", ""},
		{"", "", "", ""},
	} {
		got := Refusal(row.message)
		refers := ""
		if got.Refers != nil {
			refers = got.Refers.Kind + "/" + got.Refers.Name
		}
		if got.Type != row.cause || refers != row.refers || got.Detail != row.detail {
			t.Errorf("%s:\n%s %s %q, want %s %s %q", row.message, got.Type, refers, got.Detail, row.cause, row.refers, row.detail)
		}
	}
}

func TestPullProblems(t *testing.T) {
	for _, row := range []struct{ reason, image, message, want string }{
		{"ErrImagePull", "a:1", "rpc error: code = NotFound desc = failed to pull: not found", "not found"},
		{"ErrImagePull", "a:1", "manifest unknown: manifest unknown", "not found"},
		{"ErrImagePull", "a:1", "unexpected status: 401 Unauthorized", "access denied"},
		{"ErrImagePull", "a:1", "pull access denied, repository does not exist or may require authorization", "access denied"},
		{"ErrImagePull", "a:1", "toomanyrequests: You have reached your pull rate limit", "the registry limits pulls"},
		{"ErrImagePull", "a:1", "unexpected status from HEAD request to https://r.example/v2/a/manifests/1: 429 Too Many Requests", "the registry limits pulls"},
		{"ErrImagePull", "a:1", "received unexpected status code 429", "the registry limits pulls"},
		{"ErrImagePull", "a:1", "dial tcp: lookup registry.invalid: no such host", "the registry cannot be reached"},
		{ // a tag is no status
			"ErrImagePull", "nginx:1.429.0",
			`Failed to pull image "nginx:1.429.0": failed to pull and unpack image "docker.io/library/nginx:1.429.0": ` +
				`failed to resolve reference "docker.io/library/nginx:1.429.0": docker.io/library/nginx:1.429.0: not found`, "not found",
		},
		{ // nor is a digest
			"ErrImagePull", "a@sha256:0429", `Failed to pull image "a@sha256:0429": dial tcp 10.0.0.1:443: connection refused`, "the registry cannot be reached",
		},
		{ // a repository is named for what it has
			"ErrImagePull", "r.example/denied/page:1",
			`Failed to pull image "r.example/denied/page:1": failed to resolve reference "r.example/denied/page:1": r.example/denied/page:1: not found`, "not found",
		},
		{
			"ErrImagePull", "r.example/denied:1",
			`failed to do request: Head "https://r.example/v2/denied/manifests/1": dial tcp: lookup r.example: no such host`, "the registry cannot be reached",
		},
		{"ErrImagePull", "host", "dial tcp: lookup registry.invalid: no such host", "the registry cannot be reached"},
		{"ErrImagePull", "", "manifest unknown", "not found"},
		{"InvalidImageName", "A", "couldn't parse image name", "the name is not valid"},
		{"ErrImageNeverPull", "a:1", "", "it is not on the node, and imagePullPolicy is Never"},
		{"ImagePullBackOff", "a:1", "Back-off pulling image", ""},
	} {
		if got := pullProblem(row.reason, row.image, row.message); got != row.want {
			t.Errorf("%s %s: %q, want %q", row.reason, row.message, got, row.want)
		}
	}
}

// TestCausesDependOnTime: a controller has a moment to see a change before it is said not to act.
func TestCausesDependOnTime(t *testing.T) {
	obj := fromYAML(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, generation: 2, creationTimestamp: "2026-01-01T00:00:00Z", managedFields: [
  {manager: kubectl, operation: Update, time: "2026-01-01T01:00:00Z", fieldsV1: {"f:spec": {}}},
  {manager: kube-controller-manager, operation: Update, subresource: status, time: "2026-01-01T00:00:05Z", fieldsV1: {"f:status": {}}}]}
spec: {replicas: 1}
status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1}
`)
	changed := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)
	held := &Lease{Name: "kube-controller-manager", Holder: "cp-1", Renewed: changed, Lasts: 15 * time.Second}
	for _, row := range []struct {
		reason string
		after  time.Duration
		lease  *Lease
		want   Certainty
	}{
		{"just now", time.Second, nil, Possible},
		{"later", time.Minute, nil, Likely},
		{"its lease is held", 10 * time.Second, held, Possible},
		{"its lease may have expired, or the clock here is ahead", time.Minute, held, Likely},
		{"its lease has expired", 2 * time.Minute, held, Certain},
		{"its lease was released, and another may acquire it", time.Minute, &Lease{Name: "x", Renewed: changed, Lasts: time.Second}, Likely},
		{"its lease was released, and none has acquired it", 2 * time.Minute, &Lease{Name: "x", Renewed: changed, Lasts: time.Second}, Certain},
	} {
		now := changed.Add(row.after)
		causes := Causes(obj, Inspect(obj, nil).At(now), Observations{Now: now, Lease: row.lease})
		i := slices.IndexFunc(causes, func(c Cause) bool { return c.Type == GenerationNotSeen })
		if i < 0 {
			t.Errorf("%s: not found in %v", row.reason, causes)
			continue
		}
		if causes[i].Certainty != row.want {
			t.Errorf("%s: %s, want %s", row.reason, causes[i].Certainty, row.want)
		}
		if e := causes[i].Evidence; e[len(e)-1].Name != "kube-controller-manager" {
			t.Errorf("%s: the writer of the status is not among the evidence: %v", row.reason, e)
		}
	}
}

// TestTrials: a write that is refused to its controller in a trial is likely a cause, whatever the object says of itself; that
// writes are accepted shows that the controller has something to do.
func TestTrials(t *testing.T) {
	obj := fromYAML(t, `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, generation: 2, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {replicas: 1}
status: {observedGeneration: 1, replicas: 0}
`)
	refused := Evidence{
		Source: FromController, Name: "statefulset",
		Text: `create pods db-0 is refused: pods "db-0" is forbidden: exceeded quota: few, requested: pods=1`,
	}
	unknown := Evidence{Source: FromController, Name: "statefulset", Text: "it fails: something"}
	accepted := Evidence{Source: FromController, Name: "statefulset", Text: "create pods db-0 is accepted"}
	for _, row := range []struct {
		reason   string
		trial    Trial
		first    CauseType
		inactive Weight // of GenerationNotSeen
	}{
		{"none was made", Trial{}, GenerationNotSeen, Specific},
		{"a known refusal", Trial{Refused: []Evidence{refused}}, QuotaExceeded, Symptom},
		{"an unknown failure", Trial{Refused: []Evidence{unknown}}, WriteRefused, Symptom},
		{"it may write", Trial{Accepted: []Evidence{accepted}}, GenerationNotSeen, Specific},
		{"one write is refused, another is not", Trial{Refused: []Evidence{refused}, Accepted: []Evidence{accepted}}, QuotaExceeded, Symptom},
	} {
		causes := Causes(obj, Inspect(obj, nil), Observations{Trial: row.trial, Now: time.Now()})
		if len(causes) == 0 || causes[0].Type != row.first || causes[0].Certainty != Likely {
			t.Errorf("%s: %+v", row.reason, causes)
			continue
		}
		i := slices.IndexFunc(causes, func(c Cause) bool { return c.Type == GenerationNotSeen })
		if i < 0 || causes[i].Weight != row.inactive {
			t.Errorf("%s: the generation: %+v", row.reason, causes)
		}
		known := slices.ContainsFunc(causes, func(c Cause) bool {
			return slices.ContainsFunc(c.Evidence, func(e Evidence) bool { return e.Source == FromController })
		})
		if known != (len(row.trial.Refused)+len(row.trial.Accepted) > 0) {
			t.Errorf("%s: evidence of a controller: %t", row.reason, known)
		}
	}
}

// TestEventTexts: what all messages share is left out.
func TestEventTexts(t *testing.T) {
	e := Event{Message: `(combined from similar events): Error creating: pods "web-x" is forbidden: exceeded quota: q`}
	if got := e.text(); got != "exceeded quota: q" {
		t.Errorf("%q", got)
	}
	e.Last = metav1.Now()
	if got := e.evidence(); got.Time == nil || strings.Contains(got.Text, "combined") {
		t.Errorf("%+v", got)
	}
}

// TestFieldFightIsOfThoseThatSetFields: who made the object, and had all of its fields taken, takes no part.
func TestFieldFightIsOfThoseThatSetFields(t *testing.T) {
	obj := fromYAML(t, `
apiVersion: example.com/v1
kind: Widget
metadata: {name: shop, generation: 31, creationTimestamp: "2026-01-01T00:00:00Z", managedFields: [
  {manager: alpha, operation: Update, time: "2026-01-01T00:00:00Z", fieldsV1: {"f:spec": {"f:a": {}}}},
  {manager: maker, operation: Update, time: "2026-01-01T00:00:00Z", fieldsV1: {"f:spec": {".": {}}}},
  {manager: beta, operation: Update, time: "2026-01-01T00:00:01Z", fieldsV1: {"f:spec": {"f:b": {}, "f:size": {}}}}]}
spec: {a: "15", b: "15", size: 3}
status: {observedGeneration: 1}
`)
	now := time.Date(2026, 1, 1, 0, 0, 10, 0, time.UTC)
	causes := Causes(obj, Inspect(obj, nil).At(now), Observations{Now: now})
	i := slices.IndexFunc(causes, func(c Cause) bool { return c.Type == FieldFight })
	if i < 0 || causes[i].Detail != "alpha and beta change it in turn" {
		t.Errorf("%+v", causes)
	}
}

// TestWarningsOfThePast: a Warning is named where nothing else tells more, and not what is older than the state, what
// rules know of, or what an autoscaler reported that has its metrics.
func TestWarningsOfThePast(t *testing.T) {
	now := time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC)
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {nodeName: n}, status: {phase: Pending,
		conditions: [{type: PodScheduled, status: "True"}]}}`
	const custom = `{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, spec: {size: 1}}`
	for _, row := range []struct {
		reason, object, warning string
		age                     time.Duration
		want                    bool
	}{
		{"of a custom resource", custom, "Stuck", time.Minute, true},
		{"too old", custom, "Stuck", 2 * time.Hour, false},
		{"before the state", `{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, status: {conditions: [
			{type: Ready, status: Unknown, reason: Waiting, lastTransitionTime: "2026-01-01T02:59:00Z"}]}}`,
			"Stuck", 10 * time.Minute, false},
		{"a hook", pod, "FailedPostStartHook", time.Minute, true},
		{"known of pods", pod, "FailedScheduling", time.Minute, false},
		{"an autoscaler", `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a},
			status: {currentReplicas: 2, desiredReplicas: 4, conditions: [{type: AbleToScale, status: "True"}, {type: ScalingActive, status: "True"}]}}`,
			"FailedComputeMetricsReplicas", time.Minute, false},
	} {
		obj := fromYAML(t, row.object)
		at := metav1.NewTime(now.Add(-row.age))
		events := []Event{{Type: "Warning", Reason: row.warning, Message: "it does not move", Count: 1, First: at, Last: at}}
		causes := Causes(obj, Inspect(obj, nil).At(now), Observations{Events: events, Now: now})
		got := slices.ContainsFunc(causes, func(c Cause) bool { return c.Type == WarningReported })
		if got != row.want {
			t.Errorf("%s: named %t, want %t: %+v", row.reason, got, row.want, causes)
		}
	}
}
