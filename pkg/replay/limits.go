package replay

// Limits bound what a Reader takes from a recording, whose content may be hostile, and what a Writer writes. A value
// that is 0 means the default.
type Limits struct {
	// Record is the size of the largest record, and of the largest object, in bytes: 16 MB by default.
	Record int64
	// Segment is the size of the largest segment, decompressed: 40 MB by default. A Writer needs twice the size of a
	// record and of WriterOptions.SegmentSize.
	Segment int64
	// State is the size of all objects that are known at a moment, in bytes: 4 GB by default.
	State int64
	// Streams is the largest number of streams, and Gaps that of gaps: 10,000 and 1,000,000 by default.
	Streams, Gaps int
	// String is the length of the longest name, version or message, in bytes: 64 kB by default.
	String int
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.Record, 16<<20)
	setDefault(&l.Segment, 40<<20)
	setDefault(&l.State, 4<<30)
	setDefault(&l.Streams, 10_000)
	setDefault(&l.Gaps, 1_000_000)
	setDefault(&l.String, 64<<10)
	return l
}

func setDefault[N int | int64](n *N, value N) {
	if *n <= 0 {
		*n = value
	}
}
