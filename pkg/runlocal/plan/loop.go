package plan

import (
	"encoding/json"
	"hash/fnv"
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
		"lastTransitionTime", "lastUpdateTime", "lastProbeTime", "startedAt", "finishedAt", "containerID", "podIP", "podIPs",
		"hostIP", "hostIPs", "addresses":
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
