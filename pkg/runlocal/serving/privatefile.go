package serving

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// WritePrivate writes data to path with mode 0600, replacing what is there in one step: a reader sees the old file or
// the whole of this one. A symbolic link at path is replaced, not followed.
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

// CreatePrivate creates a file with mode 0600 at path to write to, in place of a file or of a symbolic link to one that
// is there: neither its mode nor what it leads to is kept. A device or a pipe at path is opened as it is.
func CreatePrivate(path string) (*os.File, error) {
	target, err := os.Stat(path)
	switch {
	case err == nil && !target.Mode().IsRegular() && !target.IsDir():
		return os.OpenFile(path, os.O_WRONLY, 0) //nolint:gosec // G304: the caller says where
	case err == nil && target.IsDir():
		return nil, &os.PathError{Op: "open", Path: path, Err: errors.New("is a directory")}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // G304: the caller says where
}
