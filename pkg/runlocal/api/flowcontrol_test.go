package api

import (
	"context"
	"io"
	"net/http"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

func clientOf(t *testing.T, config *rest.Config) *http.Client {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// answered is the answer to a GET of path by config; its body is closed.
func answered(t *testing.T, config *rest.Config, path string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := clientOf(t, config).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
	return response
}

// impersonating is a configuration by which the administrator impersonates another user.
func (f *fixture) impersonating(user string) *rest.Config {
	config := f.Config()
	config.Impersonate.UserName = user
	return config
}

// TestAnswersNameTheFlowSchema: the headers tell by which flow schema and at which level a request was served.
func TestAnswersNameTheFlowSchema(t *testing.T) {
	f := plain.fixture(t)
	f.WaitReady(t.Context())
	flows := f.FlowcontrolV1()
	for _, tt := range []struct {
		config        *rest.Config
		path          string
		schema, level string
		reason        string
	}{
		{f.Config(), "/api/v1/pods", "exempt", "exempt", "the administrator is a member of system:masters"},
		{f.impersonating("joe"), "/version", "global-default", "global-default", "an authenticated user like any other"},
		{f.impersonating("system:serviceaccount:default:default"), "/version", "service-accounts", "workload-low", "a service account"},
	} {
		schema, err := flows.FlowSchemas().Get(t.Context(), tt.schema, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		level, err := flows.PriorityLevelConfigurations().Get(t.Context(), tt.level, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, tt.reason+": is served by "+tt.schema, func(context.Context) (bool, error) {
			header := answered(t, tt.config, tt.path).Header
			return header.Get(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID) == string(schema.UID) &&
				header.Get(flowcontrolv1.ResponseHeaderMatchedPriorityLevelConfigurationUID) == string(level.UID), nil
		})
	}
}

// TestRequestsOverTheLimitAreRefused gives a user a level that serves one request at a time. The others are served as
// before.
func TestRequestsOverTheLimitAreRefused(t *testing.T) {
	f := plain.fixture(t)
	f.WaitReady(t.Context())
	schema := f.limit(t, f.namespace)
	joe := f.impersonating(f.namespace)
	eventually(t, "the user's requests are limited", func(context.Context) (bool, error) {
		answer := answered(t, joe, "/version")
		return answer.Header.Get(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID) == string(schema.UID), nil
	})
	body, more := io.Pipe()
	served := make(chan int, 1)
	go func() {
		defer close(served)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			joe.Host+"/apis/authentication.k8s.io/v1/selfsubjectreviews", body)
		if err != nil {
			t.Error(err)
			return
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := clientOf(t, joe).Do(request)
		if err != nil {
			t.Error(err)
			return
		}
		served <- response.StatusCode
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := io.WriteString(more, "{"); err != nil { // returns when the request is being served
		t.Fatal(err)
	}
	if refused := answered(t, joe, "/version"); refused.StatusCode != http.StatusTooManyRequests ||
		refused.Header.Get("Retry-After") == "" {
		t.Errorf("a second request is answered %s, to come again after %q s", refused.Status,
			refused.Header.Get("Retry-After"))
	}
	for _, config := range []*rest.Config{f.Config(), f.impersonating("jane")} {
		if response := answered(t, config, "/version"); response.StatusCode != http.StatusOK {
			t.Errorf("%q is answered %s", config.Impersonate.UserName, response.Status)
		}
	}
	if _, err := io.WriteString(more,
		`"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}`); err != nil {
		t.Error(err)
	}
	if err := more.Close(); err != nil {
		t.Error(err)
	}
	if code := <-served; code != http.StatusCreated {
		t.Errorf("the first request is answered %d", code)
	}
	if again := answered(t, joe, "/version"); again.StatusCode != http.StatusOK {
		t.Errorf("when it is over, a request is answered %s", again.Status)
	}
}

// limit makes a flow schema for all requests of a user, and a level that serves one of them at a time and refuses
// others.
func (f *fixture) limit(t *testing.T, user string) *flowcontrolv1.FlowSchema {
	t.Helper()
	none, all := int32(0), []string{"*"}
	level := &flowcontrolv1.PriorityLevelConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
			Type: flowcontrolv1.PriorityLevelEnablementLimited,
			Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
				NominalConcurrencyShares: &none, BorrowingLimitPercent: &none,
				LimitResponse: flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject},
			},
		},
	}
	if _, err := f.FlowcontrolV1().PriorityLevelConfigurations().Create(t.Context(), level,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	schema := &flowcontrolv1.FlowSchema{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Spec: flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: level.Name}, MatchingPrecedence: 2,
			Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
				Subjects:         []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: user}}},
				ResourceRules:    []flowcontrolv1.ResourcePolicyRule{{Verbs: all, APIGroups: all, Resources: all, ClusterScope: true}},
				NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: all, NonResourceURLs: all}},
			}},
		},
	}
	schema, err := f.FlowcontrolV1().FlowSchemas().Create(t.Context(), schema, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
