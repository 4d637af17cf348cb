package kubectl

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
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// docs is the folder of the documentation.
const docs = "../../docs"

// shown is a command and what the documentation shows of its output; of a block of shell commands nothing is shown.
type shown struct {
	line    int
	command string
	output  []string
}

// commandsOf returns the commands of a page, in order.
func commandsOf(t *testing.T, page string) []shown {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(docs, page))
	if err != nil {
		t.Fatal(err)
	}
	var out []shown
	block := ""
	for i, line := range strings.Split(string(text), "\n") {
		language, isFence := strings.CutPrefix(line, "```")
		typed, isTyped := strings.CutPrefix(line, "$ ")
		switch {
		case isFence && block == "":
			block = language
			if block == "sh" {
				out = append(out, shown{line: i + 2})
			}
		case isFence:
			block = ""
		case block == "sh":
			out[len(out)-1].command += line + "\n"
		case block == "console" && isTyped:
			out = append(out, shown{line: i + 1, command: typed})
		case block == "console":
			last := &out[len(out)-1]
			last.output = append(last.output, line)
		}
	}
	return out
}

// varying are the parts of an output that differ from run to run, and what stands for them.
var varying = []struct {
	part *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`), "TIME"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d`), "DATE"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d(\.\d+)?`), "TIME"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "ADDRESS"},
	{regexp.MustCompile(`\+?\b(\d+(\.\d+)?(ms|µs|s|m))+(-(\d+(\.\d+)?(ms|µs|s|m))+)?\b`), "DURATION"},
	{regexp.MustCompile(`\bweb-[bcdf-hj-np-tv-z0-9]{7,10}\b`), "web-HASH"},
	{regexp.MustCompile(`(HASH|,) ?-[bcdf-hj-np-tv-z0-9]{5}\b`), "$1-POD"},
	{regexp.MustCompile(`#\d+`), "#N"},
	{regexp.MustCompile(`\bv\d+\b`), "vN"},
	{regexp.MustCompile(`\(\d+ objects\)`), "(N objects)"},
	{regexp.MustCompile(`record \d+ of \d+`), "record N of N"},
	{regexp.MustCompile(`^\d+ +|step \d+`), "STEP "},
	{regexp.MustCompile(`\s+`), " "},
}

// steady returns a line without what differs from run to run.
func steady(line string) string {
	for _, v := range varying {
		line = v.part.ReplaceAllString(line, v.as)
	}
	return strings.TrimSpace(line)
}

func TestSteady(t *testing.T) {
	for _, test := range []struct{ a, b string }{
		{"+0.044s  deployment  default/web  #1", "+1.2s  deployment default/web #17"},
		{"  create   Pod web-689b9bdbdd-ttx79, -zxk9z, -tvlqz    201  21.9ms each", "  create   Pod web-544fbbb6fb-2x7fk, -b5d8z, -sx2p4   201  802µs each"},
		{"pod/web-5879bf675b-rg859  0/1  2s", "pod/web-58c79bf67-4x2b9   0/1   1m2s"},
		{"10     replicaset   - Pod web-689b9bdbdd-zp42g    step 8", "9  replicaset - Pod web-68d9bdbdd-xp42g step 12"},
	} {
		if steady(test.a) != steady(test.b) {
			t.Errorf("%q is %q, and %q is %q", test.a, steady(test.a), test.b, steady(test.b))
		}
	}
	if a, b := "web 2/3", "web 3/3"; steady(a) == steady(b) {
		t.Errorf("%q is taken for %q", a, b)
	}
}

// missing returns the lines that the documentation shows and the output does not have. "…" stands for other lines.
func missing(want []string, output string) []string {
	var got, out []string
	for line := range strings.Lines(output) {
		got = append(got, steady(line))
	}
	for _, line := range want {
		if s := steady(line); s != "" && s != "…" && !slices.Contains(got, s) {
			out = append(out, line)
		}
	}
	return out
}

// reader runs the commands of a page as its reader does.
type reader struct {
	dir string
	env []string
	// replace has what the page says and what it is here: names of folders, and times.
	replace map[string]string
	box     *exec.Cmd
	boxed   *lockedBuffer
}

// lockedBuffer is written by a process while it is read.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (r *reader) here(text string) string {
	for said, here := range r.replace {
		text = strings.ReplaceAll(text, said, here)
	}
	return text
}

func (r *reader) command(ctx context.Context, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-e", "-c", r.here(command))
	cmd.Dir, cmd.Env = r.dir, r.env
	return cmd
}

// pause waits a little, before a condition is looked at again.
func pause() { <-time.After(20 * time.Millisecond) }

// patience is how long a page's command may take until it prints what is shown, on a machine that is busy.
const patience = time.Minute

// try runs a command again until it prints what is shown.
func (r *reader) try(ctx context.Context, s shown, again bool) error {
	for deadline := time.Now().Add(patience); ; {
		out, err := r.command(ctx, s.command).CombinedOutput()
		if code := (*exec.ExitError)(nil); errors.As(err, &code) && code.ExitCode() == 1 && strings.HasPrefix(s.command, "kubectl reconcile diff ") {
			err = nil // there are differences
		}
		lacks := missing(s.output, r.said(string(out)))
		if err == nil && len(lacks) == 0 {
			return nil
		}
		if !again || time.Now().After(deadline) {
			return fmt.Errorf("%v; it does not print\n%s\nbut\n%s", err, strings.Join(lacks, "\n"), out)
		}
		pause()
	}
}

// said returns an output with the names of folders that the page has.
func (r *reader) said(output string) string { return strings.ReplaceAll(output, r.dir, "/tmp/first") }

// serve starts the sandbox, and waits until it has printed what is shown.
func (r *reader) serve(ctx context.Context, s shown) error {
	r.boxed = &lockedBuffer{}
	r.box = r.command(context.WithoutCancel(ctx), "exec "+s.command) // interrupt ends it
	r.box.Stdout, r.box.Stderr = r.boxed, r.boxed
	endWithTest(r.box)
	if err := r.box.Start(); err != nil {
		return err
	}
	for deadline := time.Now().Add(patience); len(missing(s.output, r.said(r.boxed.String()))) > 0; pause() {
		if time.Now().After(deadline) {
			return fmt.Errorf("it does not print\n%s\nbut\n%s", strings.Join(s.output, "\n"), r.boxed)
		}
	}
	return nil
}

// interrupt ends the sandbox.
func (r *reader) interrupt() error {
	if r.box == nil {
		return nil
	}
	box := r.box
	r.box = nil
	if err := box.Process.Signal(syscall.SIGINT); err != nil {
		return err
	}
	if err := box.Wait(); err != nil {
		return fmt.Errorf("the sandbox: %w\n%s", err, r.boxed)
	}
	return nil
}

// newReader returns a reader in an empty folder, which the pages call /tmp/first, with no cluster.
func newReader(t *testing.T) *reader {
	t.Helper()
	kubectl, plugin := buildPrograms(t)
	dir := t.TempDir()
	path := strings.Join([]string{filepath.Dir(plugin), filepath.Dir(kubectl), os.Getenv("PATH")}, string(os.PathListSeparator))
	return &reader{
		dir: dir, replace: map[string]string{"/tmp/first": dir},
		env: append(os.Environ(), "HOME="+dir, "PATH="+path, "TZ=UTC", "KUBECONFIG="+filepath.Join(dir, "none")),
	}
}

// TestQuickstart does what docs/quickstart.md says, and compares what is printed with what it shows. TestDocs of
// cmd/kubectl-reconcile does so for all other pages, whose blocks it runs one by one until they print what is shown.
// Those of this page share a sandbox that goes on running, and the real kubectl, which only this module can build; and
// it imports no package of the project, so that it need not have all modules that the project requires.
func TestQuickstart(t *testing.T) {
	ctx, r := beforeDeadline(t), newReader(t)
	t.Cleanup(func() {
		if err := r.interrupt(); err != nil {
			t.Error(err)
		}
	})
	const clock = "15:04:05.000"
	for _, s := range commandsOf(t, "quickstart.md") {
		var err error
		switch name, value, isExport := strings.Cut(strings.TrimPrefix(s.command, "export "), "="); {
		case isExport && strings.HasPrefix(s.command, "export "):
			r.env = append(r.env, name+"="+r.here(value))
		case strings.HasPrefix(s.command, "kubectl reconcile sandbox "):
			err = r.serve(ctx, s)
		case strings.HasPrefix(s.command, "kubectl patch "):
			r.replace["16:48:54.3"] = time.Now().UTC().Format(clock)
			err = r.try(ctx, s, false)
		case strings.HasPrefix(s.command, "kubectl reconcile replay "):
			if err = r.try(ctx, shown{command: "kubectl delete deploy web"}, false); err == nil {
				err = r.interrupt()
			}
			if err == nil {
				err = r.try(ctx, s, false)
			}
		case strings.HasPrefix(s.command, "kubectl reconcile why ") && r.replace["16:48:55"] == "":
			err = r.try(ctx, s, true)
			r.replace["16:48:55"] = time.Now().UTC().Format(clock)
		default:
			err = r.try(ctx, s, strings.HasPrefix(s.command, "kubectl reconcile ") || strings.HasPrefix(s.command, "kubectl get "))
		}
		if err != nil {
			t.Fatalf("docs/quickstart.md:%d: %s: %v", s.line, strings.TrimSpace(s.command), err)
		}
	}
}
