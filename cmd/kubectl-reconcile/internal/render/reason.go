package render

import "regexp"

var (
	// forbidden begins the message of a refusal (apimachinery's errors.NewForbidden): the request says already what was
	// asked for.
	forbidden = regexp.MustCompile(`\b[a-z0-9.-]+(?: "[^"]*")? is forbidden: `)
	// modified is the whole message of a conflict (apimachinery's errors.NewConflict with the reason of apiserver's
	// registry).
	modified = regexp.MustCompile(`Operation cannot be fulfilled on ([^:]+): the object has been modified; ` +
		`please apply your changes to the latest version and try again`)
)

// Reason is an error without the words that an API server begins or ends every one of its sort with.
func Reason(text string) string {
	return forbidden.ReplaceAllString(modified.ReplaceAllString(text, "conflict on $1"), "")
}
