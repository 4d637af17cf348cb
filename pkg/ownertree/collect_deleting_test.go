package ownertree

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDeletionRequested: deletionTimestamp is when a pod may be killed, mostly half a minute later.
func TestDeletionRequested(t *testing.T) {
	ends := metav1.NewTime(time.Date(2026, 1, 1, 10, 0, 30, 0, time.UTC))
	for _, row := range []struct {
		reason string
		object metav1.ObjectMeta
		want   string
	}{
		{"not deleted", metav1.ObjectMeta{}, ""},
		{"at once", metav1.ObjectMeta{DeletionTimestamp: &ends, DeletionGracePeriodSeconds: new(int64(0))}, "10:00:30"},
		{"within its grace period", metav1.ObjectMeta{DeletionTimestamp: &ends, DeletionGracePeriodSeconds: new(int64(30))}, "10:00:00"},
		{"the period is not known", metav1.ObjectMeta{DeletionTimestamp: &ends}, "10:00:30"},
		{"a period that is none", metav1.ObjectMeta{DeletionTimestamp: &ends, DeletionGracePeriodSeconds: new(int64(-5))}, "10:00:30"},
	} {
		got := ""
		if at := deletionRequested(&metav1.PartialObjectMetadata{ObjectMeta: row.object}); at != nil {
			got = at.Format(time.TimeOnly)
		}
		if got != row.want {
			t.Errorf("%s: %q, want %q", row.reason, got, row.want)
		}
	}
}
