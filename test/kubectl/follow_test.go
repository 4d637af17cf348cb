package kubectl

import (
	"bufio"
	"context"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// awaitTimeout bounds the wait for one line of a followed command, or of one that is run until it says it.
const awaitTimeout = 2 * time.Minute

// followers are the commands that one script follows, by the names that it gave them. Only the script's goroutine uses
// them.
type followers struct {
	start   func(args ...string) (*exec.Cmd, context.CancelFunc) // a kubectl that is not started yet
	running map[string]*follower
}

// followersKey is what a script's followers are stored under in testscript.Env.
type followersKey struct{}

// follower is a kubectl that runs beside a script, which reads what it prints line by line.
type follower struct {
	kill   context.CancelFunc
	stdout *bufio.Scanner
	seen   []string // the lines that were read
}

// newFollowers returns what follows kubectl commands in dir, with the environment vars, until ctx is done at the
// latest.
func newFollowers(ctx context.Context, kubectl, dir string, vars []string) *followers {
	return &followers{running: map[string]*follower{}, start: func(args ...string) (*exec.Cmd, context.CancelFunc) {
		ctx, kill := context.WithCancel(ctx)
		cmd := exec.CommandContext(ctx, kubectl, args...)
		cmd.Dir, cmd.Env = dir, vars
		endWithTest(cmd)
		return cmd, kill
	}}
}

// follow is the script command `follow NAME ARG…`: it runs `kubectl ARG…` beside the script, until the script ends.
// `awaits NAME` reads what it prints.
func follow(ts *testscript.TestScript, neg bool, args []string) {
	all, ok := ts.Value(followersKey{}).(*followers)
	if neg || len(args) < 2 || !ok {
		ts.Fatalf("usage: follow NAME ARG...")
	}
	cmd, kill := all.start(args[1:]...)
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		kill()
		ts.Fatalf("following %s: %v", args[0], err)
	}
	ts.Defer(func() {
		kill()
		ts.Logf("[%s ended: %v]", args[0], cmd.Wait())
	})
	all.running[args[0]] = &follower{kill: kill, stdout: bufio.NewScanner(stdout)}
}

// awaits is the script command `awaits NAME REGEXP`: the followed command NAME prints a line that matches REGEXP. Lines
// before it are passed over, and lines that an earlier awaits read do not count.
func awaits(ts *testscript.TestScript, neg bool, args []string) {
	all, ok := ts.Value(followersKey{}).(*followers)
	if neg || len(args) != 2 || !ok {
		ts.Fatalf("usage: awaits NAME REGEXP")
	}
	f, ok := all.running[args[0]]
	if !ok {
		ts.Fatalf("nothing named %s is followed", args[0])
	}
	want, err := regexp.Compile(args[1])
	ts.Check(err)
	late := time.AfterFunc(awaitTimeout, f.kill)
	defer late.Stop()
	for f.stdout.Scan() {
		f.seen = append(f.seen, f.stdout.Text())
		if want.MatchString(f.stdout.Text()) {
			return
		}
	}
	ts.Fatalf("%s ended without a line that matches %s; it printed:\n%s", args[0], args[1], strings.Join(f.seen, "\n"))
}
