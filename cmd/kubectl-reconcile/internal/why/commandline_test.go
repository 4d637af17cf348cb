package why

import (
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// TestConnectionOfCommands: commands reach the cluster that was asked about, as the same user, whatever flag selected it.
func TestConnectionOfCommands(t *testing.T) {
	for _, row := range []struct {
		reason  string
		args    []string
		kubectl string
		own     string
	}{
		{"none", nil, "kubectl -n shop get pods", "kubectl reconcile why pod/x -n shop"},
		{"another context", []string{"--context", "two words"},
			"kubectl --context 'two words' -n shop get pods", "kubectl reconcile why pod/x -n shop --context 'two words'"},
		{"flags that are no part of the connection", []string{"-n", "shop", "-w", "--request-timeout", "1m", "--qps", "3"},
			"kubectl -n shop get pods", "kubectl reconcile why pod/x -n shop"},
		{"another file and user", []string{"--user", "jane", "--kubeconfig", "a.yaml"},
			"kubectl --kubeconfig a.yaml --user jane -n shop get pods",
			"kubectl reconcile why pod/x -n shop --kubeconfig a.yaml --user jane"},
		{"groups", []string{"--as", "jane", "--as-group", "a", "--as-group", "b"},
			"kubectl --as jane --as-group a --as-group b -n shop get pods",
			"kubectl reconcile why pod/x -n shop --as jane --as-group a --as-group b"},
		{"a flag without a value", []string{"-s", "localhost", "--insecure-skip-tls-verify"},
			"kubectl --server localhost --insecure-skip-tls-verify=true -n shop get pods",
			"kubectl reconcile why pod/x -n shop --server localhost --insecure-skip-tls-verify=true"},
		{"a token is a secret", []string{"--token", "abc"},
			"kubectl --token TOKEN -n shop get pods", "kubectl reconcile why pod/x -n shop --token TOKEN"},
	} {
		cmd := NewCommand(genericiooptions.NewTestIOStreamsDiscard())
		if err := cmd.ParseFlags(row.args); err != nil {
			t.Fatal(err)
		}
		m := commandMaker{connection: connectionArgs(cmd.Flags()), program: "kubectl reconcile"}
		if got := m.kubectl("shop", "get pods"); got != row.kubectl {
			t.Errorf("%s: %s, want %s", row.reason, got, row.kubectl)
		}
		if got := m.own("shop", "why pod/x"); got != row.own {
			t.Errorf("%s: %s, want %s", row.reason, got, row.own)
		}
	}
}
