package api

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

// recorder is an admission plugin that refuses with err and counts.
type recorder struct {
	*admission.Handler
	err      error
	admitted int
}

func (r *recorder) Admit(context.Context, admission.Attributes, admission.ObjectInterfaces) error {
	r.admitted++
	return r.err
}

func TestAdmissionGate(t *testing.T) {
	gate := &admissionGate{}
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	attributes := admission.NewAttributesRecord(pod("p"), nil, kind, "default", "p", schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "",
		admission.Create, nil, false, nil)
	if !gate.Handles(admission.Create) {
		t.Error("a closed gate lets operations pass unasked")
	}
	for name, ask := range map[string]func() error{
		"Admit":    func() error { return gate.Admit(t.Context(), attributes, nil) },
		"Validate": func() error { return gate.Validate(t.Context(), attributes, nil) },
	} {
		if err := ask(); err == nil || !strings.Contains(err.Error(), errNoAdmission.Error()) {
			t.Errorf("%s at a closed gate: %v", name, err)
		}
	}
	refusal := errors.New("no")
	plugin := &recorder{Handler: admission.NewHandler(admission.Create), err: refusal}
	gate.open(plugin)
	if gate.Handles(admission.Delete) {
		t.Error("the open gate handles what its plugins do not")
	}
	if err := gate.Admit(t.Context(), attributes, nil); !errors.Is(err, refusal) || plugin.admitted != 1 {
		t.Errorf("Admit: %v after %d calls", err, plugin.admitted)
	}
	if err := gate.Validate(t.Context(), attributes, nil); err != nil {
		t.Errorf("Validate with plugins that only mutate: %v", err)
	}
}
