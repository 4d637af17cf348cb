package tap

import (
	"context"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/runlocal/trace"
)

// hookErrorHandlers makes handled the last of utilruntime.ErrorHandlers, once in a process. The list is the process's
// and upstream has no other way to learn of errors that controllers report without their logger.
var hookErrorHandlers = sync.OnceFunc(func() {
	utilruntime.ErrorHandlers = append(utilruntime.ErrorHandlers, handled)
})

// handled records an error that was passed to utilruntime.HandleError, HandleErrorWithContext or HandleErrorWithLogger
// in a goroutine that works for an observed controller. The first of the handlers logs it: to the tap, if the context
// holds a logger of the tap, which has then recorded it.
func handled(ctx context.Context, err error, message string, keysAndValues ...any) {
	if _, seen := klog.FromContext(ctx).GetSink().(*sink); seen {
		return
	}
	s := current()
	if s.controller == nil || s.inCall || !s.controller.tap.on() {
		return
	}
	text := s.controller.errorText(err)
	r := s.working()
	if r != nil {
		r.reported(orElse(text, message), s.controller.tap.stacks.reporter())
	}
	s.controller.emit(r, &trace.Log{Message: message, Error: text, Values: values(s.controller.traits.Value, keysAndValues)})
}
