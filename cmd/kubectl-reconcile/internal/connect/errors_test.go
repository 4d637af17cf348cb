package connect

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

func TestDescribeIncomplete(t *testing.T) {
	forbidden := func(group, resource string) cluster.Incomplete {
		return cluster.Incomplete{Group: group, Version: "v1", Resource: resource, Reason: cluster.ReasonForbidden, Message: resource + " is forbidden"}
	}
	many := make([]cluster.Incomplete, 10)
	for i := range many {
		many[i] = forbidden("", string(rune('a'+i)))
	}
	for _, tt := range []struct {
		name   string
		in     []cluster.Incomplete
		want   []string
		reason string
	}{
		{"none", nil, nil, "nothing to say"},
		{"forbidden", []cluster.Incomplete{forbidden("", "secrets"), forbidden("rbac.authorization.k8s.io", "roles")},
			[]string{"incomplete: no permission to list secrets, roles.rbac.authorization.k8s.io"}, "one line for what is forbidden; the server's sentences say no more"},
		{"a watch", []cluster.Incomplete{{Version: "v1", Resource: "pods", Reason: cluster.ReasonForbidden, Message: `pods is forbidden: User "a" cannot watch resource "pods" in API group ""`}},
			[]string{"incomplete: no permission to watch pods"}, "listing was permitted"},
		{"twice", []cluster.Incomplete{forbidden("", "secrets"), forbidden("", "secrets")}, []string{"incomplete: no permission to list secrets"}, "in two namespaces"},
		{"many", many, []string{"incomplete: no permission to list a, b, c, d, e, f, g, h and 2 more"}, "a line is not a page"},
		{"a group", []cluster.Incomplete{{Group: "metrics.k8s.io", Version: "v1beta1", Reason: cluster.ReasonDiscovery, Message: "stale"}},
			[]string{"incomplete: could not discover the kinds of metrics.k8s.io/v1beta1: stale"}, "an aggregated API that is down"},
		{"a broken definition", []cluster.Incomplete{{Version: "v1", Resource: "widgets", Reason: "InternalError",
			Message: "conversion webhook for example.com/v1, Kind=Widget failed: " + strings.Repeat("Post https://hook.example.com:443/convert?timeout=30s ", 9) + ": no endpoints available"}},
			[]string{"incomplete: could not list widgets: conversion webhook for example.com/v1, Kind=Widget failed: Post https://hook.example.com:443/convert?timeout=30s Post https://hook.exampl…no endpoints available"}, "a long message keeps its cause"},
		{"causes", []cluster.Incomplete{{Version: "v1", Resource: "pods", Reason: cluster.ReasonTimeout, Message: "slow"}, {Version: "v1", Resource: "nodes", Reason: "Teapot", Message: "short"}, forbidden("", "secrets")},
			[]string{"incomplete: could not list nodes: short", "incomplete: no answer for pods: slow", "incomplete: no permission to list secrets"}, "sorted"},
	} {
		if diff := cmp.Diff(tt.want, DescribeIncomplete(tt.in)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", tt.name, tt.reason, diff)
		}
	}
}

func TestForbiddenError(t *testing.T) {
	kind := cluster.Kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Resource: "pods", Namespaced: true}
	for _, tt := range []struct {
		target Target
		all    bool
		c      Connection
		want   string
		hint   string
	}{
		{NewTarget(kind, "shop", ""), false, Connection{Namespace: "shop"},
			`no permission to list pods in namespace "shop"`, "`kubectl auth can-i --list` shows what is permitted"},
		{NewTarget(kind, "", ""), true, Connection{},
			`no permission to list pods in all namespaces`, "`kubectl auth can-i --list` shows what is permitted; a single namespace, by -n, may be"},
		{NewTarget(kind, "shop", "x"), false, Connection{Namespace: "shop", namespaceGiven: true},
			`no permission to get pods in namespace "shop"`, "`kubectl auth can-i --list -n shop` shows what is permitted"},
	} {
		tt.c.Config = &rest.Config{}
		err := tt.c.ForbiddenError([]Target{tt.target}, tt.all)
		if got := err.Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
		if hint := (*cli.HintError)(nil); !errors.As(err, &hint) || hint.Hint != tt.hint {
			t.Errorf("the hint of %v is not %q", err, tt.hint)
		}
	}
}

func TestIncompleteNews(t *testing.T) {
	a, b := []string{"incomplete: a"}, []string{"incomplete: b"}
	for _, tt := range []struct {
		before, now, want []string
		reason            string
	}{
		{a, a, nil, "nothing new"},
		{nil, a, a, "something fails"},
		{a, b, b, "something else fails"},
		{a, nil, []string{"complete: all can be read again"}, "nothing fails any more"},
	} {
		if diff := cmp.Diff(tt.want, IncompleteChanges(tt.before, tt.now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

func TestPermittedAsTheSameUser(t *testing.T) {
	c := Connection{Config: &rest.Config{Impersonate: rest.ImpersonationConfig{UserName: "jane", Groups: []string{"dev", "two words"}}}}
	want := "`kubectl auth can-i --list --as jane --as-group dev --as-group 'two words'` shows what is permitted"
	if got := c.PermissionHint(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestFirstError: a line is not a page, however many errors there are, and however long they are.
func TestFirstError(t *testing.T) {
	long := errors.New("reading pods: " + strings.Repeat("x ", 1000) + ": connection refused")
	for _, tt := range []struct {
		in          error
		begins, end string
	}{
		{errors.New("no"), "no", "no"},
		{errors.Join(errors.New("a"), errors.New("b")), "a", "a (and 1 more)"},
		{errors.Join(long, errors.New("a"), errors.New("b")), "reading pods: ", "connection refused (and 2 more)"},
	} {
		got := FirstError(tt.in)
		if !strings.HasPrefix(got, tt.begins) || !strings.HasSuffix(got, tt.end) || utf8.RuneCountInString(got) > maxFirst+len(tt.end) {
			t.Errorf("FirstError is %q, want %q … %q", got, tt.begins, tt.end)
		}
	}
}
