package tap

import (
	"errors"
	"strings"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

func TestHabits(t *testing.T) {
	tap, sink := recording()
	c := tap.Controller("collector")
	c.SetTraits(ControllerTraits{
		ErrorLevel: 5, Waits: true,
		Value: func(v any) string { s, _ := v.(string); return strings.ToUpper(s) },
		Error: func(text string) string { return strings.TrimPrefix(text, "long ") },
	})
	q := WrapQueue(c, "", plainQueue(), text)
	defer q.ShutDown()
	logger := klog.FromContext(c.Context(t.Context()))
	for _, test := range []struct {
		reason  string
		work    func(string)
		outcome trace.Outcome
		err     string
		next    trace.CauseType
	}{
		{"it looks again later", q.AddRateLimited, trace.Done, "", trace.CauseTimer},
		{"it tells why at a high level", func(k string) {
			logger.V(5).Info("no", "err", errors.New("long reason"))
			q.AddRateLimited(k)
		}, trace.Failed, "reason", trace.CauseRetry},
		{"it tells why past its logger", func(k string) {
			utilruntime.HandleError(errors.New("long other reason"))
			q.AddRateLimited(k)
		}, trace.Failed, "other reason", trace.CauseRetry},
	} {
		q.Add(test.reason)
		_, end := reconcileOnce(q, sink, test.work)
		if end.Outcome != test.outcome || end.Error != test.err || end.Next == nil {
			t.Errorf("%s: the end is %+v", test.reason, end)
		}
		if retried := test.next == trace.CauseRetry; (end.Next.Retry > 0) != retried {
			t.Errorf("%s: it comes back with %+v", test.reason, end.Next)
		}
		start, _ := reconcileOnce(q, sink, nothing)
		if len(start.Causes) != 1 || start.Causes[0].Type != test.next || start.IsRetry() != (test.next == trace.CauseRetry) {
			t.Errorf("%s: the next has the causes %v", test.reason, outline(start.Causes))
		}
		q.Forget(test.reason)
	}
	logger.Info("said", "word", "loud", "number", 7)
	for _, l := range details[*trace.Log](sink) {
		if l.Level == 5 {
			t.Errorf("level 5 is read, and not recorded: %+v", l)
		}
		if l.Message == "said" && (l.Values[0].Value != "LOUD" || l.Values[1].Value != "7") {
			t.Errorf("the values are %v", l.Values)
		}
	}
}

func TestAnsweredDeletionTakesNoOtherWriterOver(t *testing.T) {
	tap, _ := recording()
	kubelet := &reconcile{id: 1, c: tap.Controller("kubelet")}
	collector := &reconcile{id: 2, c: tap.Controller("collector")}
	tap.writers.put(7, kubelet)
	tap.writers.offer(7, collector)
	tap.writers.offer(8, collector)
	if tap.writers.of(7).id != 1 || tap.writers.of(8).id != 2 {
		t.Errorf("the writers are %+v and %+v", tap.writers.of(7), tap.writers.of(8))
	}
}
