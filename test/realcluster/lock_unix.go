//go:build unix

package realcluster

import (
	"fmt"
	"os"
	"syscall"
)

// lock waits until no other process holds the lock of that file. It ends with the process, or when unlocked.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the programs: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, fmt.Errorf("waiting for the lock %s: %w", path, err)
	}
	return func() { _ = file.Close() }, nil
}
