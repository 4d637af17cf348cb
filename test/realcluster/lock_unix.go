//go:build unix

package realcluster

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lock waits until no other process holds the lock of that file. It ends with the process, or when unlocked.
func lock(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("making a folder for the lock: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the programs: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, fmt.Errorf("waiting for the lock %s: %w", path, err)
	}
	return func() { _ = file.Close() }, nil
}
