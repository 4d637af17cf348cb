//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package keys

import (
	"syscall"
	"unsafe"
)

// inForeground reports whether the program is in the foreground of a terminal. One in the background is stopped when it
// reads from the terminal.
func inForeground(fd int) bool {
	var group int32
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TIOCGPGRP,
		uintptr(unsafe.Pointer(&group))) //nolint:gosec // G103: as ioctl wants it
	return errno == 0 && int(group) == syscall.Getpgrp()
}
