package plan

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// loopRounds is how often a state must come back before it is a loop: once may be the way from one state to another.
const loopRounds = 3

// states finds states that repeat. A state is the sum of the hashes of all objects, without what only counts writes or
// is the time, so that objects which are created and deleted again and again count as the same. The zero value is the
// state of the beginning.
type states struct {
	sum, last uint64           // at this moment, and after the last step that changed it
	seen      map[uint64][]int // how many steps there were when the state became that
}

// add takes a write into the state. Both versions are canonical.
func (s *states) add(before, after *unstructured.Unstructured) {
	s.sum += hash(after) - hash(before)
}

// after returns the loop that the last of the steps closes; nil if it closes none.
func (s *states) after(steps []Step) *Loop {
	if s.seen == nil {
		s.seen = map[uint64][]int{0: {0}}
	}
	if s.sum == s.last {
		return nil // the step only counted something
	}
	s.last = s.sum
	seen := append(s.seen[s.sum], len(steps))
	s.seen[s.sum] = seen
	if len(seen) <= loopRounds {
		return nil
	}
	return &Loop{Steps: steps[seen[len(seen)-2]:], Rounds: len(seen) - 1}
}

// hash returns a hash of what an object says; 0 of nil.
func hash(obj *unstructured.Unstructured) uint64 {
	if obj == nil {
		return 0
	}
	h := fnv.New64a()
	text, err := json.Marshal(withoutCounters(obj.Object, ""))
	if err != nil {
		return 0
	}
	_, _ = h.Write(text) // never fails
	return h.Sum64()
}

// withoutCounters returns a copy without what grows with every write and without the numbers of generated names.
func withoutCounters(v any, field string) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, value := range v {
			if !isCounter(field, k) {
				out[k] = withoutCounters(value, k)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, entry := range v {
			out[i] = withoutCounters(entry, field)
		}
		return out
	case string:
		return withoutNumbers(v)
	}
	return v
}

func isCounter(of, field string) bool {
	switch field {
	case "managedFields", "resourceVersion", "generation", "observedGeneration", "creationTimestamp", "startTime",
		"lastTransitionTime", "lastUpdateTime", "lastProbeTime", "startedAt", "finishedAt", "containerID",
		"podIP", "podIPs", "hostIP", "hostIPs", "addresses":
		return true
	case "ip":
		return of == "podIPs"
	}
	return of == "annotations" && strings.HasPrefix(field, "deployment.kubernetes.io/revision")
}

// withoutNumbers replaces the numbers in brackets, which canonical names end in.
func withoutNumbers(text string) string {
	if !strings.Contains(text, "<") {
		return text
	}
	var out strings.Builder
	for text != "" {
		before, rest, found := strings.Cut(text, "<")
		out.WriteString(before)
		if !found {
			break
		}
		inside, after, closed := strings.Cut(rest, ">")
		if !closed || strings.Trim(inside, "0123456789") != "" {
			out.WriteString("<")
			text = rest
			continue
		}
		out.WriteString("<>")
		text = after
	}
	return out.String()
}

// growthInterval is how many steps there are between two looks for what grows, and growthRounds how often controllers
// must have made the same steps.
const (
	growthInterval = 50
	growthRounds   = 50
)

// growing returns a loop of steps that controllers repeat while something grows, nil if there is none. If simulated
// nodes take part something may come of it: a Job makes its pods one after the other.
func growing(steps []Step) *Loop {
	loop := repeating(steps)
	if loop == nil || loop.Rounds < growthRounds ||
		slices.ContainsFunc(loop.Steps, func(s Step) bool { return s.Simulated }) {
		return nil
	}
	return loop
}

// maxPeriod bounds the steps of a round that repeating looks for.
const maxPeriod = 40

// repeating returns the steps that the last ones repeat, if they write the same three times but for the numbers of
// generated names: such as one controller that creates what another deletes, while something grows. It is nil if there
// are none.
func repeating(steps []Step) *Loop {
	same := func(a, b *Step) bool {
		if a.Controller != b.Controller || withoutNumbers(a.Key) != withoutNumbers(b.Key) ||
			len(a.Writes) != len(b.Writes) {
			return false
		}
		for i := range a.Writes {
			if a.Writes[i].Verb != b.Writes[i].Verb ||
				withoutNumbers(a.Writes[i].Object.Name) != withoutNumbers(b.Writes[i].Object.Name) {
				return false
			}
		}
		return true
	}
	for period := 1; period <= maxPeriod && loopRounds*period <= len(steps); period++ {
		last := steps[len(steps)-loopRounds*period:]
		repeats := true
		for i := period; i < len(last) && repeats; i++ {
			repeats = same(&last[i], &last[i-period])
		}
		if !repeats {
			continue
		}
		rounds := loopRounds
		for at := len(steps) - loopRounds*period - 1; at >= 0 && same(&steps[at], &steps[at+period]); at-- {
			rounds = (len(steps) - at) / period
		}
		return &Loop{Steps: steps[len(steps)-period:], Rounds: rounds}
	}
	return nil
}
