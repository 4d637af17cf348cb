package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/cli"
	"github.com/kubectl-reconcile/kubectl-reconcile/cmd/kubectl-reconcile/internal/recordfile"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay"
	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/recorder"
)

// outputOptions say where to write.
type outputOptions struct {
	path   string
	stdout io.Writer // in place of a file; nil for a file
	force  bool
	// maxSize and rotate are in bytes; 0 is no limit, and one file.
	maxSize, rotate int64
}

// output is the recordings that are written, one after the other: with --rotate, when one has reached that size, the
// next begins. It implements recorder.Rotator and recorder.Flusher. Its methods are called by one goroutine at a time,
// but for written.
type output struct {
	options outputOptions
	header  func() replay.Header
	// full is called once when --max-size is reached, without --rotate.
	full func()

	writer  *replay.Writer
	file    *os.File // nil for stdout
	current counter  // of the file that is being written
	based   bool     // base is set
	base    int64    // size of that file when what it begins with was written
	number  int      // of that file; 0 is the first
	// files are those that are left of what was written, in order, with their sizes.
	files []writtenFile
	total atomic.Int64 // bytes of all files, deleted ones included
}

// writtenFile is a file that is complete.
type writtenFile struct {
	path string
	size int64
}

var (
	_ recorder.Rotator = (*output)(nil)
	_ recorder.Flusher = (*output)(nil)
)

// counter counts what is written through it.
type counter struct {
	io.Writer
	n int64
}

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += int64(n)
	return n, err
}

// openOutput creates the first file. header is called for each; full is called when --max-size is reached.
func openOutput(o outputOptions, header func() replay.Header, full func()) (*output, error) {
	out := &output{options: o, header: header, full: full}
	if o.stdout == nil && !o.force {
		if err := out.checkFree(); err != nil {
			return nil, err
		}
	}
	return out, out.open()
}

// checkFree returns an error if there are files that a rotation would have to replace later.
func (o *output) checkFree() error {
	taken := o.options.path
	if !exists(taken) || recordfile.IsDevice(taken) {
		if o.options.rotate == 0 {
			return nil
		}
		found, err := rotatedFiles(o.options.path)
		if err != nil || len(found) == 0 {
			return err
		}
		taken = found[0]
	}
	return cli.WithHint(fmt.Errorf("%s exists already", taken), "--force replaces it")
}

// rotatedFiles returns the files FILE.1, FILE.2 and so on that exist.
func rotatedFiles(path string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("creating the recording: %w", err)
	}
	var out []string
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), filepath.Base(path)+".")
		if n, err := strconv.ParseUint(number, 10, 31); ok && err == nil && strconv.FormatUint(n, 10) == number {
			out = append(out, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return out, nil
}

// name returns the path of the file that is being written.
func (o *output) name() string {
	if o.number == 0 {
		return o.options.path
	}
	return o.options.path + "." + strconv.Itoa(o.number)
}

// open begins the recording of the current number.
func (o *output) open() error {
	o.current, o.based = counter{Writer: o.options.stdout}, false
	if o.options.stdout == nil {
		file, err := recordfile.Create(o.name(), o.options.force, "force")
		if err != nil {
			return err
		}
		o.file, o.current.Writer = file, file
	}
	writer, err := replay.NewWriter(&o.current, o.header(), replay.WriterOptions{})
	if err != nil {
		return errors.Join(o.explain(err), o.closeFile())
	}
	o.writer = writer
	return nil
}

// Write implements replay.Sink.
func (o *output) Write(r *replay.Record) error {
	if err := o.writer.Write(r); err != nil {
		return o.explain(err)
	}
	o.grown()
	return nil
}

// Flush implements recorder.Flusher.
func (o *output) Flush() error {
	if err := o.writer.Flush(); err != nil {
		return o.explain(err)
	}
	o.grown()
	return nil
}

// explain names the file in an error of writing.
func (o *output) explain(err error) error {
	if limit := (*replay.LimitError)(nil); errors.As(err, &limit) {
		return err
	}
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("writing %s, which is cut off: %w", o.shownName(), err)
}

// shownName is how lines call the file that is being written.
func (o *output) shownName() string {
	if o.options.stdout != nil {
		return "the recording to stdout"
	}
	return o.name()
}

// grown keeps account of the size.
func (o *output) grown() {
	var done int64
	for _, f := range o.files {
		done += f.size
	}
	o.total.Store(done + o.current.n)
	if o.full != nil && o.options.maxSize > 0 && o.options.rotate == 0 && o.current.n >= o.options.maxSize {
		o.full()
		o.full = nil
	}
}

// written returns the size of all files that are left, in bytes. It may be called concurrently.
func (o *output) written() int64 { return o.total.Load() }

// Full implements recorder.Rotator. At least half of a file is changes, however large the state is that it begins with.
func (o *output) Full() bool {
	if !o.based {
		o.based, o.base = true, o.current.n
	}
	return o.options.rotate > 0 && o.current.n >= max(o.options.rotate, 2*o.base)
}

// Next implements recorder.Rotator: it completes the file and begins the next one, and with --max-size deletes the
// oldest if they are too large together, so that there is room for one more.
func (o *output) Next() error {
	following := o.options.path + "." + strconv.Itoa(o.number+1)
	end := &replay.Record{Type: replay.TypeEnd, Message: "continued in " + filepath.Base(following)}
	if err := o.writer.Write(end); err != nil {
		return o.explain(err)
	}
	if err := o.close(); err != nil {
		return err
	}
	o.files = append(o.files, writtenFile{o.name(), o.current.n})
	if err := o.deleteOldest(); err != nil {
		return err
	}
	o.number++
	return o.open()
}

// deleteOldest deletes files that were written here, until one more has room.
func (o *output) deleteOldest() error {
	if o.options.maxSize == 0 {
		return nil
	}
	var sum int64
	for _, f := range o.files {
		sum += f.size
	}
	for len(o.files) > 1 && sum+o.options.rotate > o.options.maxSize {
		if err := os.Remove(o.files[0].path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("deleting the oldest recording: %w", err)
		}
		sum -= o.files[0].size
		o.files = o.files[1:]
	}
	return nil
}

// close completes the current file.
func (o *output) close() error {
	if err := o.writer.Close(); err != nil {
		return errors.Join(o.explain(err), o.closeFile())
	}
	if o.file != nil {
		if err := o.file.Sync(); err != nil && !recordfile.IsDevice(o.name()) {
			return errors.Join(o.explain(err), o.closeFile())
		}
	}
	o.grown()
	if o.file == nil {
		return nil
	}
	return errors.Join(recordfile.CheckPath(o.name(), o.file), o.closeFile())
}

// discard deletes the file, of which nothing is of use.
func (o *output) discard() error {
	if o.file == nil {
		return nil
	}
	err := o.closeFile()
	if recordfile.IsDevice(o.name()) {
		return err
	}
	if removed := os.Remove(o.name()); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

func (o *output) closeFile() error {
	if o.file == nil {
		return nil
	}
	err := o.file.Close()
	o.file = nil
	if err != nil {
		return o.explain(err)
	}
	return nil
}
