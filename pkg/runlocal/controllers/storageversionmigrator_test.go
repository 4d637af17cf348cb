package controllers

import (
	"testing"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// migrate requests a migration of ConfigMaps.
func (s *session) migrate(t *testing.T) {
	t.Helper()
	migration := &storagemigrationv1.StorageVersionMigration{
		ObjectMeta: metav1.ObjectMeta{Name: "maps"},
		Spec:       storagemigrationv1.StorageVersionMigrationSpec{Resource: metav1.GroupResource{Resource: "configmaps"}},
	}
	if _, err := s.client.StoragemigrationV1().StorageVersionMigrations().Create(t.Context(), migration,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// migration returns the state of the migration.
func (s *session) migration(t *testing.T) storagemigrationv1.StorageVersionMigrationStatus {
	t.Helper()
	m, err := s.client.StoragemigrationV1().StorageVersionMigrations().Get(t.Context(), "maps", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m.Status
}

func TestMigratorWritesEveryObjectAgain(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.run(t, 0, "garbagecollector", "svm")
	s.configMap(t, "default", "one")
	s.settle(t)
	s.migrate(t)
	eventually(t, "the version up to which is migrated", func() bool { return s.migration(t).ResourceVersion != "" })
	s.configMap(t, "default", "later") // what the collector watches is past that version then
	eventually(t, "the migration to succeed", func() bool {
		return meta.IsStatusConditionTrue(s.migration(t).Conditions, string(storagemigrationv1.MigrationSucceeded))
	})
	s.expectActivity(t, "svm", activity{
		Causes: []string{"ADDED StorageVersionMigration maps seen by addSVM > enqueue"},
		Writes: []string{
			"patch configmaps by maps", "update storageversionmigrations/status by maps",
			"update storageversionmigrations/status by migrations of configmaps",
			"update storageversionmigrations/status by version of maps",
		},
	})
}

func TestMigratorAloneWaits(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.run(t, 0, "svm")
	s.migrate(t)
	eventually(t, "the version up to which is migrated", func() bool { return s.migration(t).ResourceVersion != "" })
	s.expectActivity(t, "svm", activity{
		Causes: []string{"ADDED StorageVersionMigration maps seen by addSVM > enqueue"},
		Writes: []string{
			"update storageversionmigrations/status by migrations of configmaps",
			"update storageversionmigrations/status by version of maps",
		},
	})
}
