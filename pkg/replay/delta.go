package replay

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// A delta makes a new version of an object from bytes that the reader knows. It begins with the length of the result,
// then operations follow until the result has that length. Each begins with n<<1|kind:
//
//	kind 0: n bytes follow, which are inserted. The position in the base moves on by n, as if they replaced as many.
//	kind 1: a signed number follows, by which the position in the base moves first; n bytes are copied from there.
//
// All numbers are varints. The bytes are kept as they are: what a merge patch cannot express, such as null or the order
// of fields, is in the result too.

const (
	// gram is how many equal bytes begin a match.
	gram = 8
	// minCopy is the shortest copy that is worth an operation.
	minCopy = 8
	// maxShift is how many bytes may be replaced by as many others before the table of the base is made.
	maxShift = 40
	// maxTableBits bounds the table, in which the positions of a longer base replace each other.
	maxTableBits = 17
)

// differ makes deltas. It is not safe for concurrent use; it only exists to use its table more than once.
type differ struct {
	table []uint32
	shift int
}

// appendDelta appends the delta from base to target.
func (d *differ) appendDelta(dst, base, target []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(target)))
	ready := false   // the table is that of base
	from, at := 0, 0 // position in the base, and in the target
	start := 0       // where the bytes begin that are not written yet
	for at < len(target) {
		var position, next, n int
		if same := matching(base, target, from, at); same >= minCopy || at+same == len(target) && same > 0 {
			position, next, n = from, at, same
		} else if k := shifted(base, target, from+same, at+same); k > 0 {
			position, next = from+same+k, at+same+k
			n = matching(base, target, position, next)
		} else {
			if !ready {
				d.index(base)
				ready = true
			}
			position, next, n = d.find(base, target, start, at)
		}
		if n == 0 {
			break
		}
		expected := from + next - at
		if next > start {
			dst = appendInsert(dst, target[start:next])
		}
		dst = binary.AppendUvarint(dst, uint64(n)<<1|1) //nolint:gosec // G115: a length
		dst = binary.AppendVarint(dst, int64(position-expected))
		from, at = position+n, next+n
		start = at
	}
	if start < len(target) {
		dst = appendInsert(dst, target[start:])
	}
	return dst
}

func appendInsert(dst, what []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(what))<<1), what...)
}

// matching returns how many bytes are equal from the positions on.
func matching(base, target []byte, from, at int) int {
	if from >= len(base) || at >= len(target) {
		return 0
	}
	a, b := base[from:], target[at:]
	limit, n := min(len(a), len(b)), 0
	for n+8 <= limit {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
		n += 8
	}
	for n < limit && a[n] == b[n] {
		n++
	}
	return n
}

// shifted returns after how many bytes base and target are equal again, if bytes were replaced by as many others, such
// as in times and versions; 0 if that is not near.
func shifted(base, target []byte, from, at int) int {
	for k := 1; k <= maxShift && from+k+gram <= len(base) && at+k+gram <= len(target); k++ {
		if binary.LittleEndian.Uint64(base[from+k:]) == binary.LittleEndian.Uint64(target[at+k:]) {
			return k
		}
	}
	return 0
}

// index fills the table with every eighth position of the base, so that each run of 15 equal bytes is found.
func (d *differ) index(base []byte) {
	size := min(max(bits.Len(uint(len(base)/gram))+1, 8), maxTableBits)
	if n := 1 << size; cap(d.table) < n {
		d.table = make([]uint32, n)
	} else {
		d.table = d.table[:n]
		clear(d.table)
	}
	d.shift = 64 - size
	// Of equal bytes the first are found, which more bytes follow.
	for i := (len(base) - gram) &^ (gram - 1); i >= 0; i -= gram {
		d.table[d.hash(base[i:])] = uint32(i) + 1 //nolint:gosec // G115: objects are far below 4 GB
	}
}

func (d *differ) hash(b []byte) uint64 {
	return binary.LittleEndian.Uint64(b) * 0x9E3779B97F4A7C15 >> d.shift
}

// find returns the first match in the base of bytes of the target from at on, and its length; 0 if there is none.
func (d *differ) find(base, target []byte, start, at int) (position, next, n int) {
	for ; at+gram <= len(target); at++ {
		i := int(d.table[d.hash(target[at:])]) - 1
		if i < 0 || !bytes.Equal(base[i:i+gram], target[at:at+gram]) {
			continue
		}
		n := matching(base, target, i, at)
		for i > 0 && at > start && base[i-1] == target[at-1] {
			i, at, n = i-1, at-1, n+1
		}
		return i, at, n
	}
	return 0, 0, 0
}

// applyDelta returns what a delta makes of the base, in the buffer if that is large enough. The result has at most
// limit bytes.
func applyDelta(buffer, delta, base []byte, limit int64) ([]byte, error) {
	size, delta, err := uvarint(delta)
	if err != nil {
		return nil, err
	}
	if size > uint64(limit) { //nolint:gosec // G115: limits are positive
		return nil, &LimitError{What: "object", Size: clampInt64(size), Limit: limit}
	}
	out := buffer[:0]
	if uint64(cap(out)) < size {
		out = make([]byte, 0, size)
	}
	from := 0
	for uint64(len(out)) < size {
		var op uint64
		if op, delta, err = uvarint(delta); err != nil {
			return nil, err
		}
		n := op >> 1
		if n == 0 || n > size-uint64(len(out)) {
			return nil, damaged("delta of a wrong length")
		}
		count := int(n)
		if op&1 == 0 {
			if count > len(delta) {
				return nil, damaged("delta ends early")
			}
			out, delta, from = append(out, delta[:count]...), delta[count:], from+count
			continue
		}
		move, used := binary.Varint(delta)
		if used <= 0 {
			return nil, damaged("delta ends early")
		}
		delta = delta[used:]
		position := int64(from) + move // may overflow, to a number that is refused
		if position < 0 || position > int64(len(base))-int64(count) {
			return nil, damaged("delta copies from outside of its base")
		}
		from = int(position) + count
		out = append(out, base[position:from]...)
	}
	if len(delta) != 0 {
		return nil, damaged("delta has bytes at its end")
	}
	return out, nil
}
