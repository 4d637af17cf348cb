package website

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

var (
	_ runtime.Object = (*Website)(nil)
	_ runtime.Object = (*WebsiteList)(nil)
)

// DeepCopy returns a copy that shares nothing with w.
func (w *Website) DeepCopy() *Website {
	out := *w
	out.ObjectMeta = *w.ObjectMeta.DeepCopy()
	if w.Spec.Replicas != nil {
		out.Spec.Replicas = new(*w.Spec.Replicas)
	}
	out.Status.Conditions = slices.Clone(w.Status.Conditions) // conditions hold no pointers
	return &out
}

// DeepCopyObject implements runtime.Object.
func (w *Website) DeepCopyObject() runtime.Object { return w.DeepCopy() }

// DeepCopy returns a copy that shares nothing with l.
func (l *WebsiteList) DeepCopy() *WebsiteList {
	out := &WebsiteList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopy())
	}
	return out
}

// DeepCopyObject implements runtime.Object.
func (l *WebsiteList) DeepCopyObject() runtime.Object { return l.DeepCopy() }
