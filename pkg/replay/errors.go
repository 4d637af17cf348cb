package replay

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// NotRecordingError is the error for input that is no recording.
type NotRecordingError struct {
	// Looks is what the input looks like: "gzip", "zstd", "age", "JSON", "YAML" or "empty". It is empty if that is not
	// known. "zstd" is a zstd file that is no recording: a recording is one itself.
	Looks string
}

// Error implements error.
func (e *NotRecordingError) Error() string {
	switch e.Looks {
	case "":
		return "not a recording"
	case "empty":
		return "not a recording: it is empty"
	default:
		return "not a recording: it looks like " + e.Looks
	}
}

// VersionError is the error for a recording in a newer version of the format.
type VersionError struct {
	// Version is that of the recording, and Supported the newest that can be read.
	Version, Supported int
}

// Error implements error.
func (e *VersionError) Error() string {
	return fmt.Sprintf("the recording has version %d of the format, versions up to %d can be read",
		e.Version, e.Supported)
}

// TornError is the error for a recording that was not ended in order, or is damaged: everything before was read.
type TornError struct {
	// Records is the number of the last record that can be read, and Last its time.
	Records int64
	Last    time.Time
	// Offset is where in the file the part begins that cannot be read.
	Offset int64
	// Err says what is wrong there: io.ErrUnexpectedEOF if the file ends, else that it is damaged.
	Err error
}

// Error implements error.
func (e *TornError) Error() string {
	last := ""
	if !e.Last.IsZero() {
		last = " at " + formatTime(e.Last)
	}
	what := "cannot be read"
	if errors.Is(e.Err, io.ErrUnexpectedEOF) {
		what = "is cut off"
	}
	return fmt.Sprintf("the recording %s after record %d%s (byte %d): %v", what, e.Records, last, e.Offset, e.Err)
}

// Unwrap returns Err.
func (e *TornError) Unwrap() error { return e.Err }

// OutsideError is the error for a moment that is not in the recording.
type OutsideError struct {
	Moment Moment
	// Records is the number of the last record: 0 if there are none.
	Records int64
	// First and Last are the times of the first and the last record, zero if there are no times.
	First, Last time.Time
	// LastVersion is the newest resource version that a list, an event or a bookmark has, if Moment is a
	// ResourceVersion; empty if there is none.
	LastVersion string
}

// Error implements error.
func (e *OutsideError) Error() string {
	what := fmt.Sprintf("%q is not in the recording", e.Moment.String())
	switch {
	case e.Records == 0:
		return what + ", which is empty"
	case e.Moment.Number == 0 && e.Moment.ResourceVersion != "" && e.LastVersion != "":
		return fmt.Sprintf("%s, its newest resource version is %s", what, e.LastVersion)
	case e.Moment.Number == 0 && !e.Moment.Time.IsZero() && e.First.IsZero():
		return fmt.Sprintf("%s, which has no times: its records are #1 to #%d", what, e.Records)
	case e.Moment.Number == 0 && !e.Moment.Time.IsZero():
		return fmt.Sprintf("%s, which goes from %s to %s", what, formatTime(e.First), formatTime(e.Last))
	default:
		return fmt.Sprintf("%s, its records are #1 to #%d", what, e.Records)
	}
}

// LimitError is the error for input that is larger than allowed.
type LimitError struct {
	// What is the thing that is too large, such as "record".
	What string
	// Size is how large it is, or would be, and Limit how large it may be, in bytes or in pieces.
	Size, Limit int64
}

// Error implements error.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%s of %d is over the limit of %d", e.What, e.Size, e.Limit)
}

// errDamaged is wrapped by the errors for content that no writer has written.
var errDamaged = errors.New("damaged")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errDamaged, fmt.Sprintf(format, args...))
}

// formatTime prints times in errors as a moment is written.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
