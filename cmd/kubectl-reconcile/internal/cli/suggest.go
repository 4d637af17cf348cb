package cli

import (
	"cmp"
	"slices"
	"strings"
)

// maxSuggestions bounds the names that a hint offers.
const maxSuggestions = 3

// Suggest returns the known names that name may be a misspelling of, the nearest first and at most three. Of kinds with
// their group and version, such as "apps/v1 Deployment", the kind is compared; those of the same kind are the only
// ones.
func Suggest(name string, known []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var near []candidate
	name = kindOf(name)
	for _, k := range known {
		d := distance(strings.ToLower(name), strings.ToLower(kindOf(k)))
		if d <= min(max(2, len(name)/4), len(name)/2) || len(name) > 2 && strings.HasPrefix(kindOf(k), name) {
			near = append(near, candidate{k, d})
		}
	}
	slices.SortFunc(near, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	var out []string
	for _, c := range near[:min(len(near), maxSuggestions)] {
		if c.distance == 0 || near[0].distance > 0 {
			out = append(out, c.name)
		}
	}
	return out
}

// kindOf returns a name without the group and the version that it begins with, if it has any.
func kindOf(name string) string { return name[strings.LastIndex(name, " ")+1:] }

// Suggestion returns a hint that offers the nearest known names, followed by more advice, which may be empty.
func Suggestion(name string, known []string, more string) string {
	return DidYouMean(Suggest(name, known), more)
}

// DidYouMean returns a hint that offers the nearest names, if any, followed by more advice, which may be empty.
func DidYouMean(nearest []string, more string) string {
	if len(nearest) == 0 {
		return more
	}
	return strings.TrimSpace("did you mean " + strings.Join(nearest, " or ") + "? " + more)
}

// distance returns the number of letters to insert, remove, replace or swap with their neighbour to turn a into b
// (optimal string alignment).
func distance(a, b string) int {
	before, previous := []int(nil), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := previous[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(previous[j]+1, row[j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, previous = previous, row
	}
	return previous[len(b)]
}
