package render

import (
	"regexp"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/inspect"
)

// modified is the whole message of a conflict (apimachinery's errors.NewConflict with the reason of apiserver's registry).
var modified = regexp.MustCompile(`Operation cannot be fulfilled on ([^:]+): the object has been modified; ` +
	`please apply your changes to the latest version and try again`)

// Reason is an error without the words that an API server begins or ends every one of its sort with.
func Reason(text string) string {
	return inspect.TrimForbidden(modified.ReplaceAllString(text, "conflict on $1"))
}
