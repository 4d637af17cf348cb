package recorder

import (
	"bytes"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/kubectl-reconcile/kubectl-reconcile/pkg/replay/internal/apijson"
)

// knownObject is the last state of an object that was written.
type knownObject struct {
	uid, version string
	// object is its JSON, compressed if packed is true: most objects of a cluster do not change while it is recorded.
	// It is never changed.
	object []byte
	packed bool
}

// packer compresses the objects of lists. It may be used concurrently.
type packer struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

func newPacker() (*packer, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(64<<10), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, fmt.Errorf("making a compressor: %w", err)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("making a decompressor: %w", err)
	}
	return &packer{encoder, decoder}, nil
}

// pack returns the object in less memory.
func (p *packer) pack(k knownObject) knownObject {
	k.object, k.packed = bytes.Clone(p.encoder.EncodeAll(k.object, nil)), true
	return k
}

// unpack returns the JSON of the object. The error can only be that of a defect.
func (p *packer) unpack(k *knownObject) ([]byte, error) {
	if !k.packed {
		return k.object, nil
	}
	out, err := p.decoder.DecodeAll(k.object, nil)
	if err != nil {
		return nil, fmt.Errorf("decompressing an object: %w", err)
	}
	return out, nil
}

// same reports whether an object that was listed is in the state that is known. An object without a resource version
// always counts as changed.
func (k *knownObject) same(i *apijson.Item) bool {
	return k.uid == i.UID && k.version == i.ResourceVersion && k.version != ""
}
