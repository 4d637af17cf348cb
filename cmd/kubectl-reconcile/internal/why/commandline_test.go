package why

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
		cmd, flags := newCommand(genericiooptions.NewTestIOStreamsDiscard())
		if err := cmd.ParseFlags(row.args); err != nil {
			t.Fatal(err)
		}
		m := commandMaker{connection: flags.cluster.Args(), program: "kubectl reconcile"}
		if got := m.kubectl("shop", "get pods"); got != row.kubectl {
			t.Errorf("%s: %s, want %s", row.reason, got, row.kubectl)
		}
		if got := m.own("shop", "why pod/x"); got != row.own {
			t.Errorf("%s: %s, want %s", row.reason, got, row.own)
		}
	}
}

// TestCommandsOfRecordings: at a moment of a recording only this program can show more, and nothing can be changed.
func TestCommandsOfRecordings(t *testing.T) {
	for _, row := range []struct {
		reason string
		add    func(*commandList)
		want   []string
	}{
		{"an object", func(l *commandList) { l.look("shop", "describe pod %s", "web-1") },
			[]string{"kubectl reconcile get pod web-1 -o yaml -n shop --from a.rec --at -2m"}},
		{"all of a kind", func(l *commandList) { l.look("", "describe nodes") },
			[]string{"kubectl reconcile get nodes --from a.rec --at -2m"}},
		{"a field, of which all is shown", func(l *commandList) { l.look("shop", "get pod/x -o jsonpath=%s", "{.a}") },
			[]string{"kubectl reconcile get pod/x -o yaml -n shop --from a.rec --at -2m"}},
		{"logs are not in recordings", func(l *commandList) { l.look("shop", "logs %s", "web-1") }, nil},
		{"nothing can be changed", func(l *commandList) { l.change("", "shop", "delete pod %s", "web-1") }, nil},
		{"of this program", func(l *commandList) { l.own("shop", "tree %s", "deployment/web") },
			[]string{"kubectl reconcile tree deployment/web -n shop --from a.rec --at -2m"}},
	} {
		l := &commandList{maker: commandMaker{
			connection: " --from a.rec --at -2m", program: "kubectl reconcile", recorded: true,
		}}
		row.add(l)
		var got []string
		for _, c := range l.all {
			got = append(got, c.Command)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", row.reason, diff)
		}
	}
}
