package why

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// TestHealthyObjects asks about objects with unusual settings that are as their specs request: nothing is named.
func TestHealthyObjects(t *testing.T) {
	if *alone+*acting != "" {
		t.Skip("it shows nothing about a real control plane")
	}
	on := newStage(t, true)
	p := &player{name: "healthy-objects", uids: map[string]string{}}
	p.documents = readDocuments(t, "testdata/healthy-objects.yaml", nil)
	p.define(t, on)
	p.play(t, on)
	for _, document := range p.documents {
		kind, _ := document["kind"].(string)
		about := strings.ToLower(kind) + "/" + fmt.Sprint(document["metadata"].(map[string]any)["name"])
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			p.well(ctx, t, about)
		})
	}
}

// well asks about an object until nothing is named, and it has converged.
func (p *player) well(ctx context.Context, t *testing.T, about string) {
	t.Helper()
	for last := ""; ; wait(ctx) {
		v, err := p.askAbout(ctx, p.stage.config, about)
		switch {
		case ctx.Err() != nil:
			t.Fatal(last)
		case err != nil:
			t.Fatal(err)
		case v.diagnosis.Converged:
			return
		}
		last = v.headline() + ": " + named(v.diagnosis)
	}
}
