package session

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/controllers"
)

func TestCollectorWarnings(t *testing.T) {
	widgets, gears := schema.GroupResource{Group: "example.com", Resource: "widgets"}, schema.GroupResource{Group: "example.com", Resource: "gears"}
	left := func(of ...schema.GroupResource) (out []controllers.UnlistedKind) {
		for _, r := range of {
			out = append(out, controllers.UnlistedKind{Resource: r, Err: errors.New("conversion webhook\nfailed")})
		}
		return out
	}
	type step struct {
		reason string
		view   controllers.CollectorView
		want   []string
	}
	for _, test := range []struct {
		reason string
		steps  []step
	}{
		{"a collector that begins at once needs no line", []step{
			{"it begins", controllers.CollectorView{Collecting: true}, nil},
		}},
		{"lists take long", []step{
			{"kinds are not known", controllers.CollectorView{}, []string{"warning: garbagecollector collects nothing yet: it does not know all kinds yet"}},
			{"lists are under way", controllers.CollectorView{Waiting: []schema.GroupResource{gears, widgets}},
				[]string{"warning: garbagecollector collects nothing yet: it waits for the lists of gears.example.com, widgets.example.com"}},
			{"they have arrived", controllers.CollectorView{Collecting: true}, []string{"garbagecollector collects: it sees all that can be listed"}},
		}},
		{"kinds that cannot be listed", []step{
			{"one", controllers.CollectorView{Collecting: true, LeftOut: left(widgets)}, []string{
				"warning: garbagecollector continues without widgets.example.com, which cannot be listed (widgets.example.com: conversion webhook failed): " +
					"nothing that its objects own is deleted, and what is to be deleted with --cascade=orphan waits"}},
			{"the same, for another reason", controllers.CollectorView{Collecting: true, LeftOut: left(widgets)}, nil},
			{"another", controllers.CollectorView{Collecting: true, LeftOut: left(gears, widgets)}, []string{
				"warning: garbagecollector continues without gears.example.com, widgets.example.com, which cannot be listed (gears.example.com: conversion webhook failed): " +
					"nothing that their objects own is deleted, and what is to be deleted with --cascade=orphan waits"}},
			{"both are back", controllers.CollectorView{Collecting: true}, []string{"garbagecollector sees gears.example.com, widgets.example.com again"}},
		}},
	} {
		w := &collectorWarnings{}
		for _, s := range test.steps {
			if diff := cmp.Diff(s.want, w.lines(s.view)); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", test.reason, s.reason, diff)
			}
		}
	}
}
