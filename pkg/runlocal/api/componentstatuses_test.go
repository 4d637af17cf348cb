package api

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestComponentStatuses(t *testing.T) {
	var broken atomic.Bool
	f := start(t, Options{Components: map[string]func() error{
		ComponentControllerManager: func() error {
			if broken.Load() {
				return errors.New("broken")
			}
			return nil
		},
	}})
	statuses := func() map[string]string {
		t.Helper()
		list, err := f.CoreV1().ComponentStatuses().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, item := range list.Items {
			for _, c := range item.Conditions {
				got[item.Name] += string(c.Type) + "=" + string(c.Status) + " " + c.Message + c.Error
			}
		}
		return got
	}
	want := map[string]string{"controller-manager": "Healthy=True ok", "etcd-0": "Healthy=True ok", "scheduler": "Healthy=False it is not running"}
	if diff := cmp.Diff(want, statuses()); diff != "" {
		t.Errorf("components (-want +got):\n%s", diff)
	}
	broken.Store(true)
	want["controller-manager"] = "Healthy=False broken"
	if diff := cmp.Diff(want, statuses()); diff != "" {
		t.Errorf("when one is broken (-want +got):\n%s", diff)
	}
	one, err := f.CoreV1().ComponentStatuses().Get(t.Context(), "etcd-0", metav1.GetOptions{})
	if err != nil || len(one.Conditions) != 1 || one.Conditions[0].Status != corev1.ConditionTrue {
		t.Errorf("one of them: %+v, %v", one, err)
	}
}
