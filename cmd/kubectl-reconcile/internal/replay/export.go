package replay

import (
	"errors"
	"slices"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/exports"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/timeline"
)

// export writes the recording, as far as it is selected, in a format of other tools.
func (o *Options) export(recording replay.Recording, options timeline.Options) error {
	err := exports.Write(o.streams.Out, exports.Format(o.output), timeline.Select(recording, options),
		exports.Options{Clean: o.clean})
	if torn := (*replay.TornError)(nil); errors.As(err, &torn) {
		o.warnTorn(torn.Error())
		return nil
	}
	return err
}

// isExport reports whether -o is a format of other tools.
func (o *Options) isExport() bool {
	return slices.Contains(exports.Formats(), exports.Format(o.output))
}
