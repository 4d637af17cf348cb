package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func TestHeadline(t *testing.T) {
	for _, tt := range []struct{ outcome, want, reason string }{
		{"ready", "ready after 1.50s", "the goal was reached"},
		{"settled", "settled after 1.50s", "the goal was reached"},
		{"elapsed", "ended after 1.50s", "the time was over: what came of it is below"},
		{"interrupted", "interrupted after 1.50s", "the goal was not reached"},
		{timedOut, "not ready after 1.50s", "the goal was not reached"},
		{stuck, "not ready, gave up after 1.50s", "nor would it ever be"},
		{broken, "failed after 1.50s", "an error ended it"},
	} {
		if got := (&result{outcome: tt.outcome, elapsed: 1500 * time.Millisecond}).headline("ready"); got != tt.want {
			t.Errorf("%s: %q, want %q: %s", tt.outcome, got, tt.want, tt.reason)
		}
	}
}

// ended is the result of a run with one object that was applied and one that was made.
func ended() result {
	deployment := runlocal.Applied{
		Kind:      schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		Resource:  schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
		Namespace: "shop", Name: "web",
	}
	pod := runlocal.Applied{Kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Namespace: "shop", Name: "web-1"}
	return result{
		outcome: "ready", elapsed: time.Second,
		objects: []runlocal.ObjectStatus{{Applied: deployment, Status: inspect.Status{Status: "Current", Ready: "1/1", Reason: "calm", Message: "fine"}}},
		made:    []runlocal.ObjectStatus{{Applied: pod, Status: inspect.Status{Status: "InProgress", Ready: "0/1"}}},
		pending: []pendingKey{{"deployment", "shop/web", trace.Duration(time.Minute), 2}},
	}
}

func TestSummaryLine(t *testing.T) {
	r := ended()
	got, err := json.Marshal(r.line(false))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"apiVersion":"kubectl-reconcile.github.io/v1alpha1","kind":"TraceSummary","outcome":"ready","elapsed":"1s","controllers":null,` +
		`"objects":[{"group":"apps","version":"v1","resource":"deployments","objectKind":"Deployment","namespace":"shop","name":"web","applied":true,"status":"Current","ready":"1/1","reason":"calm","message":"fine"},` +
		`{"version":"v1","resource":"pods","objectKind":"Pod","namespace":"shop","name":"web-1","status":"InProgress","ready":"0/1"}],` +
		`"pending":[{"controller":"deployment","key":"shop/web","in":"1m0s","retry":2}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("the summary is a promise to programs (-want +got):\n%s", diff)
	}
}

func TestSummaryLineOfACluster(t *testing.T) {
	r := result{
		outcome: "settled", written: []trace.WriteCount{{Verb: "create", Resource: "pods", Objects: 1, Writes: 2}},
		refused: []trace.WriteCount{{Verb: "create", Resource: "pods", Objects: 1, Writes: 3, Code: 403, Message: "no"}},
		failing: []trace.FailingKey{{Controller: "job", Key: "shop/j", Failures: 3, Error: "no"}}, unknown: make([]trace.FailingKey, 2),
	}
	for dry, word := range map[bool]string{true: "wouldWrite", false: "wrote"} {
		got, err := json.Marshal(r.line(dry))
		if err != nil {
			t.Fatal(err)
		}
		want := `{"apiVersion":"kubectl-reconcile.github.io/v1alpha1","kind":"TraceSummary","outcome":"settled","elapsed":"0s","controllers":null,` +
			`"` + word + `":[{"verb":"create","resource":"pods","objects":1,"writes":2}],` +
			`"refused":[{"verb":"create","resource":"pods","objects":1,"writes":3,"code":403,"message":"no"}],` +
			`"unknown":2,"failing":[{"controller":"job","key":"shop/j","failures":3,"error":"no"}]}`
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("dry is %t (-want +got):\n%s", dry, diff)
		}
	}
}

func TestObjectRows(t *testing.T) {
	want := []render.ObjectRow{
		{Namespace: "shop", Name: "deployment.apps/web", Status: inspect.Status{Ready: "1/1", Status: "Current", Reason: "calm", Message: "fine"}},
		{Namespace: "shop", Name: "pod/web-1", Status: inspect.Status{Ready: "0/1", Status: "InProgress"}, Fold: "pod"},
	}
	if diff := cmp.Diff(want, objectRows(ended())); diff != "" {
		t.Errorf("what was applied stands alone, what was made of it may be folded (-want +got):\n%s", diff)
	}
}

func TestOutliving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		kept, cancel := outliving(ctx)
		defer cancel()
		time.AfterFunc(time.Hour, interrupt)
		began := time.Now()
		<-kept.Done()
		if lasted := time.Since(began); lasted != time.Hour+parting {
			t.Errorf("it ends %s after its start, not shortly after the interrupt", lasted)
		}
		if !errors.Is(kept.Err(), context.Canceled) {
			t.Errorf("it ends with %v", kept.Err())
		}
		other, cancelOther := outliving(ctx)
		cancelOther()
		<-other.Done() // with the interrupt long past, and nobody waiting for the time to pass
	})
}

// TestFailingKeysAreMarked: they are what is still wrong at the end.
func TestFailingKeysAreMarked(t *testing.T) {
	var out bytes.Buffer
	o := &Options{Palette: render.NewPalette(&out, render.ColorAlways, func(string) string { return "" })}
	o.printFailing(&outputs{notes: &out}, []trace.FailingKey{
		{Controller: "job", Key: "shop/\x1bj", Failures: 3, Error: `pods "j-x" is forbidden: exceeded quota`},
	})
	want := o.Palette.Trouble("failing:") + " job shop/^[j, 3 times: exceeded quota\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
