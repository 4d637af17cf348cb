package tap

import (
	"slices"
	"testing"
)

func TestMemoryKeepsTheLatest(t *testing.T) {
	m := recentMap[int, int]{size: 4}
	for n := range 20 {
		m.put(n, n)
	}
	var kept []int
	for n := range 20 {
		if _, ok := m.get(n); ok {
			kept = append(kept, n)
		}
	}
	if !slices.Contains(kept, 19) || !slices.Contains(kept, 16) || len(kept) > 8 {
		t.Errorf("kept %v, want at least the latest 4 and at most 8", kept)
	}
	m.drop(19)
	if _, ok := m.get(19); ok {
		t.Error("what was dropped is still there")
	}
}
