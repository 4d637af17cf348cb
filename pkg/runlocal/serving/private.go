package serving

import (
	"errors"
	"os"
	"path/filepath"
)

// WritePrivate writes data to path with mode 0600, replacing what is there in one step: a reader sees the old file or the
// whole of this one. A symbolic link at path is replaced, not followed.
func WritePrivate(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
