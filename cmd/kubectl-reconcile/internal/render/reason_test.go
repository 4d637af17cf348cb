package render

import "testing"

func TestReason(t *testing.T) {
	for _, test := range []struct{ reason, text, want string }{
		{"an object", `pods "web-785f6b64f-x7k2p" is forbidden: exceeded quota: q, requested: pods=1`, "exceeded quota: q, requested: pods=1"},
		{"a resource of a group", `deployments.apps "web" is forbidden: no`, "no"},
		{"a resource without an object", `pods is forbidden: User "u" cannot create resource "pods" in API group ""`, `User "u" cannot create resource "pods" in API group ""`},
		{"in the middle", `sync "default/web" failed with pods "web-" is forbidden: no`, `sync "default/web" failed with no`},
		{"twice", `a "b" is forbidden: c; d "e" is forbidden: f`, "c; f"},
		{"a conflict", `Operation cannot be fulfilled on deployments.apps "web": the object has been modified; please apply your changes to the latest version and try again`, `conflict on deployments.apps "web"`},
		{"another conflict", `Operation cannot be fulfilled on deployments.apps "web": it is being deleted`, `Operation cannot be fulfilled on deployments.apps "web": it is being deleted`},
		{"nothing to leave out", `pods "web" not found`, `pods "web" not found`},
		{"no more than that", `pods "web" is forbidden: `, ""},
		{"none", "", ""},
	} {
		if got := Reason(test.text); got != test.want {
			t.Errorf("%s: %q, want %q", test.reason, got, test.want)
		}
	}
}
