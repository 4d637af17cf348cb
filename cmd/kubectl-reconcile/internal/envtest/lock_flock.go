//go:build linux || darwin

package envtest

import (
	"os"
	"syscall"
)

// lock reports whether no other process has locked the file, which is locked then until it is closed.
func lock(file *os.File) bool {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
