package seed

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

func TestGuessRanges(t *testing.T) {
	for _, tt := range []struct {
		reason string
		ips    [][]string
		want   []string
	}{
		{"without Services there is nothing to go by", nil, nil},
		{"a headless Service has no address", [][]string{{"None"}}, nil},
		{"the range has all addresses", [][]string{{"10.96.0.1"}, {"10.97.3.4"}, {"10.96.200.1"}}, []string{"10.96.0.0/15"}},
		{"the primary family comes first", [][]string{{"10.96.0.1"}, {"fd00::7", "10.96.0.9"}},
			[]string{"fd00::/112", "10.96.0.0/16"}},
	} {
		r := &reading{objects: map[key]Object{}}
		for i, ips := range tt.ips {
			data, err := json.Marshal(map[string]any{"spec": map[string]any{"clusterIPs": ips}})
			if err != nil {
				t.Fatal(err)
			}
			k := key{name: fmt.Sprint(i)}
			k.resource.Resource = "services"
			r.objects[k] = Object{JSON: data}
		}
		if got := r.guessRanges(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
	}
}
