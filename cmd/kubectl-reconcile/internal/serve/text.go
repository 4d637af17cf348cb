package serve

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/input"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/playback"
)

// describe says what is served, where, and what is not.
func describe(out io.Writer, server *playback.Server, header replay.Header) error {
	status := server.Status()
	access := "read-only"
	if status.Writable {
		access = "writable"
	}
	lines := []string{fmt.Sprintf("serving: Kubernetes v%s API at %s; %s; %s; %s",
		strings.TrimPrefix(api.KubernetesVersion(), "v"), server.API().URL(), momentText(status),
		cli.Plural(server.Kinds(), "kind"), access)}
	if own := "v" + strings.TrimPrefix(api.KubernetesVersion(), "v"); header.Server != "" && header.Server != own {
		lines = append(lines, fmt.Sprintf(
			"it was recorded from Kubernetes %s: what %s does not know of it is not served", header.Server, own))
	}
	if note := input.FormNote(header); note != "" {
		lines = append(lines, "note: "+note)
	}
	lines = append(lines, notServed(server.NotServed())...)
	lines = append(lines, fmt.Sprintf("`kubectl get --raw %[1]s` tells the time, `kubectl create --raw "+
		"'%[1]s/seek?to=10:04:05' -f /dev/null` sets it; so with play, pause, step and speed?value=2",
		playback.ControlPath))
	for _, line := range lines {
		if _, err := fmt.Fprintln(out, cli.Wrap(out, render.Escape(line))); err != nil {
			return err
		}
	}
	return nil
}

// timeLayout is how times are printed: with the date, since a recording may be of any day.
const timeLayout = "2006-01-02 15:04:05"

// momentText says where in the recording the server is.
func momentText(s playback.Status) string {
	at := fmt.Sprintf("record #%d of %d", s.Number, s.Records)
	if !s.Time.IsZero() {
		at = s.Time.UTC().Format(timeLayout) + "Z (" + at + ")"
	}
	return "as of " + at
}

// statusText is the line that is shown on a terminal.
func statusText(s playback.Status) string {
	state := "paused"
	switch {
	case s.Written:
		state = "a client has written: nothing is played any more"
	case s.Playing:
		state = "playing"
		if s.Speed != 1 {
			state += " ×" + strconv.FormatFloat(s.Speed, 'g', -1, 64)
		}
	case s.Problem != "":
		state = s.Problem
	case s.Ended:
		state = "at the end"
	}
	text := momentText(s) + ", " + state
	if s.Failed > 0 {
		text += fmt.Sprintf("; %s could not be served", cli.Plural(s.Failed, "record"))
	}
	return text
}

// notServed says what is not served, in a line for each kind and reason.
func notServed(all []playback.NotServed) []string {
	type group struct {
		resource schema.GroupResource
		reason   string
	}
	var order []group
	counts, first := map[group]int{}, map[group]string{}
	for _, n := range all {
		g := group{schema.GroupResource{Group: n.Kind.Group, Resource: n.Resource}, n.Err.Error()}
		if _, ok := counts[g]; !ok {
			order = append(order, g)
		}
		counts[g] += 0
		if n.Name != "" {
			counts[g]++
			first[g] = n.Name
		}
	}
	var lines []string
	for _, g := range order {
		what := g.resource.String()
		switch n := counts[g]; {
		case n == 1:
			what = what + "/" + first[g]
		case n > 1:
			what = strconv.Itoa(n) + " " + what
		}
		lines = append(lines, fmt.Sprintf("not served: %s: %s", what, cli.OneLine(g.reason)))
	}
	return lines
}
