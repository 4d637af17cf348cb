package apidiff

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Every generates the steps that send every verb to one resource: an object is made, read, listed, changed by each kind
// of patch, watched, deleted, and deleted as a collection.
type Every struct {
	// Path is the path of the collection.
	Path string `json:"path"`
	// Body is an object with apiVersion, kind and metadata.name. It gets the label corpus with the file's name.
	Body json.RawMessage `json:"body"`
	// Change is what the merge patch and the apply set; a label if it is not given.
	Change json.RawMessage `json:"change,omitempty"`
	// Status is what is set by way of the subresource status; none sends nothing there.
	Status json.RawMessage `json:"status,omitempty"`
	// Scale is set by way of the subresource scale; nil sends nothing there.
	Scale *int `json:"scale,omitempty"`
	// Codes are what verbs are answered with where it is not as usual.
	Codes map[string]int `json:"codes,omitempty"`
}

// verb is a step of Every before it gets its path and name.
type verb struct {
	name, method, query, kind string
	sub                       string // what follows the collection's path, the object's name included
	body                      any
	code                      int
	events                    int
	save                      map[string]string
}

// steps returns the steps that e generates, called "NAME verb".
func (e *Every) steps(name string) ([]Step, error) {
	object := map[string]any{}
	if err := unmarshal(e.Body, &object); err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	metadata, _ := object["metadata"].(map[string]any)
	id, _ := metadata["name"].(string)
	if id == "" || object["apiVersion"] == nil || object["kind"] == nil {
		return nil, errors.New("the object needs apiVersion, kind and metadata.name")
	}
	labels, _ := metadata["labels"].(map[string]any)
	if labels == nil {
		labels = map[string]any{}
	}
	labels["corpus"], metadata["labels"] = "{{ns}}", labels
	change, err := e.change()
	if err != nil {
		return nil, err
	}
	verbs := e.verbs(object, id, "every"+strings.Map(onlyAlphanumeric, name), change)
	codes := maps.Clone(e.Codes)
	var steps []Step
	for _, v := range verbs {
		if code, ok := codes[v.name]; ok {
			v.code = code
			delete(codes, v.name)
		}
		step, err := e.step(name, v)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	if len(codes) > 0 {
		return nil, fmt.Errorf("codes: there are no verbs %q", slices.Sorted(maps.Keys(codes)))
	}
	return steps, nil
}

// change returns Change, or its default.
func (e *Every) change() (map[string]any, error) {
	change := map[string]any{"metadata": map[string]any{"labels": map[string]any{"changed": "yes"}}}
	if e.Change == nil {
		return change, nil
	}
	clear(change)
	if err := unmarshal(e.Change, &change); err != nil {
		return nil, fmt.Errorf("reading the change: %w", err)
	}
	return change, nil
}

func (e *Every) step(name string, v verb) (Step, error) {
	step := Step{
		Name: name + " " + v.name, Method: v.method, Path: e.Path + v.sub + v.query,
		Type: v.kind, Code: v.code, Events: v.events, Save: v.save,
	}
	if v.body == nil {
		return step, nil
	}
	body, err := json.Marshal(v.body)
	step.Body = body
	return step, err
}

const (
	mergePatch     = "application/merge-patch+json"
	jsonPatch      = "application/json-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
	applyPatch     = "application/apply-patch+yaml"
	selected       = "?labelSelector=corpus={{ns}}"
)

// verbs are the requests in order; placeholder is a name for what is saved.
func (e *Every) verbs(object map[string]any, id, placeholder string, change map[string]any) []verb {
	one := "/" + id
	saved := "{{" + placeholder + "}}"
	annotate := func(key string) map[string]any {
		return map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: "patch"}}}
	}
	apply := maps.Clone(change)
	apply["apiVersion"], apply["kind"] = object["apiVersion"], object["kind"]
	metadata, _ := change["metadata"].(map[string]any)
	applied := map[string]any{"name": id}
	maps.Copy(applied, metadata)
	apply["metadata"] = applied

	verbs := []verb{
		{name: "dry run", method: "POST", query: "?dryRun=All&fieldManager=creator", body: object},
		{name: "create", method: "POST", query: "?fieldManager=creator", body: object,
			save: map[string]string{placeholder: ".", placeholder + "Version": ".metadata.resourceVersion"}},
		{name: "create again", method: "POST", body: object, code: 409},
		{name: "get", method: "GET", sub: one},
		{name: "list", method: "GET", query: selected},
		{name: "update nothing", method: "PUT", sub: one, query: "?fieldManager=creator", body: saved},
		{name: "merge patch", method: "PATCH", sub: one, query: "?fieldManager=merger", kind: mergePatch, body: change},
		{name: "json patch", method: "PATCH", sub: one, query: "?fieldManager=patcher", kind: jsonPatch,
			body: []any{map[string]any{
				"op": "add", "path": "/metadata/annotations", "value": map[string]any{"json": "patch"},
			}}},
		{name: "strategic patch", method: "PATCH", sub: one, query: "?fieldManager=strategist", kind: strategicPatch,
			body: annotate("strategic")},
		{name: "apply", method: "PATCH", sub: one, query: "?fieldManager=applier&force=true", kind: applyPatch,
			body: apply},
		{name: "update late", method: "PUT", sub: one, body: saved, code: 409},
	}
	verbs = append(verbs, e.subresources(object, id, placeholder)...)
	return append(verbs,
		verb{name: "watch", method: methodWatch, events: 3,
			query: selected + "&watch=1&resourceVersion={{" + placeholder + "Version}}"},
		verb{name: "delete another", method: "DELETE", sub: one, code: 409,
			body: map[string]any{"preconditions": map[string]any{"uid": "00000000-0000-4000-8000-000000000000"}}},
		verb{name: "delete", method: "DELETE", sub: one},
		verb{name: "get deleted", method: "GET", sub: one, code: 404},
		verb{name: "create second", method: "POST", query: "?fieldManager=creator", body: object},
		verb{name: "delete collection", method: "DELETE", query: selected},
		verb{name: "list deleted", method: "GET", query: selected},
	)
}

// subresources are the requests to status and scale.
func (e *Every) subresources(object map[string]any, id, placeholder string) []verb {
	var verbs []verb
	if e.Status != nil {
		sub := "/" + id + "/status"
		verbs = append(verbs,
			verb{name: "patch status", method: "PATCH", sub: sub, query: "?fieldManager=controller", kind: mergePatch,
				body: map[string]any{"status": e.Status}},
			verb{name: "get status", method: "GET", sub: sub, save: map[string]string{
				placeholder + "Metadata": ".metadata", placeholder + "Spec": ".spec",
			}},
			verb{name: "update status", method: "PUT", sub: sub, query: "?fieldManager=keeper", body: map[string]any{
				"apiVersion": object["apiVersion"], "kind": object["kind"], "status": map[string]any{},
				"metadata": "{{" + placeholder + "Metadata}}", "spec": "{{" + placeholder + "Spec}}",
			}},
			verb{name: "patch status by way of the object", method: "PATCH", sub: "/" + id, kind: mergePatch,
				body: map[string]any{"status": nil}},
		)
	}
	if e.Scale != nil {
		sub := "/" + id + "/scale"
		replicas := map[string]any{"spec": map[string]any{"replicas": *e.Scale}}
		verbs = append(verbs,
			verb{name: "get scale", method: "GET", sub: sub},
			verb{name: "patch scale", method: "PATCH", sub: sub, query: "?fieldManager=scaler", kind: mergePatch,
				body: replicas},
			verb{name: "get scaled", method: "GET", sub: "/" + id},
		)
	}
	return verbs
}

// onlyAlphanumeric drops what a placeholder's name may not have.
func onlyAlphanumeric(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return -1
}
