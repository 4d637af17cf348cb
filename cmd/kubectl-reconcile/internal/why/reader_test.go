package why

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/ownertree/diagnosis"
)

// TestReader asks about the situations on which nothing acts as one who may not read all: less may be said, but nothing
// that is false. What is certain is so for one who may read all, and an object has only converged if it has for that
// one.
func TestReader(t *testing.T) {
	if *alone+*acting != "" {
		t.Skip("it shows nothing about a real control plane")
	}
	on := newStage(t, false)
	var all []*player
	for _, p := range readCorpus(t) {
		if !p.Controllers {
			p.define(t, on)
			all = append(all, p)
		}
	}
	for _, p := range all {
		t.Run("play/"+p.name, func(t *testing.T) { p.play(t, on) })
	}
	for _, p := range all {
		t.Run("ask/"+p.name, func(t *testing.T) {
			t.Parallel()
			if !p.played {
				t.Skip("it was not played")
			}
			whole, err := p.ask(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, resource := range []string{"secrets", "events", "replicasets", "pods", "nodes", "services", "persistentvolumes"} {
				config := rest.CopyConfig(on.config)
				config.Wrap(func(next http.RoundTripper) http.RoundTripper { return forbids{next, resource} })
				if problem := p.lessIsSaid(t.Context(), config, whole.diagnosis, resource); problem != "" {
					t.Errorf("without %s: %s", resource, problem)
				}
			}
		})
	}
}

// saysLess are types of causes that are true where another one says more.
var saysLess = []inspect.CauseType{inspect.ContainerExits, inspect.APIUnavailable, diagnosis.NoPodSelected}

// lessIsSaid asks by a config, and returns what is false in the answer by what one is told who may read all.
func (p *player) lessIsSaid(ctx context.Context, config *rest.Config, whole *diagnosis.Diagnosis, resource string) string {
	v, err := p.askAbout(ctx, config, p.Ask)
	switch {
	case err != nil && strings.HasPrefix(err.Error(), "no permission to get"): // the object itself
		return ""
	case err != nil:
		return err.Error()
	}
	d := v.diagnosis
	if d.Converged && !whole.Converged && !strings.HasSuffix(v.headline(), "as far as could be read") {
		return fmt.Sprintf("it has converged, but for one who may read all it is %s because of %s", whole.Status, named(whole))
	}
	if p.Ask == "deployment/web" && resource == "replicasets" && len(whole.Causes) > 0 && hasPod(whole.Causes[0]) &&
		(len(d.Causes) == 0 || d.Causes[0].Type != whole.Causes[0].Type) {
		return "its pods are not found by its selector"
	}
	for _, c := range d.Causes {
		isKnown := slices.ContainsFunc(whole.Causes, func(k *diagnosis.Cause) bool {
			isThere := func(link diagnosis.Link) bool { return link.Node.UID == c.Node().UID }
			return (k.Type == c.Type || slices.Contains(saysLess, c.Type)) && slices.ContainsFunc(k.Chain, isThere)
		})
		if c.Certainty == inspect.Certain && c.Weight == inspect.Specific && !isKnown {
			return fmt.Sprintf("it is certain that %s, but for one who may read all it is because of %s", v.sentence(c), named(whole))
		}
	}
	return ""
}

// hasPod reports whether a cause was found by a pod of the object asked for.
func hasPod(c *diagnosis.Cause) bool {
	return slices.ContainsFunc(c.Chain, func(link diagnosis.Link) bool { return link.Node.Kind.Kind == "Pod" && link.Relation == "" })
}

func named(d *diagnosis.Diagnosis) string {
	var out []string
	for _, c := range d.Causes {
		out = append(out, fmt.Sprintf("%s of %s", c.Type, c.Node()))
	}
	return strings.Join(out, ", ")
}

// forbids is an API server whose user may not read the objects of a resource.
type forbids struct {
	http.RoundTripper
	resource string
}

// RoundTrip implements http.RoundTripper.
func (f forbids) RoundTrip(r *http.Request) (*http.Response, error) {
	if !slices.Contains(strings.Split(r.URL.Path, "/"), f.resource) {
		return f.RoundTripper.RoundTrip(r)
	}
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: f.resource}, "", errors.New(`User "jane" cannot list resource "`+f.resource+`"`))
	refused.ErrStatus.Kind, refused.ErrStatus.APIVersion = "Status", "v1"
	text, err := json.Marshal(refused.ErrStatus)
	return &http.Response{
		StatusCode: http.StatusForbidden, Status: "403 Forbidden", Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(text)), Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, err
}
