package imports

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
)

// BenchmarkWatchEvents reads what kubectl prints of pods.
func BenchmarkWatchEvents(b *testing.B) {
	input, err := os.ReadFile("testdata/watch-pods.input")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(input)))
	b.ReportAllocs()
	for b.Loop() {
		s, err := Open(b.Context(), bytes.NewReader(input))
		for err == nil {
			_, err = s.Next()
		}
		if !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
	}
}
