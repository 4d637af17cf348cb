package runlocal

import (
	"strings"
	"testing"
)

// TestPoliciesAreInForce: what is applied with policies is judged by them, wherever in the files they are, and so is
// what controllers make.
func TestPoliciesAreInForce(t *testing.T) {
	s := start(t, Options{})
	for _, tt := range []struct{ reason, refused string }{
		{"a new policy", "one"},
		{"one that is changed", "another"},
	} {
		applied, err := s.ApplyWith(within(t), "default", manifests(t,
			"{apiVersion: v1, kind: ServiceAccount, metadata: {name: some}}",
			"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: "+tt.refused+"}, spec: {podSelector: {}}}",
			"{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: rule}, "+
				"spec: {policyName: rule, validationActions: [Deny]}}",
			"{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: rule}, spec: {"+
				"matchConstraints: {resourceRules: [{apiGroups: [networking.k8s.io], apiVersions: [v1], operations: [CREATE], resources: [networkpolicies]}]}, "+
				"validations: [{expression: \"object.metadata.name != '"+tt.refused+"'\", message: refused by the rule}]}}",
		), KubectlApply{}.Write)
		if err == nil || !strings.Contains(err.Error(), "refused by the rule") || len(applied) != 3 {
			t.Errorf("%s: applied %v: %v", tt.reason, applied, err)
		}
	}
}
