//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package recordfile

import (
	"errors"
	"os"
	"syscall"
)

// lock locks a file until it is closed, and reports whether another process has locked it. Where files cannot be
// locked, as on some network file systems, none is.
func lock(file *os.File) (taken bool) {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return errors.Is(err, syscall.EWOULDBLOCK)
}
