package render

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/findings"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// FindingsOptions are the options of Findings.
type FindingsOptions struct {
	Palette Palette
	// Width is the width of the terminal, at which lines are wrapped; 0 wraps none.
	Width int
	// Limit bounds the findings that are shown; 0 shows all.
	Limit int
}

// Findings writes findings, a line for each, and below it the values of the fields that it is about.
func Findings(w io.Writer, list []findings.Finding, o FindingsOptions) error {
	more := 0
	if o.Limit > 0 && len(list) > o.Limit {
		list, more = list[:o.Limit], len(list)-o.Limit
	}
	var text strings.Builder
	for i := range list {
		f := &list[i]
		head := o.Palette.Trouble(string(f.Type)+":") + " " + Escape(findingText(f))
		fmt.Fprintln(&text, Wrap(head, o.Width, "  "))
		for _, a := range f.Fields {
			fmt.Fprintln(&text, Wrap("  "+Escape(a.Field+": "+AlternatingText(a)), o.Width, "    "))
		}
		if len(f.Reconciles) > 0 {
			fmt.Fprintln(&text, Wrap(o.Palette.Dim("  "+reconcilesText(f)), o.Width, "    "))
		}
	}
	if more > 0 {
		fmt.Fprintf(&text, "and %s more; -v shows all\n", counted(more, "finding"))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// findingText is the first line of a finding, without its type.
func findingText(f *findings.Finding) string {
	times, took := counted(f.Count, "time"), ""
	if d := f.Last.Sub(f.First); d >= time.Millisecond {
		took = " in " + FormatDuration(trace.Duration(d))
	}
	switch f.Type {
	case findings.Fight:
		return fmt.Sprintf("%s: %s change the same field back and forth, %s%s", objectText(f.Object),
			strings.Join(f.Writers, " and "), times, took)
	case findings.Loop:
		return loopText(f, times, took)
	case findings.NoOpWrite:
		return fmt.Sprintf("%s has sent %d writes (%s %s)%s that changed nothing, the last of %s", f.Controller,
			f.Count, f.Verb, f.Resource, took, objectText(f.Object))
	case findings.Retries:
		return fmt.Sprintf("%s failed %s%s, and each retry again: %s", keysText(f), times, took,
			TrimAPIError(f.Message))
	case findings.PutOff:
		return fmt.Sprintf("%s put off %s%s: the controller's cache of %s does not show its last write", keysText(f),
			times, took, f.Message)
	case findings.Requeue:
		return fmt.Sprintf("%s was requeued by its own reconcile %s%s, without a write", keysText(f), times, took)
	case findings.Starving:
		return fmt.Sprintf("%s waited too long for a worker, %s%s", keysText(f), times, took)
	}
	return keysText(f) + " " + times + took
}

func loopText(f *findings.Finding, times, took string) string {
	who := "an unknown writer, or several, write"
	if n := len(f.Writers); n > 0 {
		who = strings.Join(f.Writers, " and ") + map[bool]string{true: " writes", false: " write"}[n == 1]
	}
	text := fmt.Sprintf("%s it %s%s", who, times, took)
	switch {
	case len(f.Fields) > 0:
		text = fmt.Sprintf("%s the same values again and again, %s%s", who, times, took)
	case f.Only == findings.OnlyOrder:
		text += ", each time in another order"
	case f.Only == findings.OnlyTimes:
		text += ", each time with another time and nothing else"
	case f.Only == findings.OnlyOrderAndTimes:
		text += ", each time in another order and with another time"
	}
	if f.ItsOwn {
		text += ", in reaction to nothing but its own writes"
	}
	if len(f.Changed) > 0 && len(f.Fields) == 0 {
		text += ": " + strings.Join(f.Changed, ", ")
	}
	return objectText(f.Object) + ": " + text
}

// objectText names an object.
func objectText(o *findings.Object) string {
	if o == nil {
		return "an object"
	}
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + name
	}
	return o.Kind + " " + name
}

// keysText names the keys of a finding.
func keysText(f *findings.Finding) string {
	const named = 2
	keys := f.Keys[:min(len(f.Keys), named)]
	text := strings.TrimSpace(f.Controller + " " + strings.Join(keys, ", ")) // a round of a timer has no key
	if more := len(f.Keys) - len(keys) + f.MoreKeys; more > 0 {
		text += " and " + counted(more, "other key")
	}
	return text
}

func reconcilesText(f *findings.Finding) string {
	var ids []string
	for _, id := range f.Reconciles {
		ids = append(ids, "#"+strconv.FormatUint(id, 10))
	}
	return "last in " + strings.Join(ids, ", ")
}

// maxValueText bounds what is shown of a value that alternates.
const maxValueText = 32

// AlternatingText names the values of a field that alternate, with who wrote them: "3 by hpa (4), 2 by flux (4)".
func AlternatingText(a findings.Alternation) string {
	var values []string
	for _, v := range a.Values {
		text := v.Value
		if text == "" {
			text = "(none)"
		}
		text = Cut(text, maxValueText)
		if len(v.Writers) > 0 {
			text += " by " + strings.Join(v.Writers, " and ")
		}
		values = append(values, fmt.Sprintf("%s (%d)", text, v.Count))
	}
	return strings.Join(values, ", ")
}
