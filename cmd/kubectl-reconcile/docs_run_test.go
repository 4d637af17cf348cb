//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/tools/txtar"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestDocs runs the blocks of the documentation, each in its state: see CONTRIBUTING.md.
func TestDocs(t *testing.T) {
	if os.Getenv("DOCS") == "" {
		t.Skip("`make test-docs` runs it")
	}
	params := scriptParams(t)
	params.Dir = states
	params.Setup = setUpDocs
	params.Cmds["shown"] = shown
	params.Cmds["borrow"] = borrow
	params.Cmds["patch"] = func(ts *testscript.TestScript, neg bool, args []string) { patch(t.Context(), ts, neg, args) }
	params.Cmds["turns"] = func(ts *testscript.TestScript, neg bool, args []string) { turns(t.Context(), ts, neg, args) }
	testscript.Run(t, params)
}

// setUpDocs adds to what scripts have a copy of examples/, a recording of examples/web.yaml being applied, scaled to 5,
// set to the image nginx:2 and deleted, and a kubectl that runs the plugin and, for what else it is
// asked, a real kubectl if there is one.
func setUpDocs(env *testscript.Env) error {
	if err := setUp(env); err != nil {
		return err
	}
	cache, err := os.UserCacheDir() // go test would build its library again in an empty home
	if err != nil {
		return err
	}
	env.Setenv("GOCACHE", filepath.Join(cache, "go-build"))
	if err := os.CopyFS(filepath.Join(env.WorkDir, "examples"), os.DirFS(filepath.Join(module, "examples"))); err != nil {
		return err
	}
	incident, err := os.ReadFile(filepath.Join(states, "incident.rec"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(env.WorkDir, "incident.rec"), incident, 0o600); err != nil {
		return err
	}
	bin := filepath.Join(env.WorkDir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return err
	}
	text := fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = reconcile ]; then shift; exec kubectl-reconcile \"$@\"; fi\nexec '%s' \"$@\"\n", realKubectl())
	if err := os.WriteFile(filepath.Join(bin, "kubectl"), []byte(text), 0o700); err != nil {
		return err
	}
	env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
	env.Setenv("KUBECONFIG", filepath.Join(env.WorkDir, "none"))
	env.Setenv("LC_ALL", "C.UTF-8")
	env.Setenv("TZ", "UTC")
	return nil
}

// realKubectl is that which test/kubectl has built, or any other; or "".
func realKubectl() string {
	if built, err := filepath.Abs(filepath.Join(module, "bin/test/kubectl")); err == nil {
		if _, err := os.Stat(built); err == nil {
			return built
		}
	}
	path, _ := exec.LookPath("kubectl") // "" if there is none
	return path
}

// borrow is `borrow SCRIPT FILE...`: it writes files that another script, such as script/status, has.
func borrow(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: borrow SCRIPT FILE...")
	}
	archive, err := txtar.ParseFile(filepath.Join("testdata", args[0]+".txtar"))
	ts.Check(err)
	for _, name := range args[1:] {
		found := false
		for _, file := range archive.Files {
			if file.Name == name {
				found = true
				ts.Check(os.WriteFile(ts.MkAbs(name), file.Data, 0o600))
			}
		}
		if !found {
			ts.Fatalf("%s has no %s", args[0], name)
		}
	}
}

// patch is `patch KUBECONFIG MANAGER FILE [SUBRESOURCE]`: it merges what the objects of the file have into those that are
// there, as that manager.
func patch(ctx context.Context, ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || len(args) > 4 {
		ts.Fatalf("usage: patch KUBECONFIG MANAGER FILE [SUBRESOURCE]")
	}
	w := writerOf(ts, args[0])
	for _, obj := range documents(ts, args[2]) {
		resource, err := w.resource(ctx, obj)
		ts.Check(err)
		kind := obj.GroupVersionKind()
		if len(args) == 4 && args[3] == "scale" {
			obj.SetGroupVersionKind(autoscalingv1.SchemeGroupVersion.WithKind("Scale"))
		}
		text, err := obj.MarshalJSON()
		ts.Check(err)
		options := metav1.PatchOptions{FieldManager: args[1]}
		if _, err := resource.Patch(ctx, obj.GetName(), types.MergePatchType, text, options, args[3:]...); err != nil {
			ts.Fatalf("%s %s: %v", kind.Kind, obj.GetName(), err)
		}
	}
}

// turns is `turns COUNT KUBECONFIG MANAGER FILE MANAGER FILE`: the managers patch in turn, COUNT times each.
func turns(ctx context.Context, ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 6 {
		ts.Fatalf("usage: turns COUNT KUBECONFIG MANAGER FILE MANAGER FILE")
	}
	count, err := strconv.Atoi(args[0])
	ts.Check(err)
	for range count {
		patch(ctx, ts, false, []string{args[1], args[2], args[3]})
		patch(ctx, ts, false, []string{args[1], args[4], args[5]})
	}
}

// shown is `shown [OLD=NEW...]`: it runs the blocks of the documentation whose state is the script, in order, with OLD
// replaced in their commands, such as a moment of a recording that the script has just made.
func shown(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: shown [OLD=NEW...]")
	}
	var replace []string
	for _, arg := range args {
		said, here, ok := strings.Cut(arg, "=")
		if !ok {
			ts.Fatalf("usage: shown [OLD=NEW...]")
		}
		replace = append(replace, said, here)
	}
	blocks, err := docBlocks()
	ts.Check(err)
	r := &blockRunner{ts: ts, replace: strings.NewReplacer(replace...)}
	var failed []string
	for _, b := range blocks {
		if state, err := b.state(); err != nil || state != ts.Name() { // TestDocBlocks reports errors
			continue
		}
		if tool := missingTool(b); tool != "" {
			ts.Logf("%s is not run: there is no %s", b, tool)
			continue
		}
		if err := r.run(b); err != nil {
			failed = append(failed, err.Error())
		}
	}
	if len(failed) > 0 {
		ts.Fatalf("%s", strings.Join(failed, "\n\n"))
	}
}

// tools are programs that blocks may use where they are installed, by how they are called.
var tools = map[string]*regexp.Regexp{
	"jq":      regexp.MustCompile(`(^|\|) *jq `),
	"dot":     regexp.MustCompile(`(^|\|) *dot `),
	"timeout": regexp.MustCompile(`(^|[|$(] *)timeout `),
	"kubectl": regexp.MustCompile(`(^|[|$(] *|timeout \S+ )kubectl [^r]`),
}

// missingTool returns the name of a program that the block calls and that is not installed, or "".
func missingTool(b *docBlock) string {
	for name, called := range tools {
		path, _ := exec.LookPath(name) // "" if there is none
		if name == "kubectl" {
			path = realKubectl()
		}
		if path == "" && slices.ContainsFunc(b.lines, called.MatchString) {
			return name
		}
	}
	return ""
}

// blockRunner runs blocks in the state of a script.
type blockRunner struct {
	ts      *testscript.TestScript
	replace *strings.Replacer
}

func (r *blockRunner) run(b *docBlock) error {
	if b.language == "sh" {
		return r.runScript(b)
	}
	for _, c := range typedIn(b) {
		if err := r.show(c); err != nil {
			return fmt.Errorf("%s:%d: %w", b.page, c.line, err)
		}
	}
	return nil
}

// runScript runs a block of shell commands, which must succeed.
func (r *blockRunner) runScript(b *docBlock) error {
	p, err := r.begin(strings.Join(b.lines, "\n"))
	if err != nil {
		return err
	}
	if err := p.await(); err != nil {
		return fmt.Errorf("%s: %w\n%s", b, err, p.said())
	}
	return nil
}

// typed is a command that a console block shows.
type typed struct {
	line    int
	command string
	output  []string
}

// typedIn returns the commands of a console block. A line that ends with a backslash goes on in the next.
func typedIn(b *docBlock) []typed {
	var out []typed
	continued := false
	for i, line := range b.lines {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case isCommand:
			out = append(out, typed{line: b.line + 1 + i, command: command})
		case continued:
			out[len(out)-1].command += "\n" + line
		default:
			out[len(out)-1].output = append(out[len(out)-1].output, line)
		}
		continued = (isCommand || continued) && strings.HasSuffix(line, `\`)
	}
	return out
}

// awhile is how long it may take until a command prints what is shown. It is run again until then, since what it shows
// may have to happen first.
const awhile = 30 * time.Second

// show runs a command until its output is what is shown. One that does not end by itself is interrupted then, or when
// a third of the time has passed.
func (r *blockRunner) show(c typed) error {
	for deadline := time.Now().Add(awhile); ; <-time.After(100 * time.Millisecond) {
		p, err := r.begin(c.command)
		if err != nil {
			return err
		}
		err = p.compare(c.output, time.Now().Add(awhile/3))
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// shell is a running command.
type shell struct {
	command string
	cmd     *exec.Cmd
	dir     string
	ended   chan error // has how it ended

	mu  sync.Mutex
	out bytes.Buffer
}

// Write implements io.Writer: both outputs go to one place, as on a terminal.
func (s *shell) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}

func (s *shell) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

// begin starts a command in the folder of the script, in a group of processes so that all of it can be interrupted.
func (r *blockRunner) begin(command string) (*shell, error) {
	s := &shell{command: r.replace.Replace(command), dir: r.ts.MkAbs("."), ended: make(chan error, 1)}
	s.cmd = exec.Command("bash", "-e", "-o", "pipefail", "-c", s.command)
	s.cmd.Dir = s.dir
	s.cmd.Env = os.Environ()
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "KUBECONFIG", "LC_ALL", "TZ", "GOCACHE", "XDG_CACHE_HOME"} {
		s.cmd.Env = append(s.cmd.Env, name+"="+r.ts.Getenv(name))
	}
	s.cmd.Stdout, s.cmd.Stderr = s, s
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { s.ended <- s.cmd.Wait() }()
	return s, nil
}

// signal sends a signal to all processes of the command.
func (s *shell) signal(sig syscall.Signal) { _ = syscall.Kill(-s.cmd.Process.Pid, sig) } // they may have ended

// await waits for the end of the command.
func (s *shell) await() error {
	select {
	case err := <-s.ended:
		return err
	case <-time.After(patience):
		s.signal(syscall.SIGKILL)
		<-s.ended //nolint:errcheck // it was made to end
		return fmt.Errorf("it does not end")
	}
}

// compare waits until the command has printed what is shown, and ends it if it does not end then.
func (s *shell) compare(want []string, deadline time.Time) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case err := <-s.ended:
			return s.judge(want, err)
		case <-ticker.C:
		}
		if differs(append(slices.Clip(want), "…"), s.lines()) == "" && len(want) > 0 && !endsWithMore(want) {
			break
		}
		if time.Now().After(deadline) {
			s.signal(syscall.SIGKILL)
			<-s.ended //nolint:errcheck // it was made to end
			return fmt.Errorf("it does not end, and %s", describe(want, s.lines()))
		}
	}
	select { // most commands end by themselves
	case err := <-s.ended:
		return s.judge(want, err)
	case <-time.After(time.Second):
	}
	s.signal(syscall.SIGINT)
	err := s.await()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) && s.calls("kubectl") {
		return nil // the real kubectl ends with an error when it is interrupted
	}
	return err
}

// calls reports whether the command calls one of tools.
func (s *shell) calls(tool string) bool { return tools[tool].MatchString(s.command) }

// endsWithMore reports whether what is shown of an output ends before its end.
func endsWithMore(want []string) bool { return want[len(want)-1] == "…" }

// judge compares the whole output.
func (s *shell) judge(want []string, ended error) error {
	got := s.lines()
	if d := describe(want, got); d != "" {
		return fmt.Errorf("%s", d)
	}
	// 1 is an answer: there are differences, or what was asked for did not come; 124 is that of timeout(1).
	if code := s.cmd.ProcessState.ExitCode(); code != 0 && code != 1 && (code != 124 || !s.calls("timeout")) {
		return fmt.Errorf("%w\n%s", ended, strings.Join(got, "\n"))
	}
	return nil
}

// lines returns what was printed, with /tmp/work in the place of the folder of the script.
func (s *shell) lines() []string {
	text := strings.TrimRight(strings.ReplaceAll(s.said(), s.dir+"/", "/tmp/work/"), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
