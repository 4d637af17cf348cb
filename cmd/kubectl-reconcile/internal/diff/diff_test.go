package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestParseAllowlist(t *testing.T) {
	for _, row := range []struct {
		reason string
		values []string
		want   []schema.GroupVersionKind
		err    string
	}{
		{"nil is kubectl's own list", nil, nil, ""},
		{"the order is kept: it is that of the deletions", []string{"apps/v1/Deployment", "core/v1/ConfigMap"},
			[]schema.GroupVersionKind{{Group: "apps", Version: "v1", Kind: "Deployment"}, {Version: "v1", Kind: "ConfigMap"}}, ""},
		{"the group without a name may be left out", []string{"/v1/ConfigMap"},
			[]schema.GroupVersionKind{{Version: "v1", Kind: "ConfigMap"}}, ""},
		{"no group", []string{"v1/ConfigMap"}, nil, `--prune-allowlist "v1/ConfigMap" is not GROUP/VERSION/KIND`},
		{"a subresource", []string{"apps/v1/Deployment/status"}, nil,
			`--prune-allowlist "apps/v1/Deployment/status" is not GROUP/VERSION/KIND`},
		{"one of several", []string{"core/v1/ConfigMap", ""}, nil, `--prune-allowlist "" is not GROUP/VERSION/KIND`},
	} {
		got, err := parseAllowlist(row.values)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if diff := cmp.Diff(row.want, got); diff != "" || text != row.err {
			t.Errorf("%s: error %q, want %q (-want +got):\n%s", row.reason, text, row.err, diff)
		}
	}
}
