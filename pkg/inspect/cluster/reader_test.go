package cluster

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

func TestReaderLimitsRequestsAsAsked(t *testing.T) {
	for _, tt := range []struct {
		reason string
		config rest.Config
		want   float32
	}{
		{"none is asked for", rest.Config{}, 0},
		{"none, in words", rest.Config{QPS: -1}, 0},
		{"a number", rest.Config{QPS: 7, Burst: 7}, 7},
		{"a limiter that others use, too", rest.Config{RateLimiter: flowcontrol.NewTokenBucketRateLimiter(3, 3)}, 3},
	} {
		r, err := NewReader(&tt.config)
		if err != nil {
			t.Fatal(err)
		}
		var got float32
		if limiter := r.client.GetRateLimiter(); limiter != nil {
			got = limiter.QPS()
		}
		if got != tt.want {
			t.Errorf("%s: %v requests a second, want %v", tt.reason, got, tt.want)
		}
	}
}

// notedWarnings are the texts of warnings.
type notedWarnings []string

// HandleWarningHeader implements rest.WarningHandler.
func (n *notedWarnings) HandleWarningHeader(_ int, _, text string) { *n = append(*n, text) }

func TestReaderPrintsNoWarnings(t *testing.T) {
	s := newServer(t)
	s.HandleFunc("/api/v1/pods", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Warning", `299 - "pods are deprecated"`)
		w.Header().Set("Content-Type", "application/json")
		writeJSON(w, somePods())
	})
	var byDefault, asked notedWarnings
	rest.SetDefaultWarningHandler(&byDefault)
	defer rest.SetDefaultWarningHandler(rest.WarningLogger{})
	for _, handler := range []rest.WarningHandler{nil, &asked} {
		r, err := NewReader(&rest.Config{Host: s.URL, WarningHandler: handler})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.client.Client.CloseIdleConnections)
		read(t, r, Target{Kind: pods}, ListOptions{})
	}
	if diff := cmp.Diff([]notedWarnings{nil, {"pods are deprecated"}}, []notedWarnings{byDefault, asked}); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
