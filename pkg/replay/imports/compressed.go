package imports

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// maxWindow bounds the memory of a zstd decoder: what `zstd --ultra` uses at most without --long.
const maxWindow = 128 << 20

// decompress returns what reads an input, decompressed if it begins as gzip or zstd do.
func decompress(r *bufio.Reader) (*bufio.Reader, error) {
	start, _ := r.Peek(1)
	if len(start) == 0 || start[0] != 0x1f && start[0] != 0x28 {
		return r, nil
	}
	start, _ = r.Peek(4) // ends short if the input does
	switch {
	case bytes.HasPrefix(start, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, fmt.Errorf("decompressing by gzip: %w", err)
		}
		return bufio.NewReaderSize(z, 64<<10), nil
	case bytes.Equal(start, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		// Without concurrency there is no goroutine that somebody had to end.
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, fmt.Errorf("decompressing by zstd: %w", err)
		}
		return bufio.NewReaderSize(z, 64<<10), nil
	}
	return r, nil
}
