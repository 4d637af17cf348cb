package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// problems is `problems N`: stderr holds exactly N lines "error: …", and beside them nothing but "hint: …".
func problems(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: problems N")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	ts.Check(onlyProblems(ts.ReadFile("stderr"), want))
}

// onlyProblems says what is wrong with a text that ought to be so many errors and their hints.
func onlyProblems(text string, want int) error {
	got := 0
	for line := range strings.Lines(text) {
		switch line = strings.TrimSuffix(line, "\n"); {
		case strings.HasPrefix(line, "error: error"):
			return errors.New("says error twice: " + line)
		case strings.HasPrefix(line, "error: "):
			got++
		case !strings.HasPrefix(line, "hint: "):
			return errors.New("neither error nor hint: " + line)
		case got == 0:
			return errors.New("a hint before any error: " + line)
		}
		if strings.HasSuffix(line, ".") && !strings.HasSuffix(line, "..") {
			return errors.New("ends with a full stop: " + line)
		}
	}
	if got != want {
		return errors.New(strconv.Itoa(got) + " errors, not " + strconv.Itoa(want) + ":\n" + text)
	}
	return nil
}

// serves is `serves KUBECONFIG`: a client of that kubeconfig can write to the API and read what it wrote.
func serves(ctx context.Context, ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serves KUBECONFIG")
	}
	maps := clientOf(ts, args[0]).CoreV1().ConfigMaps("default")
	_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "written"}, Data: map[string]string{"a": "b"}}, metav1.CreateOptions{})
	ts.Check(err)
	got, err := maps.Get(ctx, "written", metav1.GetOptions{})
	ts.Check(err)
	if got.Data["a"] != "b" || got.UID == "" {
		ts.Fatalf("wrote a=b, read %v (uid %q)", got.Data, got.UID)
	}
}

// occupy is `occupy VARIABLE`: it listens on a free port of the loopback address until the script ends, and puts the
// address into the variable.
func occupy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: occupy VARIABLE")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = listener.Close() })
	ts.Setenv(args[0], listener.Addr().String())
}

// exported is `exported FILE VARIABLE`: the file holds an export line and nothing else, whose value goes into the
// variable.
func exported(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: exported FILE VARIABLE")
	}
	text := ts.ReadFile(args[0])
	path, found := strings.CutPrefix(text, "export KUBECONFIG=")
	if !found || strings.Count(path, "\n") != 1 || !strings.HasSuffix(path, "\n") {
		ts.Fatalf("not an export line alone: %q", text)
	}
	ts.Setenv(args[1], strings.TrimSuffix(path, "\n"))
}

// binary is `binary FILE`: it writes bytes of all values, which are no text in any encoding.
func binary(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: binary FILE")
	}
	bytes := make([]byte, 4096)
	for i := range bytes {
		bytes[i] = byte(255 - i*7)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), bytes, 0o600))
}

// deploy is `deploy FILE DEPLOYMENTS REPLICAS`: it writes a manifest of so many Deployments with so many replicas each.
func deploy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: deploy FILE DEPLOYMENTS REPLICAS")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: many-%[1]d
spec:
  replicas: %[2]s
  selector:
    matchLabels:
      app: many-%[1]d
  template:
    metadata:
      labels:
        app: many-%[1]d
    spec:
      containers:
        - name: main
          image: nginx
`, i, args[2])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text.String()), 0o600))
}

// deployed is `deployed KUBECONFIG FILE`: it creates the Deployment of the file with a client of that kubeconfig.
func deployed(ctx context.Context, ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: deployed KUBECONFIG FILE")
	}
	var deployment appsv1.Deployment
	ts.Check(yaml.UnmarshalStrict([]byte(ts.ReadFile(args[1])), &deployment))
	_, err := clientOf(ts, args[0]).AppsV1().Deployments("default").Create(ctx, &deployment, metav1.CreateOptions{})
	ts.Check(err)
}

func clientOf(ts *testscript.TestScript, kubeconfig string) kubernetes.Interface {
	config, err := clientcmd.BuildConfigFromFlags("", ts.MkAbs(kubeconfig))
	ts.Check(err)
	client, err := kubernetes.NewForConfig(config)
	ts.Check(err)
	return client
}

// Empty is `empty DIRECTORY`: there is nothing in it.
func empty(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: empty DIRECTORY")
	}
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	for _, e := range entries {
		ts.Fatalf("%s holds %s", args[0], e.Name())
	}
}

// code is `code N PROGRAM ARGUMENT...`: the program ends with the exit code N; its output is that of exec.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N PROGRAM [ARGUMENT...]")
	}
	got := 0
	err := ts.Exec(args[1], args[2:]...)
	if exited := (*exec.ExitError)(nil); errors.As(err, &exited) {
		got = exited.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("the exit code is %d, not %s", got, args[0])
	}
}
