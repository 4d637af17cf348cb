//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package keys

// inForeground reports whether the program is in the foreground of a terminal: always, where there is no background.
func inForeground(int) bool { return true }
