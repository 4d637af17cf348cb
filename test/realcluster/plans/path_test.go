package plans

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSet(t *testing.T) {
	type object = map[string]any
	for _, c := range []struct {
		reason string
		in     object
		path   string
		to     any
		want   any
	}{
		{"a field", object{"a": object{"b": "1"}}, "a.b", "2", object{"a": object{"b": "2"}}},
		{"a field that is not there", object{}, "a.b", int64(2), object{"a": object{"b": int64(2)}}},
		{"the last field goes, and its map", object{"a": object{"b": "1"}, "c": "1"}, "a.b", nil, object{"c": "1"}},
		{
			"a key with dots", object{}, "metadata.annotations[a.b/c=d]", "1",
			object{"metadata": object{"annotations": object{"a.b/c=d": "1"}}},
		},
		{
			"an entry by its name", object{"c": []any{object{"name": "x", "image": "1"}}}, "c[name=x].image", "2",
			object{"c": []any{object{"name": "x", "image": "2"}}},
		},
		{
			"an entry by a number", object{"p": []any{object{"containerPort": int64(80)}}},
			"p[containerPort=80].protocol", "TCP",
			object{"p": []any{object{"containerPort": int64(80), "protocol": "TCP"}}},
		},
		{
			"an entry by the first of a list", object{"e": []any{object{"addresses": []any{"10.0.0.1"}}}},
			"e[addresses=10.0.0.1].ready", true,
			object{"e": []any{object{"addresses": []any{"10.0.0.1"}, "ready": true}}},
		},
		{
			"an entry that is not there", object{"c": []any{object{"name": "x"}}}, "c[name=y].image", "1",
			object{"c": []any{object{"name": "x"}, object{"name": "y", "image": "1"}}},
		},
		{
			"an entry goes with its name", object{"c": []any{object{"name": "x", "z": "1"}, object{"name": "y"}}},
			"c[name=x].name", nil,
			object{"c": []any{object{"name": "y"}}},
		},
		{
			"a field of an entry that is gone", object{"c": []any{object{"name": "y"}}}, "c[name=x].z", nil,
			object{"c": []any{object{"name": "y"}}},
		},
		{"an entry by its place", object{"c": []any{object{"a": "1"}}}, "c[0].a", "2", object{"c": []any{object{"a": "2"}}}},
		{"a list as a whole", object{"args": []any{"1"}}, "args", []any{"2", "3"}, object{"args": []any{"2", "3"}}},
		{"what is not there is removed", object{"a": "1"}, "b.c", nil, object{"a": "1"}},
	} {
		if diff := cmp.Diff(c.want, set(c.in, parsePath(c.path), c.to)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", c.reason, c.path, diff)
		}
	}
}
