package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// normaliser replaces values that differ between any two runs by names.
type normaliser struct {
	names *strings.Replacer
	nodes *regexp.Regexp // nil without nodes
	roles Names          // the controllers of field managers
}

// Texts that are generated each time: addresses, digests of uids, and the volume that the ServiceAccount admission
// plugin adds to pods.
var (
	ipAddress    = regexp.MustCompile(`\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b`)
	digest       = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	accessVolume = regexp.MustCompile(`\bkube-api-access-[a-z0-9]{5}\b`)
	anyUID       = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
)

// newNormaliser learns the generated names and the uids of all objects of the outcome, those that are gone included.
func newNormaliser(o *Outcome) *normaliser {
	known := slices.Clone(o.Gone)
	for _, object := range o.Objects {
		known = append(known, object.Unstructured)
	}
	pairs := map[string]string{}
	for _, object := range known {
		name := object.GetName()
		if prefix := object.GetGenerateName(); prefix != "" && strings.HasPrefix(name, prefix) {
			pairs[name] = prefix + "*"
			name = prefix + "*"
		}
		pairs[string(object.GetUID())] = fmt.Sprintf("(uid of %s/%s)", object.GetKind(), name)
	}
	var list []string
	// Longer texts first: one name may begin with another.
	keys := slices.SortedFunc(maps.Keys(pairs), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	for _, key := range keys {
		list = append(list, key, pairs[key])
	}
	n := &normaliser{names: strings.NewReplacer(list...), roles: o.Names}
	if len(o.Nodes) > 0 {
		var quoted []string
		for _, node := range o.Nodes {
			quoted = append(quoted, regexp.QuoteMeta(node))
		}
		n.nodes = regexp.MustCompile(`\b(` + strings.Join(quoted, "|") + `)\b`)
	}
	return n
}

func (n *normaliser) text(s string) string {
	if _, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return "(time)"
	}
	if credential := n.credential(s); credential != "" {
		return credential
	}
	s = n.names.Replace(s)
	s = anyUID.ReplaceAllString(s, "(uid)")
	s = ipAddress.ReplaceAllString(s, "(ip)")
	s = digest.ReplaceAllString(s, "(digest)")
	s = accessVolume.ReplaceAllString(s, "kube-api-access-*")
	if n.nodes != nil {
		s = n.nodes.ReplaceAllString(s, "(node)")
	}
	return s
}

// tree normalises a value of JSON; keys too, as managedFields has names in them.
func (n *normaliser) tree(v any) any {
	switch v := v.(type) {
	case string:
		return n.text(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = n.tree(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[n.text(key)] = n.tree(value)
		}
		if _, ok := v["resourceVersion"].(string); ok { // of the object itself, and of one that it refers to
			out["resourceVersion"] = "(version)"
		}
		return out
	}
	return v
}

// object normalises an object as a whole.
func (n *normaliser) object(o Object) map[string]any {
	out, ok := n.tree(o.Object).(map[string]any)
	if !ok {
		return nil
	}
	metadata, ok := out["metadata"].(map[string]any)
	if !ok {
		return out
	}
	if managers, ok := metadata["managedFields"].([]any); ok {
		metadata["managedFields"] = n.byManager(managers)
	}
	return out
}

// byManager tells managers apart by what they are, where the API sorts them by time.
func (n *normaliser) byManager(managers []any) map[string]any {
	out := map[string]any{}
	for _, m := range managers {
		entry, ok := m.(map[string]any)
		if !ok {
			continue
		}
		subresource, ok := entry["subresource"].(string)
		if !ok {
			subresource = "-"
		}
		manager := fmt.Sprint(entry["manager"])
		if role, ok := n.roles[manager]; ok {
			manager = role
		}
		key := fmt.Sprintf("%s %v %v %v", manager, entry["operation"], subresource, entry["apiVersion"])
		out[key] = entry["fieldsV1"]
	}
	return out
}
