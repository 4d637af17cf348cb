package imports

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	// maxWindow bounds the memory of a zstd decoder: what `zstd --ultra` uses at most without --long.
	maxWindow = 128 << 20
	// maxDecompressed bounds what an input decompresses to, in bytes, unless it is less than maxRatio times its size.
	// Lists of kubectl and audit logs have 10 to 30 times the size of what gzip and zstd make of them.
	maxDecompressed = 256 << 20
	maxRatio        = 50
)

// decompress returns what reads an input, decompressed if it begins as gzip or zstd do, until ctx is done. limit is
// that of limits.decompressed.
func decompress(ctx context.Context, in io.Reader, limit int) (*bufio.Reader, error) {
	compressed := &meter{ctx: ctx, in: in}
	r := bufio.NewReaderSize(compressed, 64<<10)
	start, _ := r.Peek(1)
	if len(start) == 0 || start[0] != 0x1f && start[0] != 0x28 {
		return r, nil
	}
	start, _ = r.Peek(4) // ends short if the input does
	var out io.Reader
	switch {
	case bytes.HasPrefix(start, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, fmt.Errorf("decompressing by gzip: %w", err)
		}
		out = z
	case bytes.Equal(start, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		// Without concurrency there is no goroutine that somebody had to end.
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, fmt.Errorf("decompressing by zstd: %w", err)
		}
		out = z
	default:
		return r, nil
	}
	return bufio.NewReaderSize(&meter{ctx: ctx, in: out, compressed: compressed, limit: limit}, 64<<10), nil
}

// meter counts what is read through it, until ctx is done.
type meter struct {
	ctx context.Context
	in  io.Reader
	n   int64
	// compressed counts what this is decompressed from, and limit bounds it; nil for an input itself.
	compressed *meter
	limit      int
}

// Read implements io.Reader.
func (m *meter) Read(p []byte) (int, error) {
	if err := m.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := m.in.Read(p)
	m.n += int64(n)
	if m.compressed != nil && m.n > int64(m.limit) && m.n > maxRatio*m.compressed.n {
		return 0, fmt.Errorf("it decompresses to more than %d MB, over %d times its size; if that is right, "+
			"decompress it first",
			m.limit>>20, maxRatio)
	}
	return n, err
}
