package inspect

import "cmp"

// persistentVolumeClaim tells a claim that lost its volume from one that waits for it.
func (o subject) persistentVolumeClaim() Status {
	switch phase := o.text("status", "phase"); phase {
	case "Bound":
		return o.boundClaim()
	case "Lost":
		return o.is(Failed, "its volume "+o.text("spec", "volumeName")+" is gone")
	case "Pending", "":
		return o.is(InProgress, "waiting for a volume"+after(" of class ", o.text("spec", "storageClassName")))
	default:
		return o.because(phase)
	}
}

// boundClaim looks at what is done to the volume of a claim: resizing it, changing its attributes.
func (o subject) boundClaim() Status {
	for _, name := range []string{"ControllerResizeError", "NodeResizeError", "ModifyVolumeError"} {
		if c := o.condition(name); c.Status == "True" {
			return o.is(Degraded, reasonOf(c))
		}
	}
	for _, name := range []string{"Resizing", "FileSystemResizePending", "ModifyingVolume"} {
		if c := o.condition(name); c.Status == "True" {
			return o.is(InProgress, name+after(": ", firstLine(c.Message)))
		}
	}
	return o.base
}

// persistentVolume judges by the phase; kstatus does not know the kind.
func (o subject) persistentVolume() Status {
	claim := o.text("spec", "claimRef", "namespace") + "/" + o.text("spec", "claimRef", "name")
	switch phase := o.text("status", "phase"); phase {
	case "Bound":
		return o.base
	case "Available":
		return o.because("no claim yet")
	case "Released":
		if o.text("spec", "persistentVolumeReclaimPolicy") == "Retain" {
			return o.is(Suspended, "released by claim "+claim+", kept by its policy")
		}
		return o.is(InProgress, "released by claim "+claim)
	case "Failed":
		return o.is(Failed, cmp.Or(o.text("status", "message"), o.text("status", "reason"), "reclaiming it failed"))
	case "", "Pending":
		return o.is(InProgress, "not available yet")
	default:
		return o.because(phase)
	}
}

// volumeAttachment is done when the volume is attached; kstatus does not know the kind.
func (o subject) volumeAttachment() Status {
	switch problem := firstLine(o.text("status", "attachError", "message")); {
	case o.flag("status", "attached"):
		return o.base
	case problem != "":
		return o.is(Failed, "attaching: "+problem)
	}
	return o.is(InProgress, "not attached yet")
}

// volumeSnapshot is of VolumeSnapshots and their contents, as kubernetes-csi/external-snapshotter writes their status;
// kstatus does not know them. An error is told until the next try succeeds.
func (o subject) volumeSnapshot() Status {
	switch problem := firstLine(o.text("status", "error", "message")); {
	case o.flag("status", "readyToUse"):
		return o.base
	case problem != "":
		return o.is(Failed, "taking the snapshot: "+problem)
	}
	return o.is(InProgress, "not ready to use yet")
}
