// Package moment opens recordings at a moment in the place of a cluster, for the commands that take --from and --at.
//
// moment.go opens them and says which moment it is (input.go), notes.go what they do not have. What is read of
// them is served by pkg/runlocal/playback (server.go); guard.go answers the requests for what was not recorded, which
// may be of the kinds that a cluster has in any case. objects.go has the objects for who needs no API, as
// completion does: source.go, and completion.go, which finds moments.
package moment

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/connect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// Open is a connect.RecordingOpener: it opens recordings at a moment. The default moment is the end.
func Open(
	ctx context.Context, streams genericiooptions.IOStreams, files []string, at string,
) (*connect.Recording, error) {
	opened, err := OpenFiles(ctx, streams, files)
	if err != nil {
		return nil, err
	}
	out, err := serveAt(ctx, opened, at)
	if err != nil {
		return nil, closeAfter(opened, err)
	}
	return out, nil
}

// serveAt serves what an input has at a moment. The result closes the input.
func serveAt(ctx context.Context, opened *Input, at string) (*connect.Recording, error) {
	m, state, err := opened.At(at)
	if err != nil {
		return nil, err
	}
	info, err := opened.Info()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", opened.Name, err)
	}
	server, err := serve(ctx, opened.Recording, m)
	if err != nil {
		return nil, fmt.Errorf("serving %s: %w", opened.Name, err)
	}
	now, _ := TimeOf(state, m)
	r := &connect.Recording{
		Config: server.config, Name: opened.Name, Moment: "as of " + Text(opened.Name, &info, m, state), Time: now,
		Namespace: namespaceOf(state), Notes: notes(&info, m, state, server.absent),
		Recorded: recordedKinds(state), Usual: cluster.UsualKinds(),
		Close: func() error { return closeAfter(opened, server.stop()) },
	}
	r.Config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return newGuard(next, info.Header.Imported, state)
	})
	return r, nil
}

// pastTimes matches the fields of an object, its status, and an Event whose times are not to come: others are when
// something ends or is due, such as deletionTimestamp, notAfter or nextScheduleTime.
var pastTimes = regexp.MustCompile(`"(?:creationTimestamp|time|` +
	`(?:last|first|event|deprecatedLast|deprecatedFirst)[A-Za-z]*|` +
	`renewTime|acquireTime|startTime|startedAt|finishedAt|completionTime)"\s*:\s*` +
	`"(\d{4}-\d\d-\d\d[Tt][0-9:.]+(?:[Zz]|[+-]\d\d:\d\d))"`)

// TimeOf returns the time of a moment, and whether it is one that was recorded: without times it is the newest that an
// object has, or the zero time.
func TimeOf(state *replay.State, m replay.Moment) (at time.Time, timed bool) {
	switch {
	case !m.Time.IsZero():
		return m.Time, true
	case !state.Time.IsZero():
		return state.Time, true
	}
	for _, r := range state.Objects() {
		for _, m := range pastTimes.FindAllSubmatch(r.Object, -1) {
			t, err := time.Parse(time.RFC3339, string(m[1]))
			if err == nil && t.After(at) {
				at = t
			}
		}
	}
	return at.UTC(), false
}

// Text describes a moment in words.
func Text(name string, info *replay.Info, m replay.Moment, state *replay.State) string {
	now, timed := TimeOf(state, m)
	where := fmt.Sprintf("record %d of %d of %s", state.Number, info.Records, name)
	switch {
	case timed && !info.First.IsZero():
		return fmt.Sprintf("%s, %s after the beginning: %s", formatTime(now), sinceText(now.Sub(info.First)), where)
	case timed:
		return formatTime(now) + ": " + where
	case now.IsZero():
		return where + ", which has no times"
	}
	return fmt.Sprintf("%s, which has no times: ages are as of %s, the newest time in it", where, formatTime(now))
}

// formatTime writes a time as kubectl does, with milliseconds if it has any.
func formatTime(t time.Time) string {
	return t.UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano)
}

// sinceText writes how long after the beginning a moment is: it can be given to --at after a plus sign.
func sinceText(d time.Duration) string {
	if d >= time.Second {
		d = d.Truncate(100 * time.Millisecond)
	}
	return max(0, d.Truncate(time.Millisecond)).String()
}

// namespaceOf returns the namespace that is meant if none is named: the only one that has objects, else "default".
func namespaceOf(state *replay.State) string {
	only := ""
	for key := range state.Objects() {
		switch {
		case key.Namespace == "" || key.Namespace == only:
		case only == "":
			only = key.Namespace
		default:
			return defaultNamespace
		}
	}
	if only == "" {
		return defaultNamespace
	}
	return only
}

const defaultNamespace = "default"

// named names files for a sentence.
func named(files []string) string {
	names := make([]string, len(files))
	for i, file := range files {
		if names[i] = file; file == "-" {
			names[i] = "stdin"
		}
	}
	return strings.ReplaceAll(cli.Enumerate(names), ", ", " and ")
}
