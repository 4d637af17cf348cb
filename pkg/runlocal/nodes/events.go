package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	eventsclient "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Events are written when the reconcilers are idle: four of them for each pod would otherwise make a thousand pods take
// twice as long. client-go's recorders (tools/record and tools/events) write at once, and drop what comes while a
// thousand are waiting.
const (
	// yieldPollInterval is how often a recorder checks whether the reconcilers are idle.
	yieldPollInterval = 10 * time.Millisecond
	// quietPeriod is how long nothing must have been recorded before writing begins: pods are created in bursts with
	// gaps.
	quietPeriod = 50 * time.Millisecond
	// maxYield is how long an event is held back at most.
	maxYield = 5 * time.Second
	// maxRememberedEvents is how many written events are remembered, so that their count is raised when they repeat.
	maxRememberedEvents = 4096
)

// eventRecord is an event to be written.
type eventRecord struct {
	regarding       corev1.ObjectReference // a pod or a container of one
	warning         bool
	reason, message string
	host            string // name of the node; empty for none
	at              time.Time
}

func (o *eventRecord) eventType() string {
	if o.warning {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}

// identity returns a text that is equal for repetitions of an event.
func (o *eventRecord) identity() string {
	return fmt.Sprintf("%s|%s|%s|%s", o.regarding.UID, o.regarding.FieldPath, o.reason, o.message)
}

// eventWriter writes events in one of the two APIs for them.
type eventWriter interface {
	// create writes an event of that name.
	create(ctx context.Context, name string, o *eventRecord) error
	// repetition returns the fields of an event that has occurred count times, the last time as o.
	repetition(o *eventRecord, count int32) map[string]any
	// patch patches the event of that name. The error is the API's NotFound if the event does not exist.
	patch(ctx context.Context, namespace, name string, data []byte) error
}

// recorder writes events asynchronously, on the goroutine that calls run. record may be called concurrently.
type recorder struct {
	writer eventWriter
	clock  clock.WithTicker
	busy   func() bool // reports whether reconciles wait

	mu      sync.Mutex // guards pending and latest
	pending []*eventRecord
	latest  time.Time     // of the last record
	wake    chan struct{} // has room for one

	serial  int                      // makes names unique; used only by run, as is written
	written map[string]*writtenEvent // by identity
}

// writtenEvent is an event that exists in the API.
type writtenEvent struct {
	name  string
	count int32
}

// newRecorder returns a recorder that writes nothing until run. busy must not block; it is called often.
func newRecorder(w eventWriter, clk clock.WithTicker, busy func() bool) *recorder {
	return &recorder{
		writer: w, clock: clk, busy: busy,
		wake: make(chan struct{}, 1), written: map[string]*writtenEvent{},
	}
}

// record queues an event to be written. It does nothing on a nil recorder.
func (r *recorder) record(o *eventRecord) {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.pending = append(r.pending, o)
	r.latest = r.clock.Now()
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// next returns the oldest event that was not written; nil if there is none.
func (r *recorder) next() *eventRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) == 0 {
		r.pending = nil
		return nil
	}
	o := r.pending[0]
	r.pending[0] = nil
	r.pending = r.pending[1:]
	return o
}

// pendingCount returns how many events were not taken by next.
func (r *recorder) pendingCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending)
}

// run writes events until ctx ends. After stop is closed it holds no event back, and returns when all are written.
func (r *recorder) run(ctx context.Context, stop <-chan struct{}) {
	for ctx.Err() == nil {
		if o := r.next(); o != nil {
			r.yield(ctx, o, stop)
			if err := r.write(ctx, o); err != nil && ctx.Err() == nil {
				klog.FromContext(ctx).V(2).Info("Event not recorded", "reason", o.reason, "pod",
					klog.KRef(o.regarding.Namespace, o.regarding.Name), "err", err.Error())
			}
			continue
		}
		select {
		case <-r.wake:
		case <-stop:
			if r.pendingCount() == 0 {
				return
			}
		case <-ctx.Done():
		}
	}
}

// isQuiet reports whether no reconcile waits and nothing was recorded for quietPeriod.
func (r *recorder) isQuiet() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.busy() && r.clock.Since(r.latest) >= quietPeriod
}

// yield waits until isQuiet, until the event is maxYield old, or until stop is closed or ctx ends.
func (r *recorder) yield(ctx context.Context, o *eventRecord, stop <-chan struct{}) {
	for !r.isQuiet() && r.clock.Since(o.at) < maxYield {
		select {
		case <-r.clock.After(yieldPollInterval):
		case <-stop:
			return
		case <-ctx.Done():
			return
		}
	}
}

// write raises the count of an event that was written before, or creates it: also if it was deleted meanwhile. It
// mirrors recordEvent of k8s.io/client-go/tools/record/event.go.
func (r *recorder) write(ctx context.Context, o *eventRecord) error {
	id := o.identity()
	if k := r.written[id]; k != nil {
		k.count++
		patch, err := json.Marshal(r.writer.repetition(o, k.count))
		if err == nil {
			err = r.writer.patch(ctx, o.regarding.Namespace, k.name, patch)
		}
		switch {
		case err == nil:
			return nil
		case !apierrors.IsNotFound(err):
			return fmt.Errorf("raising the count of event %s of pod %q: %w", o.reason, o.regarding.Name, err)
		}
		delete(r.written, id)
	}
	if len(r.written) >= maxRememberedEvents {
		clear(r.written)
	}
	r.serial++
	name := fmt.Sprintf("%s.%x", o.regarding.Name, o.at.UnixNano()+int64(r.serial))
	if err := r.writer.create(ctx, name, o); err != nil {
		return fmt.Errorf("creating event %s of pod %q: %w", o.reason, o.regarding.Name, err)
	}
	r.written[id] = &writtenEvent{name: name, count: 1}
	return nil
}

// regarding returns a reference to a part of the pod, or to all of it if fieldPath is empty.
func regarding(pod *corev1.Pod, fieldPath string) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		ResourceVersion: pod.ResourceVersion, FieldPath: fieldPath,
	}
}

// kubeletEvents writes core/v1 Events, as kubelets do.
type kubeletEvents struct{ client corev1client.EventsGetter }

var _ eventWriter = kubeletEvents{}

// create implements eventWriter.
func (k kubeletEvents) create(ctx context.Context, name string, o *eventRecord) error {
	e := &corev1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: o.regarding.Namespace, Name: name},
		InvolvedObject:      o.regarding,
		Reason:              o.reason,
		Message:             o.message,
		Type:                o.eventType(),
		Count:               1,
		FirstTimestamp:      *seconds(o.at),
		LastTimestamp:       *seconds(o.at),
		Source:              corev1.EventSource{Component: "kubelet", Host: o.host},
		ReportingController: "kubelet",
		ReportingInstance:   o.host,
	}
	_, err := k.client.Events(o.regarding.Namespace).Create(ctx, e, metav1.CreateOptions{})
	return err
}

// repetition implements eventWriter.
func (k kubeletEvents) repetition(o *eventRecord, count int32) map[string]any {
	return map[string]any{"count": count, "lastTimestamp": seconds(o.at)}
}

// patch implements eventWriter.
func (k kubeletEvents) patch(ctx context.Context, namespace, name string, data []byte) error {
	_, err := k.client.Events(namespace).Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{})
	return err
}

// schedulerEvents writes events.k8s.io/v1 Events, as kube-scheduler does.
type schedulerEvents struct{ client eventsclient.EventsGetter }

var _ eventWriter = schedulerEvents{}

// action returns the action of kube-scheduler's Events.
func action(reason string) string {
	if reason == "Scheduled" {
		return "Binding"
	}
	return "Scheduling"
}

// create implements eventWriter.
func (s schedulerEvents) create(ctx context.Context, name string, o *eventRecord) error {
	e := &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: o.regarding.Namespace, Name: name},
		EventTime:           metav1.NewMicroTime(o.at),
		ReportingController: corev1.DefaultSchedulerName,
		ReportingInstance:   corev1.DefaultSchedulerName + "-" + runtimeName,
		Action:              action(o.reason),
		Reason:              o.reason,
		Regarding:           o.regarding,
		Note:                o.message,
		Type:                o.eventType(),
	}
	_, err := s.client.Events(o.regarding.Namespace).Create(ctx, e, metav1.CreateOptions{})
	return err
}

// repetition implements eventWriter. It is a series, as kube-scheduler writes it.
func (s schedulerEvents) repetition(o *eventRecord, count int32) map[string]any {
	return map[string]any{"series": eventsv1.EventSeries{Count: count, LastObservedTime: metav1.NewMicroTime(o.at)}}
}

// patch implements eventWriter.
func (s schedulerEvents) patch(ctx context.Context, namespace, name string, data []byte) error {
	_, err := s.client.Events(namespace).Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{})
	return err
}
