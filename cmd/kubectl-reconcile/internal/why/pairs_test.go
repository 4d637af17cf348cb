package why

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/diagnosis"
)

// TestTwoCauses gives a Deployment one pod of a situation of the corpus and two of another one, for each two: the cause
// of the two pods is named first, that of the one as well.
func TestTwoCauses(t *testing.T) {
	if *alone+*acting != "" {
		t.Skip("it shows nothing about a real control plane")
	}
	var all []*player
	for _, p := range readCorpus(t) {
		if isOfOnePod(p) {
			all = append(all, p)
		}
	}
	on := newStage(t, false)
	pairs := 0
	for i, few := range all {
		for j, many := range all {
			if i == j || few.Cause == many.Cause && few.Says == many.Says || few.makes(many.Says) || many.makes(few.Says) {
				continue
			}
			pairs++
			t.Run(few.name+"/"+many.name, func(t *testing.T) {
				t.Parallel()
				p := &player{
					situation: many.situation, name: fmt.Sprintf("pair-%d-%d", i, j), uids: map[string]string{},
					documents: readDocuments(t, "testdata/two-causes.yaml", nil),
				}
				p.Later.Duration = max(few.Later.Duration, many.Later.Duration)
				p.documents = append(p.documents, few.renamed(t, "x")...)
				p.documents = append(p.documents, many.renamed(t, "y")...)
				p.documents = append(p.documents, many.renamed(t, "z")...)
				p.define(t, on)
				p.play(t, on)
				p.bothNamed(t.Context(), t, few, many)
			})
		}
	}
	t.Logf("%d pairs of %d situations", pairs, len(all))
}

// isOfOnePod reports whether a situation is one of a Deployment with a single pod, of which all is in its namespace.
func isOfOnePod(p *player) bool {
	counts := map[string]int{}
	for _, document := range p.documents {
		counts[document["kind"].(string)]++
	}
	own := []string{"Deployment", "ReplicaSet", "Pod", "Event", "Secret", "ConfigMap", "PersistentVolumeClaim"}
	isOther := func(kind string) bool { return !slices.Contains(own, kind) }
	return !p.Controllers && p.Cause != "" && p.Ask == "deployment/web" && counts["Deployment"] == 1 &&
		counts["ReplicaSet"] == 1 && counts["Pod"] == 1 && !slices.ContainsFunc(slices.Collect(maps.Keys(counts)), isOther)
}

// makes reports whether an object that a cause names is among those of the situation.
func (p *player) makes(says string) bool {
	return slices.ContainsFunc(p.documents, func(document map[string]any) bool {
		name := document["metadata"].(map[string]any)["name"].(string)
		return document["kind"] != "Pod" && strings.Contains(says, document["kind"].(string)+"/"+name)
	})
}

// renamed returns the objects of a situation but for the Deployment and its ReplicaSet, with another name for the pod.
func (p *player) renamed(t *testing.T, name string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, document := range p.documents {
		if kind := document["kind"]; kind == "Deployment" || kind == "ReplicaSet" || kind == "ConfigMap" && name == "z" ||
			kind == "Secret" && name == "z" || kind == "PersistentVolumeClaim" && name == "z" {
			continue
		}
		text, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.ReplaceAll(text, []byte("web-1-a"), []byte("web-1-"+name))
		var object map[string]any
		if err := json.Unmarshal(text, &object); err != nil {
			t.Fatal(err)
		}
		if kind := object["kind"]; kind == "Event" {
			metadata := object["metadata"].(map[string]any)
			metadata["name"] = fmt.Sprint(metadata["name"], "-", name)
		}
		out = append(out, object)
	}
	return out
}

// bothNamed compares what is named with the causes of two situations.
func (p *player) bothNamed(ctx context.Context, t *testing.T, few, many *player) {
	t.Helper()
	v, err := p.ask(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	waits := false
	says := func(c *diagnosis.Cause, of *player, pod string) bool {
		part := strings.ReplaceAll(p.expand(of.Says), "web-1-a", pod)
		return string(c.Type) == of.Cause && strings.Contains(v.sentence(c), part)
	}
	for _, c := range v.diagnosis.Causes {
		named = append(named, string(c.Type)+": "+v.sentence(c))
		waits = waits || says(c, many, "web-1-y") && c.Weight < inspect.Specific
	}
	all := v.diagnosis.Causes
	switch {
	case len(all) == 0 || !says(all[0], many, "web-1-y") && !waits: // errors come before what waits
		t.Errorf("the cause of two pods, %s %q, is not named first:\n%s", many.Cause, many.Says, strings.Join(named, "\n"))
	case !slices.ContainsFunc(all, func(c *diagnosis.Cause) bool { return says(c, few, "web-1-x") }):
		t.Errorf("the cause of one pod, %s %q, is not named:\n%s", few.Cause, few.Says, strings.Join(named, "\n"))
	case !slices.ContainsFunc(all, func(c *diagnosis.Cause) bool { return says(c, many, "web-1-y") }):
		t.Errorf("the cause of two pods, %s %q, is not named:\n%s", many.Cause, many.Says, strings.Join(named, "\n"))
	}
}
