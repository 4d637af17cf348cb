package compare

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/internal/untyped"
)

// decode returns an object that a client has sent, in any of the encodings of the API, with the defaults of its kind
// where that is one of Kubernetes'. Others must be JSON.
func decode(body []byte) (untyped.Map, error) {
	obj, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	switch {
	case err == nil:
		legacyscheme.Scheme.Default(obj)
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			return nil, fmt.Errorf("reading the fields of a %T: %w", obj, err)
		}
		return content, nil
	case runtime.IsNotRegisteredError(err) && strings.HasPrefix(strings.TrimSpace(string(body)), "{"):
		return parse(body)
	}
	return nil, fmt.Errorf("decoding an object: %w", err)
}
