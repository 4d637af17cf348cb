//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package recordfile

import "os"

// lock does nothing: Windows does not let an open file be removed, and other systems have no such locks.
func lock(*os.File) (taken bool) { return false }
