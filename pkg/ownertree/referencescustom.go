package ownertree

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect/cluster"
)

// isCustom reports whether the kind is one of custom resources, of which nothing is known but what their fields are
// called.
func isCustom(kind *cluster.Kind) bool { return kind.Collected() && isCustomGroup(kind.Group) }

// isCustomGroup reports whether a group is none of Kubernetes' own.
func isCustomGroup(group string) bool {
	return !scheme.Scheme.IsGroupRegistered(group) &&
		group != "apiextensions.k8s.io" && group != "apiregistration.k8s.io"
}

// customObject is an object of any kind.
type customObject struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	fields map[string]any
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *customObject) UnmarshalJSON(data []byte) error {
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	return o.take(fields)
}

// take makes the object one with these fields.
func (o *customObject) take(fields map[string]any) error {
	o.fields = fields
	metadata, _ := fields["metadata"].(map[string]any)
	return runtime.DefaultUnstructuredConverter.FromUnstructured(metadata, &o.ObjectMeta)
}

// Unmarshal implements cluster.Typed.
func (*customObject) Unmarshal([]byte) error { return errNoProtobuf }

// DeepCopyObject implements runtime.Object.
func (o *customObject) DeepCopyObject() runtime.Object {
	return &customObject{o.TypeMeta, *o.DeepCopy(), runtime.DeepCopyJSON(o.fields)}
}

// customReferring is how objects of a custom kind refer to others: to their definition, and by fields of usual names.
func (s *relationSource) customReferring(kind *cluster.Kind) referring {
	defined := definedBy(kind.GroupResource().String())
	return referring{
		fresh: func() cluster.Typed { return &customObject{} },
		references: func(object cluster.Typed) []reference {
			o, ok := object.(*customObject)
			if !ok {
				return nil
			}
			r := &fieldReader{
				kinds: s.named, group: kind.Group, kind: kind.Kind, namespace: o.Namespace,
				out: []reference{defined},
			}
			for _, field := range slices.Sorted(maps.Keys(o.fields)) {
				if field != "metadata" && field != "status" {
					r.value(field, o.fields[field], 0)
				}
			}
			r.applied(o.fields)
			isMade := func(ref reference) bool { return ref.made }
			if r.makesSecret() && !slices.ContainsFunc(r.out, isMade) { // its own name is the default
				r.out = append(r.out, reference{
					relation: "makes", inverse: "made by", to: secretKind, namespace: o.Namespace, name: o.Name,
					optional: true, mayMake: true, made: true,
				})
			}
			return r.out
		},
	}
}

// definedBy is the reference of an object to the definition of its kind.
func definedBy(name string) reference {
	return reference{relation: "defined by", inverse: "defines", optional: true, name: name, to: definition}
}

// mostDefined is how many objects of a definition are shown.
const mostDefined = 500

// objectsOf are the objects of the kind that a definition defines, sorted, the first of them if they are many. They
// come from the graph, or if that has not read them from a list of metadata.
func (s *relationSource) objectsOf(ctx context.Context, of string) []*Node {
	all := s.graph.kinds.All()
	at := slices.IndexFunc(all, func(k cluster.Kind) bool { return k.GroupResource().String() == of })
	if at < 0 || !all[at].Can("list") {
		return nil
	}
	l := list{kind: s.graph.share(all[at])}
	if !s.graph.wasRead(objectKey{kind: l.kind}) || s.graph.scope.Namespaces != nil {
		if err := s.readNames(ctx, cluster.Target{Kind: *l.kind}); err != nil {
			return nil // ctx has ended
		}
	}
	out := slices.Concat(s.graph.nodes, s.users)
	out = slices.DeleteFunc(out, func(n *Node) bool { return n.Kind != l.kind })
	slices.SortFunc(out, (*Node).Compare)
	out = slices.CompactFunc(out, func(a, b *Node) bool { return a.Compare(b) == 0 })
	if len(out) > mostDefined {
		message := fmt.Sprintf("%d objects, of which the first %d are related to their definition",
			len(out), mostDefined)
		s.incomplete = append(s.incomplete, tooMany(l, message))
		out = out[:mostDefined]
	}
	return s.adopt(out)
}

const (
	// deepestField bounds how far down fields are looked at, mostReferences how many references of an object are kept.
	deepestField   = 30
	mostReferences = 200
)

// fieldReader finds references in the fields of an object: secretName, issuerRef with a kind and a name, and the like.
// Where it is certain what kind of object a field names, that may be missing; where it is guessed, by the field's
// name or by a kind without a group, the reference is optional, and so comes to nothing unless there is such an object.
// Where only the field's name gives the kind, as a Secret, the object may be what makes that.
type fieldReader struct {
	kinds                  *kindIndex
	group, kind, namespace string // of the object
	out                    []reference
}

// certainty is how certain it is that an object needs what a field names.
type certainty int

const (
	// guessed is for what may be no reference at all, or one to something optional.
	guessed certainty = iota
	// madeOrNeeded is for what may be made by the object that names it, as the Secret of a certificate is.
	madeOrNeeded
	needed
)

// value looks at the value of a field, or at an element of it.
func (r *fieldReader) value(field string, value any, depth int) {
	if depth > deepestField || len(r.out) >= mostReferences {
		return
	}
	switch v := value.(type) {
	case string:
		r.text(field, v)
	case []any:
		for _, element := range v {
			r.value(field, element, depth+1)
		}
	case map[string]any:
		if isManifest(v) {
			return // whatever it refers to, it does as an object elsewhere
		}
		if word, ok := refersBy(field); ok {
			r.ref(field, word, v)
		} else if (field == "target" || field == "destination") && r.makesSecret() {
			r.add(field, secretKind, "", "", textOf(v, "name"), madeOrNeeded)
		} else if field == "dependsOn" && textOf(v, "kind") == "" {
			own := schema.GroupKind{Group: r.group, Kind: r.kind}
			r.add(field, own, "", textOf(v, "namespace"), textOf(v, "name"), guessed)
		}
		for _, inner := range slices.Sorted(maps.Keys(v)) {
			r.value(inner, v[inner], depth+1)
		}
	}
}

// makesSecret reports whether the object is of a kind that Secrets are made of, as ExternalSecrets are.
func (r *fieldReader) makesSecret() bool {
	return r.namespace != "" && strings.HasSuffix(r.kind, "Secret") && r.kind != "PushSecret" && r.kind != "Secret"
}

// makes reports whether the object makes the Secret that a field names: the certificate, or the key of an account.
func (r *fieldReader) makes(field string) bool {
	switch field {
	case "target", "destination", "privateKeySecretRef", "writeConnectionSecretToRef":
		return true
	}
	return field == "secretName" && r.kind == "Certificate"
}

// isManifest reports whether fields are those of an object, as one that is made of a template.
func isManifest(fields map[string]any) bool {
	_, version := fields["apiVersion"].(string)
	_, kind := fields["kind"].(string)
	_, metadata := fields["metadata"].(map[string]any)
	return version && kind && metadata
}

// refersBy is what stands before Ref or From in the name of a field: "issuer" of issuerRef; false for other fields.
func refersBy(field string) (string, bool) {
	for _, ending := range []string{"Ref", "Refs", "Reference", "References", "From"} {
		if word, ok := strings.CutSuffix(field, ending); ok && word != "" {
			return word, true
		}
	}
	return "", false
}

// text looks at a field that may be a name alone.
func (r *fieldReader) text(field, name string) {
	word, isName := strings.CutSuffix(field, "Name")
	kind, certain := fieldKind(field)
	switch {
	case certain && isClass(kind):
		r.add(field, kind, "", "", name, needed)
	case certain:
		r.add(field, kind, "", "", name, madeOrNeeded)
	case isName && endsIn(word, "secret"):
		r.add(field, secretKind, "", "", name, madeOrNeeded)
	case isName && endsIn(word, "configMap"):
		r.add(field, configMapKind, "", "", name, madeOrNeeded)
	case endsIn(field, "secret"):
		r.add(field, secretKind, "", "", name, guessed)
	case endsIn(field, "configMap"):
		r.add(field, configMapKind, "", "", name, guessed)
	case isName:
		if kind := r.kinds.near(word, r.group); kind != nil {
			r.add(field, kind.GroupKind(), "", "", name, guessed)
		}
	}
}

// endsIn reports whether a field is called so, or something with that at its end: secret, tokenSecret.
func endsIn(field, word string) bool {
	return field == word || strings.HasSuffix(field, strings.ToUpper(word[:1])+word[1:])
}

var (
	secretKind    = schema.GroupKind{Kind: "Secret"}
	configMapKind = schema.GroupKind{Kind: "ConfigMap"}
)

// fieldKind is the kind of object that a field names for certain, as it does in pods, claims and Ingresses; false for
// other fields.
func fieldKind(field string) (schema.GroupKind, bool) {
	switch field {
	case "serviceAccountName":
		return serviceAccount, true
	case "claimName":
		return schema.GroupKind{Kind: "PersistentVolumeClaim"}, true
	case "storageClassName":
		return schema.GroupKind{Group: storageGroup, Kind: "StorageClass"}, true
	case "ingressClassName":
		return schema.GroupKind{Group: "networking.k8s.io", Kind: "IngressClass"}, true
	case "priorityClassName":
		return schema.GroupKind{Group: "scheduling.k8s.io", Kind: "PriorityClass"}, true
	case "runtimeClassName":
		return schema.GroupKind{Group: "node.k8s.io", Kind: "RuntimeClass"}, true
	}
	return schema.GroupKind{}, false
}

// isClass reports whether objects of the kind are made for others to choose from: what names one has not made it.
func isClass(kind schema.GroupKind) bool { return strings.HasSuffix(kind.Kind, "Class") }

// gatewayKind is the kind that a field of the Gateway API names by default; false if it has no default.
func gatewayKind(field string) (schema.GroupKind, bool) {
	switch field {
	case "parentRefs":
		return schema.GroupKind{Group: gatewayGroup, Kind: "Gateway"}, true
	case "backendRef", "backendRefs":
		return schema.GroupKind{Kind: "Service"}, true
	case "certificateRefs":
		return secretKind, true
	}
	return schema.GroupKind{}, false
}

// takesValues reports whether an object takes values from the one that the field names, as containers do: it does not
// make that.
func takesValues(field string) bool {
	switch field {
	case "secretRef", "secretKeyRef", "configMapRef", "configMapKeyRef":
		return true
	}
	return false
}

const gatewayGroup = "gateway.networking.k8s.io"

// ref looks at a field that holds the name of an object, and mostly its kind.
func (r *fieldReader) ref(field, word string, v map[string]any) {
	name, namespace := textOf(v, "name"), textOf(v, "namespace")
	kind := textOf(v, "kind")
	group, version, known := groupOf(v)
	must, may := needed, madeOrNeeded
	if optional, _ := v["optional"].(bool); optional {
		must, may = guessed, guessed
	} else if takesValues(field) {
		may = needed
	}
	usual, hasDefault := gatewayKind(field)
	switch {
	case kind != "" && known:
		r.add(field, schema.GroupKind{Group: group, Kind: kind}, version, namespace, name, must)
	case r.group == gatewayGroup && hasDefault && (kind == "" || kind == usual.Kind):
		r.add(field, usual, "", namespace, name, must)
	case kind != "":
		if likely := r.kinds.likely(kind, r.group); likely != nil {
			r.add(field, likely.GroupKind(), "", namespace, name, guessed)
		}
	case endsIn(strings.TrimSuffix(word, "Key"), "secret"):
		r.add(field, secretKind, "", namespace, name, may)
	case endsIn(strings.TrimSuffix(word, "Key"), "configMap"):
		r.add(field, configMapKind, "", namespace, name, may)
	default:
		if near := r.kinds.near(word, r.group); near != nil {
			r.add(field, near.GroupKind(), "", namespace, name, guessed)
		}
	}
}

// groupOf is the group, and the version if there is one, of a reference with a kind; false if it has none.
func groupOf(v map[string]any) (group, version string, known bool) {
	if apiVersion := textOf(v, "apiVersion"); apiVersion != "" {
		gv, err := schema.ParseGroupVersion(apiVersion)
		return gv.Group, gv.Version, err == nil
	}
	for _, field := range []string{"apiGroup", "group"} {
		if group, ok := v[field].(string); ok {
			return group, "", true
		}
	}
	return "", "", false
}

func textOf(v map[string]any, field string) string {
	text, _ := v[field].(string)
	return text
}

// add notes a reference, unless it is to no name, or to an object in a namespace that is not known.
func (r *fieldReader) add(field string, to schema.GroupKind, version, namespace, name string, is certainty) {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return
	}
	ref := reference{
		relation: "names in " + field, inverse: "named in " + field,
		to: to, version: version, namespace: namespace, name: name,
		optional: is == guessed, mayMake: is == madeOrNeeded, made: to == secretKind && r.makes(field),
	}
	if namespace == "" {
		ref.namespace = r.namespace
	}
	if r.kinds.clusterScoped(to) {
		ref.namespace = ""
	} else if ref.namespace == "" {
		return
	}
	if !slices.Contains(r.out, ref) {
		r.out = append(r.out, ref)
	}
}

// kindIndex finds kinds by what they are called.
type kindIndex struct {
	kinds map[string][]*cluster.Kind // by name in lower case
}

func newKindIndex(all []cluster.Kind) *kindIndex {
	out := &kindIndex{map[string][]*cluster.Kind{}}
	for i := range all {
		name := strings.ToLower(all[i].Kind)
		out.kinds[name] = append(out.kinds[name], &all[i])
	}
	return out
}

// near is the kind called so in the group, or else in one that the group is a part of, or in the core group; nil if
// there is none.
func (i *kindIndex) near(word, group string) *cluster.Kind {
	all := i.kinds[strings.ToLower(word)]
	for {
		if at := slices.IndexFunc(all, func(k *cluster.Kind) bool { return k.Group == group }); at >= 0 {
			return all[at]
		}
		if group == "" {
			return nil
		}
		if _, group, _ = strings.Cut(group, "."); !strings.Contains(group, ".") {
			group = ""
		}
	}
}

// likely is the nearest kind called so, or the only one; nil if there are several others.
func (i *kindIndex) likely(kind, group string) *cluster.Kind {
	if near := i.near(kind, group); near != nil {
		return near
	}
	if all := i.kinds[strings.ToLower(kind)]; len(all) == 1 {
		return all[0]
	}
	return nil
}

// clusterScoped reports whether objects of the kind are in no namespace.
func (i *kindIndex) clusterScoped(kind schema.GroupKind) bool {
	return slices.ContainsFunc(i.kinds[strings.ToLower(kind.Kind)], func(k *cluster.Kind) bool {
		return k.GroupKind() == kind && !k.Namespaced
	})
}
