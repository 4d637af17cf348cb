package input

import (
	"errors"
	"fmt"
	"os"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
)

// spool is a recording in a temporary file, which only the user can read.
type spool struct {
	file   *os.File
	writer *replay.Writer
	// reader is nil until all records are there.
	reader *replay.Reader
}

func newSpool(h replay.Header) (*spool, error) {
	file, err := os.CreateTemp("", "kubectl-reconcile-*")
	if err != nil {
		return nil, fmt.Errorf("keeping the input in a file: %w", err)
	}
	// It has no name while it is used, so that nothing is left after a crash. Where an open file cannot be removed,
	// close does it.
	_ = os.Remove(file.Name())
	s := &spool{file: file}
	if s.writer, err = replay.NewWriter(file, h, replay.WriterOptions{}); err != nil {
		return nil, errors.Join(fmt.Errorf("keeping the input in a file: %w", err), s.close())
	}
	return s, nil
}

// add adds a record, and sets its number. The format does not keep who wrote: it is in the message, which records of
// objects do not have.
func (s *spool) add(r *replay.Record) error {
	kept := *r
	if r.Type.HasObject() {
		kept.Message = r.Writer
	}
	if err := s.writer.Write(&kept); err != nil {
		return fmt.Errorf("keeping the input in a file: %w", err)
	}
	r.Number = kept.Number
	return nil
}

// open makes the records readable, after the one with the number. No more can be added.
func (s *spool) open(position int64) error {
	if err := s.writer.Flush(); err != nil {
		return fmt.Errorf("keeping the input in a file: %w", err)
	}
	info, err := s.file.Stat()
	if err != nil {
		return fmt.Errorf("keeping the input in a file: %w", err)
	}
	reader, err := replay.Open(s.file, info.Size(), replay.ReaderOptions{})
	if err != nil {
		return fmt.Errorf("reading the input again: %w", err)
	}
	if position > 0 {
		if _, err := reader.Seek(replay.Moment{Number: position}); err != nil {
			return fmt.Errorf("reading the input again: %w", err)
		}
	}
	s.reader = reader
	return nil
}

// next returns the next record.
func (s *spool) next() (*replay.Record, error) {
	r, err := s.reader.Next()
	if err == nil && r.Type.HasObject() && r.Message != "" {
		r.Writer, r.Message = r.Message, ""
	}
	return r, err
}

// close removes the file.
func (s *spool) close() error {
	err := s.file.Close()
	if removed := os.Remove(s.file.Name()); !errors.Is(removed, os.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}
