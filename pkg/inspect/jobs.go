package inspect

import (
	"cmp"
	"fmt"
)

// job corrects kstatus, which takes one that runs for done.
func (o subject) job() Status {
	completed := fmt.Sprintf("%d of %d completed", o.count(0, "status", "succeeded"), o.count(1, "spec", "completions"))
	active, failed := o.count(0, "status", "active"), o.count(0, "status", "failed")
	progress := completed
	if active > 0 {
		progress += fmt.Sprintf(", %d active", active)
	}
	if failed > 0 {
		progress += fmt.Sprintf(", %d failed", failed)
	}
	failure, target := o.condition("Failed"), o.condition("FailureTarget")
	switch {
	case failure.Status == "True":
		return o.is(Failed, cmp.Or(failure.Reason, "failed")+after(": ", firstLine(failure.Message)))
	case o.condition("Complete").Status == "True":
		return o.is(Current, "completed")
	case target.Status == "True":
		return o.is(Failed, cmp.Or(target.Reason, "failed")+": its pods are being removed")
	case o.flag("spec", "suspend") && active > 0:
		return o.is(InProgress, "being suspended, "+plural(active, "pod")+" to remove")
	case o.flag("spec", "suspend"):
		return o.is(Suspended, "suspended")
	case o.text("status", "startTime") == "":
		return o.is(InProgress, "not started")
	case o.condition("SuccessCriteriaMet").Status == "True":
		return o.is(InProgress, progress+", finishing")
	}
	return o.is(InProgress, progress)
}

// cronJob is as its spec asks at any time, whatever its jobs do; kstatus does not tell one that is suspended.
func (o subject) cronJob() Status {
	active := int64(len(o.maps("status", "active")))
	running := ""
	if active > 0 {
		running = plural(active, "job") + " active"
	}
	if o.flag("spec", "suspend") {
		return o.is(Suspended, "suspended"+after(", ", running))
	}
	return o.because(running)
}
