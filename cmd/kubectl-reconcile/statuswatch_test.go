package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/render"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// newFollower follows widgets into out.
func newFollower(out *bytes.Buffer) *statusFollower {
	o := &statusOptions{
		connection: &connection{namespace: "shop"}, targets: newTargetFlags(), named: targetArgs{types: []string{"widgets"}},
		streams: genericiooptions.IOStreams{Out: out, ErrOut: out}, clock: clock.RealClock{},
	}
	return newStatusFollower(&statusReader{o, &served{}})
}

// last is the last picture that a screen drew.
func last(out *bytes.Buffer) string {
	text := out.String()
	return text[strings.LastIndex(text, "NAME"):]
}

func TestStatusScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		f := newFollower(&out)
		f.screen = render.NewScreen(&out)
		of := target{Target: cluster.Target{Kind: widgets(), Namespace: "shop"}}
		changes := make(chan statusChange)
		ended := make(chan error, 1)
		go func() { ended <- f.redraw(t.Context(), changes) }()

		changes <- statusChange{target: of, items: []statusItem{itemOf("shop", "a", inspect.Current, false)}}
		changes <- statusChange{target: of, event: watch.Added, items: []statusItem{itemOf("shop", "b", inspect.Failed, false)}}
		synctest.Wait()
		if strings.Contains(out.String(), "/a") {
			t.Error("it is drawn for each change, and not for all of a short time")
		}
		time.Sleep(2 * coalesce)
		synctest.Wait()
		if got := last(&out); !strings.Contains(got, "/b") || strings.Index(got, "/b") > strings.Index(got, "/a") {
			t.Errorf("not both of the changes are there, the worst first: %q", got)
		}
		drawn := out.Len()
		time.Sleep(refresh)
		synctest.Wait()
		if out.Len() == drawn {
			t.Error("ages do not grow")
		}
		changes <- statusChange{target: of, event: watch.Deleted, items: []statusItem{itemOf("shop", "b", inspect.Failed, false)}}
		time.Sleep(2 * coalesce)
		synctest.Wait()
		if got := last(&out); strings.Contains(got, "/b") {
			t.Errorf("what is gone is still there: %q", got)
		}
	})
}

func TestStatusFollowBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFollower(&bytes.Buffer{})
		a, b := target{Name: "a"}, target{Name: "b"}
		changes := make(chan statusChange, 2)
		changes <- statusChange{target: a}
		changes <- statusChange{target: a, event: watch.Added, items: []statusItem{itemOf("shop", "a", inspect.Current, false)}}
		begun := false
		go func() {
			if err := f.begin(t.Context(), []target{a, b}, changes); err != nil {
				t.Error(err)
			}
			begun = true
		}()
		synctest.Wait()
		if begun {
			t.Error("two changes of one target are taken for those of two")
		}
		changes <- statusChange{target: b}
		synctest.Wait()
		if !begun {
			t.Error("all were read, and it still waits")
		}
	})
}
