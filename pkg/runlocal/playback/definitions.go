package playback

import (
	"encoding/json"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/api"
)

// definitions returns CustomResourceDefinitions for the custom resources of a recording without definitions, such as
// what kubectl has printed of them. They allow any content.
func definitions(streams []replay.Stream) []api.StoredObject {
	var out []api.StoredObject
	done := map[string]bool{}
	for i := range streams {
		stream := &streams[i]
		name := stream.Resource + "." + stream.Group
		if api.BuiltIn(stream.Group) || done[name] {
			continue
		}
		done[name] = true
		data, err := json.Marshal(definition(stream, name))
		if err != nil {
			continue // it has no values that cannot be encoded
		}
		kind := apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")
		out = append(out, api.StoredObject{Kind: kind, Resource: "customresourcedefinitions", JSON: data})
	}
	return out
}

func definition(stream *replay.Stream, name string) *apiextensionsv1.CustomResourceDefinition {
	anything := true
	version := apiextensionsv1.CustomResourceDefinitionVersion{
		Name: stream.Version, Served: true, Storage: true,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object", XPreserveUnknownFields: &anything,
		}},
	}
	if stream.HasStatus {
		version.Subresources = &apiextensionsv1.CustomResourceSubresources{
			Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
		}
	}
	names := apiextensionsv1.CustomResourceDefinitionNames{
		Plural: stream.Resource, Singular: stream.Singular, Kind: stream.Kind, ListKind: stream.Kind + "List",
		ShortNames: stream.ShortNames, Categories: stream.Categories,
	}
	if names.Singular == "" {
		names.Singular = strings.ToLower(stream.Kind)
	}
	scope := apiextensionsv1.ClusterScoped
	if stream.Namespaced {
		scope = apiextensionsv1.NamespaceScoped
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(fmt.Sprintf("recorded-%d", stream.Number)),
			Annotations: map[string]string{
				apiextensionsv1.KubeAPIApprovedAnnotation: "unapproved, made for a recording",
			},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: stream.Group, Names: names, Scope: scope,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{
			AcceptedNames: names, StoredVersions: []string{stream.Version},
			Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
				{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue, Reason: "NoConflicts",
					Message: "no conflicts found"},
				{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue,
					Reason: "InitialNamesAccepted", Message: "the initial names have been accepted"},
			},
		},
	}
}
