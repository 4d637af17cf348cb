package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/rawjson"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// streams are the streams of a Source. The zero value has none.
type streams struct {
	numbers map[schema.GroupVersionKind]*replay.Stream
	all     []*replay.Stream
	// defined is what definitions of custom resources say, which may come before their objects.
	defined map[schema.GroupKind]definedKind
}

// definedKind is what a CustomResourceDefinition says of its kind.
type definedKind struct {
	plural, singular       string
	shortNames, categories []string
	namespaced             bool
}

// object is a text that was parsed as an object of a kind.
type object struct {
	gvk  schema.GroupVersionKind
	meta objectMeta
	// hasStatus reports whether it has a status that is not empty.
	hasStatus bool
	// text is compact JSON, which is not shared.
	text []byte
}

// key returns what identifies an object within a stream.
func (o *object) key(stream int) replay.Key {
	return replay.Key{Stream: stream, Namespace: o.meta.Namespace, Name: o.meta.Name}
}

// parseObject parses an object. kind is that of objects which have none, as those of lists may; empty for none.
func parseObject(text []byte, kind schema.GroupVersionKind) (*object, error) {
	e := &envelope{}
	s := rawjson.NewScanner(text)
	err := e.read(s, text, false)
	if err == nil {
		err = s.End()
	}
	if err != nil {
		return nil, fmt.Errorf("parsing an object: %w", err)
	}
	return e.object(text, kind, false)
}

// object returns the object that an envelope is of. Its text is copied, and made compact if it is not.
func (e *envelope) object(text []byte, kind schema.GroupVersionKind, compact bool) (*object, error) {
	if len(text) > maxDocument {
		return nil, fmt.Errorf("an object has more than %d MB", maxDocument>>20)
	}
	o := &object{gvk: kind, meta: e.Metadata, hasStatus: e.HasStatus}
	if compact {
		o.text = bytes.Clone(text)
	} else {
		var out bytes.Buffer
		if err := json.Compact(&out, text); err != nil {
			return nil, fmt.Errorf("parsing an object: %w", err)
		}
		o.text = out.Bytes()
	}
	if e.Kind != "" || e.APIVersion != "" {
		version, err := schema.ParseGroupVersion(e.APIVersion)
		if err != nil {
			return nil, fmt.Errorf("parsing an object: %w", err)
		}
		o.gvk = version.WithKind(e.Kind)
	}
	switch {
	case o.gvk.Kind == "" || o.gvk.Version == "":
		return nil, errors.New("an object has no apiVersion and kind")
	case o.gvk.Group == "meta.k8s.io":
		return nil, fmt.Errorf("a %s is no whole object", o.gvk.Kind)
	}
	return o, nil
}

// of returns the stream of an object, which is made if the object is its first. resource is the plural name of the
// kind, empty if it is not known.
func (s *streams) of(o *object, resource string) *replay.Stream {
	s.define(o)
	if stream := s.numbers[o.gvk]; stream != nil {
		return stream
	}
	stream := &replay.Stream{
		Number: len(s.all) + 1,
		Group:  o.gvk.Group, Version: o.gvk.Version, Kind: o.gvk.Kind,
		Resource: resource, Singular: strings.ToLower(o.gvk.Kind),
		Namespaced: isNamespaced(o.gvk.GroupKind(), o.meta.Namespace), HasStatus: o.hasStatus,
	}
	if d, ok := s.defined[o.gvk.GroupKind()]; ok {
		stream.Resource, stream.Singular, stream.Namespaced = d.plural, d.singular, d.namespaced
		stream.ShortNames, stream.Categories = d.shortNames, d.categories
	}
	if stream.Resource == "" {
		stream.Resource = cluster.GuessResource(o.gvk.Kind)
	}
	if s.numbers == nil {
		s.numbers = map[schema.GroupVersionKind]*replay.Stream{}
	}
	s.numbers[o.gvk] = stream
	s.all = append(s.all, stream)
	return stream
}

// define keeps what a CustomResourceDefinition says, and does nothing for other objects. One that is not valid is no
// error: it is an object like others.
func (s *streams) define(o *object) {
	if o.gvk.Kind != "CustomResourceDefinition" {
		return
	}
	var d struct {
		Spec struct {
			Group string `json:"group"`
			Scope string `json:"scope"`
			Names struct {
				Plural     string   `json:"plural"`
				Singular   string   `json:"singular"`
				Kind       string   `json:"kind"`
				ShortNames []string `json:"shortNames"`
				Categories []string `json:"categories"`
			} `json:"names"`
		} `json:"spec"`
	}
	if err := utiljson.Unmarshal(o.text, &d); err != nil || d.Spec.Names.Plural == "" {
		return
	}
	if s.defined == nil {
		s.defined = map[schema.GroupKind]definedKind{}
	}
	names := d.Spec.Names
	if names.Singular == "" {
		names.Singular = strings.ToLower(names.Kind)
	}
	s.defined[schema.GroupKind{Group: d.Spec.Group, Kind: names.Kind}] = definedKind{
		plural: names.Plural, singular: names.Singular, shortNames: names.ShortNames, categories: names.Categories,
		namespaced: d.Spec.Scope != "Cluster",
	}
}

// isNamespaced reports whether a kind is namespaced: for Kubernetes' own kinds it is known, else an object in a
// namespace says it.
func isNamespaced(kind schema.GroupKind, namespace string) bool {
	namespaced, known := cluster.IsNamespaced(kind)
	return namespaced || !known && namespace != ""
}
