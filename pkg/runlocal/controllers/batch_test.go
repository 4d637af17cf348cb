package controllers

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func jobOf(name string) *batchv1.Job {
	pods := template(name)
	pods.Spec.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.JobSpec{Template: pods}}
}

func (s *session) job(t *testing.T, job *batchv1.Job) *batchv1.Job {
	t.Helper()
	made, err := s.client.BatchV1().Jobs("default").Create(t.Context(), job, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestJobMakesPods(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.run(t, 0, "job")
	s.job(t, jobOf("once"))
	s.expectActivity(t, "job", activity{
		Causes: []string{
			"ADDED Job once seen by addJob > enqueueSyncJobImmediately > enqueueSyncJobInternal",
			"ADDED Pod once-* seen by addPod > enqueueSyncJobBatched > enqueueSyncJobInternal", // a second later
		},
		Writes: []string{"create pods by default/once", "update jobs/status by default/once"},
	})
}

// TestJobLetsGoOfAnOrphan needs the controller's second queue: the pod has no Job.
func TestJobLetsGoOfAnOrphan(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.run(t, 0, "job")
	orphan := s.pod(t, "orphan", "")
	orphan.Finalizers = []string{batchv1.JobTrackingFinalizer}
	if _, err := s.client.CoreV1().Pods("default").Update(t.Context(), orphan, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.expectActivity(t, "job", activity{
		Causes: []string{"MODIFIED Pod orphan seen by updatePod > enqueueOrphanPod"},
		Writes: []string{"patch pods by default/orphan"},
	})
}

func TestCronJobMakesTheJobThatIsDue(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	cron := &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: "often"},
		Spec: batchv1.CronJobSpec{Schedule: "* * * * *",
			JobTemplate: batchv1.JobTemplateSpec{Spec: jobOf("often").Spec}},
	}
	crons := s.client.BatchV1().CronJobs("default")
	cron, err := crons.Create(t.Context(), cron, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	long := metav1.NewTime(time.Now().Add(-3 * time.Minute)) // since when times have been missed
	cron.Status.LastScheduleTime = &long
	if _, err := crons.UpdateStatus(t.Context(), cron, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.run(t, 0, "cronjob")
	s.expectActivity(t, "cronjob", activity{
		Causes: []string{"ADDED CronJob often seen by enqueueController"},
		Writes: []string{"create jobs by default/often", "update cronjobs/status by default/often"},
	})
}

func TestTTLAfterFinishedDeletesAFinishedJob(t *testing.T) {
	t.Parallel()
	s := recordedSession(t)
	s.run(t, 0, "ttl-after-finished")
	job := jobOf("done")
	seconds := int32(0)
	job.Spec.TTLSecondsAfterFinished = &seconds
	job = s.job(t, job)
	now := metav1.Now()
	job.Status.StartTime, job.Status.CompletionTime = &now, &now
	for _, sort := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		job.Status.Conditions = append(job.Status.Conditions,
			batchv1.JobCondition{Type: sort, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	if _, err := s.client.BatchV1().Jobs("default").UpdateStatus(t.Context(), job, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.expectActivity(t, "ttl-after-finished", activity{
		Causes: []string{"MODIFIED Job done seen by updateJob > enqueue"},
		Writes: []string{"delete jobs by default/done"},
	})
}
