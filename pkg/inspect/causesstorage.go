package inspect

import (
	"cmp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (f *causeFinder) claimCauses() {
	switch phase := f.Text("status", "phase"); {
	case f.Text("metadata", "deletionTimestamp") != "":
	case phase == "Lost":
		c := Cause{Type: VolumeLost, Certainty: Certain, Weight: Specific, Detail: f.report.Reason}
		c.evident("status.phase", phase, nil)
		if name := f.Text("spec", "volumeName"); name != "" {
			c.Refers = &Reference{Kind: "PersistentVolume", Name: name}
		}
		f.add(c)
	case phase == "Bound":
		f.resizeFailures()
	default:
		f.pendingClaim()
	}
}

func (f *causeFinder) resizeFailures() {
	for _, name := range []string{"ControllerResizeError", "NodeResizeError", "ModifyVolumeError"} {
		if c := f.condition(name); c.Status == "True" {
			f.add(Cause{
				Type: ResizeFailed, Certainty: Certain, Weight: Specific, Detail: reasonOf(c),
				Evidence: []Evidence{conditionEvidence(c)}, Since: c.Since,
			})
		}
	}
	c := f.condition("FileSystemResizePending")
	if c.Status == "True" && c.Since != nil && f.observed.Now.Sub(c.Since.Time) > SeenWithin {
		f.add(Cause{
			Type: ResizeFailed, Certainty: Likely, Weight: Specific, Since: c.Since,
			Detail:   "its file system has the old size until a pod that uses it is started",
			Evidence: []Evidence{conditionEvidence(c)},
		})
	}
	if f.report.NotReady() && len(f.found) == 0 {
		f.counts()
	}
}

// longProvisioning is after how long it is of note that a provisioner has made no volume, and has reported nothing.
const longProvisioning = 5 * time.Minute

// pendingClaim is for a claim without a volume, by the Events of the volume binder (pkg/controller/volume/events of
// k8s.io/kubernetes) and of the external provisioner.
func (f *causeFinder) pendingClaim() {
	c := Cause{Type: VolumeNotBound, Certainty: Certain, Weight: General, Detail: f.report.Reason}
	c.evident("status.phase", cmp.Or(f.Text("status", "phase"), "not set"), nil)
	for _, e := range f.events {
		switch e.Reason {
		case "ProvisioningFailed":
			if strings.Contains(e.Message, "storageclass.storage.k8s.io") && strings.Contains(e.Message, "not found") {
				continue // the class is looked for
			}
			c.Type, c.Weight, c.Detail = ProvisioningFailed, Specific, firstLine(e.text())
		case "FailedBinding":
			if f.At("spec", "storageClassName") == nil || f.Text("spec", "storageClassName") == "" {
				c.Weight, c.Detail = Specific, firstLine(e.text())
			}
		case "WaitForFirstConsumer", "WaitForPodScheduled":
			c.Type, c.Weight, c.Detail = WaitsForConsumer, Symptom, firstLine(e.text())
		case "ExternalProvisioning":
			if c.Detail == f.report.Reason { // it comes more often than the failures of who is waited for
				c.Detail, c.Evidence = firstLine(e.text()), append(c.Evidence, e.evidence())
				if e.Last.Sub(e.First.Time) > longProvisioning {
					c.Weight = Specific
				}
			}
			continue
		default:
			continue
		}
		c.Evidence = append(c.Evidence, e.evidence())
		break
	}
	if c.Weight == General && f.At("spec", "storageClassName") != nil && f.Text("spec", "storageClassName") == "" {
		c.Weight, c.Detail = Specific, "it has no class, and no volume matches it"
	}
	f.add(c)
}

func (f *causeFinder) volumeCauses() {
	switch f.report.Status.Status {
	case Failed:
		c := Cause{Type: ProvisioningFailed, Certainty: Certain, Weight: Specific, Detail: f.report.Reason}
		c.evident("status.phase", "Failed", nil)
		f.add(c)
	case Suspended:
		claim := f.Sub("spec", "claimRef")
		c := Cause{
			Type: VolumeReleased, Certainty: Certain, Weight: Specific,
			Refers: &Reference{
				Kind: "PersistentVolumeClaim", Namespace: claim.Text("namespace"), Name: claim.Text("name"),
			},
		}
		c.evident("spec.claimRef.uid", claim.Text("uid"), nil)
		c.evident("status.phase", f.Text("status", "phase"), timeAt(f.Sub("status"), "lastPhaseTransitionTime"))
		c.evident("spec.persistentVolumeReclaimPolicy", f.Text("spec", "persistentVolumeReclaimPolicy"), nil)
		f.add(c)
	}
}

func (f *causeFinder) attachmentCauses() {
	if f.Flag("status", "attached") || f.report.Status.Status == Terminating {
		return
	}
	c := Cause{Type: VolumeNotAttached, Certainty: Certain, Weight: Specific}
	if problem := firstLine(f.Text("status", "attachError", "message")); problem != "" {
		c.Detail = problem
		c.evident("status.attachError.message", problem, timeAt(f.Sub("status", "attachError"), "time"))
	} else {
		c.Certainty, c.Weight = Likely, General
		c.Detail = "its attacher " + f.Text("spec", "attacher") + " has reported nothing"
		c.evident("status.attached", "false", &metav1.Time{Time: f.created})
		if f.observed.Now.Sub(f.created) < SeenWithin {
			c.Certainty, c.Weight = Possible, Symptom
		}
	}
	f.add(c)
}
