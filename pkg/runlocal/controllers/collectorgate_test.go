package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// viewLog keeps the view that was reported last.
type viewLog struct {
	mu   sync.Mutex
	last CollectorView
}

func (v *viewLog) report(view CollectorView) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last = view
}

func (v *viewLog) get() CollectorView {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.last
}

// startOn starts controllers as on a cluster, which is reached with faults, until the test ends.
func (s *session) startOn(t *testing.T, f *faultyTransport, change func(*Deps), names ...string) {
	t.Helper()
	chosen, err := Select(names)
	if err != nil {
		t.Fatal(err)
	}
	config := f.on(s.config)
	d := Deps{Tap: s.tap, Informers: s.tap.Informers(kubernetes.NewForConfigOrDie(config), 0), Config: config}
	change(&d)
	ctx, cancel := context.WithCancel(t.Context())
	running, err := Start(ctx, d, chosen)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// define makes a CRD and waits until it is served.
func (s *session) define(t *testing.T, definition *apiextensionsv1.CustomResourceDefinition) dynamic.ResourceInterface {
	t.Helper()
	crds := apiextensions.NewForConfigOrDie(jsonConfig(s.config)).ApiextensionsV1().CustomResourceDefinitions()
	if _, err := crds.Create(t.Context(), definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	resource := schema.GroupVersionResource{
		Group: definition.Spec.Group, Version: definition.Spec.Versions[0].Name, Resource: definition.Spec.Names.Plural,
	}
	client := dynamic.NewForConfigOrDie(jsonConfig(s.config)).Resource(resource).Namespace("default")
	eventually(t, "the kind to be served", func() bool {
		_, err := client.List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	return client
}

// widget makes a custom resource with an owner.
func widget(t *testing.T, client dynamic.ResourceInterface, kind, name string, owner metav1.OwnerReference) {
	t.Helper()
	w := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": kind}}
	w.SetName(name)
	w.SetOwnerReferences([]metav1.OwnerReference{owner})
	if _, err := client.Create(t.Context(), w, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

const widgetsPath = "/apis/example.com/v1/widgets"

// TestCollectorSeesAllBeforeItActs: an owner waits for its dependents when the collector starts, and the list of these
// takes long. What the collector does before it is complete loses them.
func TestCollectorSeesAllBeforeItActs(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason string
		policy metav1.DeletionPropagation
		plain  bool
		left   []string // owners of the widget afterwards; nil if it is gone
	}{
		{"dependents are to be orphaned", metav1.DeletePropagationOrphan, false, []string{}},
		{"the same, by a server without WatchList", metav1.DeletePropagationOrphan, true, []string{}},
		{"a dependent blocks its owner's deletion", metav1.DeletePropagationForeground, false, nil},
		{"the same, by a server without WatchList", metav1.DeletePropagationForeground, true, nil},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			s := ownSession(t)
			client := s.define(t, widgets())
			owner := s.configMap(t, "default", "owner")
			widget(t, client, "Widget", "w", ownedBy(owner, true))
			s.delete(t, owner, test.policy)
			waiting := s.configMaps(t, "default")

			release := make(chan struct{})
			f := &faultyTransport{held: map[string]chan struct{}{widgetsPath: release}, plain: test.plain}
			var seen viewLog
			s.startOn(t, f, func(d *Deps) { d.Collector = seen.report }, "garbagecollector")
			want := CollectorView{Waiting: []schema.GroupResource{{Group: "example.com", Resource: "widgets"}}}
			eventually(t, "the collector to wait for nothing else", func() bool {
				view := seen.get()
				if view.Collecting {
					t.Fatalf("it has not waited for the list: %+v", view)
				}
				return view.equal(want)
			})
			if got := s.collectorWrites(); len(got) > 0 {
				t.Errorf("the collector wrote %v before it had seen all", got)
			}
			if got := s.configMaps(t, "default"); !slices.Equal(got, waiting) {
				t.Errorf("left are %v before the list was there, want %v", got, waiting)
			}
			close(release)
			s.expectConfigMaps(t, "default")
			s.settle(t)
			got, err := client.Get(t.Context(), "w", metav1.GetOptions{})
			switch {
			case test.left == nil && !apierrors.IsNotFound(err):
				t.Errorf("the dependent is there after its owner's deletion in the foreground (%v)", err)
			case test.left != nil && err != nil:
				t.Errorf("the dependent that was to be orphaned: %v", err)
			case test.left != nil && len(got.GetOwnerReferences()) > 0:
				t.Errorf("the orphan has the owners %v", got.GetOwnerReferences())
			}
			if view := seen.get(); !view.Collecting {
				t.Errorf("the collector has not reported that it collects: %+v", view)
			}
		})
	}
}

// ownersAndDependents makes a ConfigMap whose owner is absent, one that belongs to a widget, and one that is being
// deleted and whose dependent, a widget, is to be orphaned.
func (s *session) ownersAndDependents(t *testing.T, widgets dynamic.ResourceInterface) {
	t.Helper()
	absent := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "never",
		UID: "11111111-2222-3333-4444-555555555555"}
	s.configMap(t, "default", "a-garbage", absent)
	unseen := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Widget", Name: "v",
		UID: "11111111-2222-3333-4444-666666666666"}
	s.configMap(t, "default", "b-owned-by-a-widget", unseen)
	owner := s.configMap(t, "default", "c-owner")
	widget(t, widgets, "Widget", "w", ownedBy(owner, false))
	s.delete(t, owner, metav1.DeletePropagationOrphan)
}

// expectOrphan waits until all ConfigMaps are gone, and fails the test if the widget is not there without owners.
func (s *session) expectOrphan(t *testing.T, widgets dynamic.ResourceInterface) {
	t.Helper()
	s.expectConfigMaps(t, "default")
	got, err := widgets.Get(t.Context(), "w", metav1.GetOptions{})
	if err != nil || len(got.GetOwnerReferences()) > 0 {
		t.Errorf("the orphan is %v (%v)", got, err)
	}
}

// TestCollectorLeavesOutKindsThatCannotBeListed: one broken API does not stop the collector, and nothing is lost by it.
func TestCollectorLeavesOutKindsThatCannotBeListed(t *testing.T) {
	t.Parallel()
	s := ownSession(t)
	client := s.define(t, widgets())
	s.ownersAndDependents(t, client)

	f := &faultyTransport{broken: map[string]bool{widgetsPath: true}}
	var seen viewLog
	impatient := func(d *Deps) { d.Collector, d.listFailureTimeout = seen.report, time.Millisecond }
	s.startOn(t, f, impatient, "garbagecollector")
	eventually(t, "the collector to work without the kind", func() bool { view := seen.get(); return view.Collecting })
	view := seen.get()
	if len(view.LeftOut) != 1 || view.LeftOut[0].Resource.String() != "widgets.example.com" ||
		!apierrors.IsInternalError(view.LeftOut[0].Err) {
		t.Errorf("left out are %v", view.LeftOut)
	}
	kept := []string{"b-owned-by-a-widget", "c-owner orphan"}
	s.expectConfigMaps(t, "default", kept...)
	refused := func(key, why string) {
		t.Helper()
		eventually(t, "a reconcile of "+key+" to fail", func() bool {
			return slices.ContainsFunc(s.log.list(), func(e *trace.Event) bool {
				end, ok := e.Detail.(*trace.End)
				return ok && e.Key == key && end.Outcome == trace.Failed && strings.Contains(end.Error, why)
			})
		})
	}
	refused("widgets.example.com default/v", `looking up widgets.example.com "v"`)
	refused("configmaps default/c-owner", `orphaning the dependents of configmaps "c-owner"`)
	if got := s.configMaps(t, "default"); !slices.Equal(got, kept) {
		t.Errorf("left are %v, want %v", got, kept)
	}

	f.set(func() { clear(f.broken) })
	eventually(t, "the collector to see the kind", func() bool {
		view := seen.get()
		return view.Collecting && len(view.LeftOut) == 0
	})
	s.expectOrphan(t, client)
}

// TestCollectorLeavesOutGroupsThatAreNotKnown: discovery fails of one group, as of an APIService whose server is gone.
func TestCollectorLeavesOutGroupsThatAreNotKnown(t *testing.T) {
	t.Parallel()
	s := ownSession(t)
	client := s.define(t, widgets())
	s.ownersAndDependents(t, client)

	f := &faultyTransport{plain: true, broken: map[string]bool{"/apis/example.com/v1": true}}
	var seen viewLog
	s.startOn(t, f, func(d *Deps) { d.Collector = seen.report }, "garbagecollector")
	eventually(t, "the collector to work without the group",
		func() bool { view := seen.get(); return view.Collecting })
	view := seen.get()
	if len(view.LeftOut) != 1 || view.LeftOut[0].Resource.String() != "*.example.com" || view.LeftOut[0].Err == nil {
		t.Errorf("left out are %v", view.LeftOut)
	}
	s.expectConfigMaps(t, "default", "b-owned-by-a-widget", "c-owner orphan")
	eventually(t, "the orphaning to be refused", func() bool {
		return slices.ContainsFunc(s.log.list(), func(e *trace.Event) bool {
			end, ok := e.Detail.(*trace.End)
			return ok && end.Outcome == trace.Failed &&
				strings.Contains(end.Error, `orphaning the dependents of configmaps "c-owner"`)
		})
	})

	f.set(func() { clear(f.broken) })
	other := widgets()
	other.Name, other.Spec.Names.Singular, other.Spec.Names.Plural = "gears.example.com", "gear", "gears"
	other.Spec.Names.Kind, other.Spec.Names.ListKind = "Gear", "GearList"
	s.define(t, other)
	eventually(t, "the collector to see the group", func() bool {
		view := seen.get()
		return view.Collecting && len(view.LeftOut) == 0
	})
	s.expectOrphan(t, client)
}

// TestCollectorLeavesOutGroupsThatFailLater: the collector knows a kind, and its discovery fails from then on. What is
// not found of that kind, in whichever version, is no proof that it is absent.
func TestCollectorLeavesOutGroupsThatFailLater(t *testing.T) {
	t.Parallel()
	s := ownSession(t)
	s.define(t, widgets())
	f := &faultyTransport{plain: true, broken: map[string]bool{}}
	var seen viewLog
	s.startOn(t, f, func(d *Deps) { d.Collector = seen.report }, "garbagecollector")
	eventually(t, "the collector to collect",
		func() bool { view := seen.get(); return view.Collecting && len(view.LeftOut) == 0 })

	f.set(func() { f.broken["/apis/example.com/v1"] = true })
	// Discovery is read when a definition changes. No kind is added or removed, so that the collector's mapper
	// continues to know the old ones.
	crds := apiextensions.NewForConfigOrDie(jsonConfig(s.config)).ApiextensionsV1().CustomResourceDefinitions()
	touch := []byte(`{"metadata":{"annotations":{"example.com/touched":"true"}}}`)
	if _, err := crds.Patch(t.Context(), widgets().Name, types.MergePatchType, touch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the collector to leave the group out", func() bool {
		view := seen.get()
		return view.Collecting && len(view.LeftOut) == 1 && view.LeftOut[0].Resource.String() == "*.example.com"
	})
	unseen := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Widget", Name: "v",
		UID: "11111111-2222-3333-4444-666666666666"}
	s.configMap(t, "default", "owned-by-a-widget", unseen)
	eventually(t, "the collector to try", func() bool {
		return slices.ContainsFunc(s.log.list(), func(e *trace.Event) bool {
			end, ok := e.Detail.(*trace.End)
			return ok && strings.Contains(e.Key, "widget") && end.Outcome == trace.Failed
		})
	})
	s.expectConfigMaps(t, "default", "owned-by-a-widget")
}

// TestCollectorWaitsForKindsThatCome: objects of a kind that was just defined have owners at once.
func TestCollectorWaitsForKindsThatCome(t *testing.T) {
	t.Parallel()
	s := collecting(t)
	s.settle(t)
	for _, name := range []string{"gadget", "gear", "gizmo"} {
		definition := widgets()
		definition.Name = name + "s.example.com"
		names := &definition.Spec.Names
		names.Singular, names.Plural = name, name+"s"
		names.Kind, names.ListKind = strings.ToUpper(name), strings.ToUpper(name)+"List"
		client := s.define(t, definition)
		owner := s.configMap(t, "default", "owner")
		widget(t, client, names.Kind, "w", ownedBy(owner, false))
		s.delete(t, owner, metav1.DeletePropagationOrphan)
		s.expectConfigMaps(t, "default")
		s.settle(t)
		got, err := client.Get(t.Context(), "w", metav1.GetOptions{})
		if err != nil {
			t.Fatalf("the %s whose owner was to orphan it: %v", name, err)
		}
		if owners := got.GetOwnerReferences(); len(owners) > 0 {
			t.Errorf("the %s has the owners %v, which are gone: it will be deleted", name, owners)
		}
	}
}

// TestCollectorSeesDependentsBeforeTheirOwnerGoes: the watches of two kinds are not ordered, and the collector looks at
// both. An owner that goes just after a dependent was created must find it.
func TestCollectorSeesDependentsBeforeTheirOwnerGoes(t *testing.T) {
	t.Parallel()
	s := ownSession(t)
	s.run(t, 0, "garbagecollector")
	client := s.define(t, widgets())
	s.settle(t)
	for n := range 60 {
		owner, name := s.configMap(t, "default", "owner"), fmt.Sprintf("w-%d", n)
		widget(t, client, "Widget", name, ownedBy(owner, false))
		s.delete(t, owner, metav1.DeletePropagationOrphan)
		s.expectConfigMaps(t, "default")
		s.settle(t)
		if _, err := client.Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Fatalf("the orphan of round %d: %v", n+1, err)
		}
	}
}

// TestDangerousControllersSeeAllBeforeTheyAct: none that would destroy what it does not see begins before every list of
// what it reads is complete.
func TestDangerousControllersSeeAllBeforeTheyAct(t *testing.T) {
	t.Parallel()
	for _, c := range All() {
		for _, r := range c.Reads {
			if c.Danger == "" || r.Resource == "*" {
				continue
			}
			t.Run(c.Short+" "+r.String(), func(t *testing.T) {
				t.Parallel()
				s := recordedSession(t)
				path := "/api/v1/" + r.Resource
				if r.Group != "" {
					path = "/apis/" + r.Group + "/v1/" + r.Resource
				}
				release := make(chan struct{})
				f := &faultyTransport{held: map[string]chan struct{}{path: release}}
				config := f.on(s.config)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				started := make(chan *Running, 1)
				go func() {
					running, err := Start(ctx, Deps{
						Tap: s.tap, Informers: s.tap.Informers(kubernetes.NewForConfigOrDie(config), 0), Config: config,
						Authority: s.authority(t),
					}, []Controller{c})
					if err != nil {
						t.Error(err)
					}
					started <- running
				}()
				eventually(t, "the list of "+r.String(), func() bool { return f.requestsTo(path) > 0 })
				eventually(t, "the other lists", func() bool {
					unsynced := s.tap.State().Unsynced
					return len(unsynced) == 1 && unsynced[r]
				})
				select {
				case <-started:
					t.Errorf("%s has started without %s", c.Short, r)
				default:
				}
				for _, e := range s.log.list() {
					if _, ok := e.Detail.(*trace.Start); ok && e.Controller == c.Short {
						t.Errorf("%s works on %s without %s", c.Short, e.Key, r)
					}
				}
				close(release)
				running := <-started
				cancel()
				if running != nil {
					running.Wait()
				}
			})
		}
	}
}
