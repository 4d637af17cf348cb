package replay

import (
	"encoding/binary"
	"math"
)

// The fields that a record may have, in the order in which they are written after type, fields, time and stream. The
// numbers are part of the format. A reader skips what follows the fields that it knows.
const (
	fieldRelisted uint64 = 1 << iota // nothing follows
	fieldIdentity                    // id, namespace, name and uid of an object: defines the id
	fieldObject                      // id of an object that was defined
	fieldVersion                     // resource version
	fieldWhole                       // object
	fieldDelta                       // id of the object whose last version is the base, delta
	fieldMessage                     // message
	fieldPayload                     // stream or gap as JSON
	fieldPosition                    // number, in snapshots
)

// rawRecord is a record as it is in a segment: its object by number, its bytes perhaps as a delta. When it was parsed,
// all slices are parts of the segment.
type rawRecord struct {
	typ    Type
	fields uint64
	time   int64 // in microseconds since 1970; 0 for no time
	stream uint64
	// number is that of the record. It is written in snapshots only.
	number uint64

	id, base                     uint64
	namespace, name, uid         []byte
	version, data, message, json []byte
}

// annotate sets what records of all types may have: the version, the message, and whether a list has shown it.
func (r *rawRecord) annotate(from *Record) {
	if from.Relisted {
		r.fields |= fieldRelisted
	}
	if from.ResourceVersion != "" {
		r.fields |= fieldVersion
		r.version = []byte(from.ResourceVersion)
	}
	if from.Message != "" {
		r.fields |= fieldMessage
		r.message = []byte(from.Message)
	}
}

// append appends the record, without its length. previous is the time of the record before, or that of the header of
// the segment; in snapshots, where times are in no order, it is 0.
func (r *rawRecord) append(dst []byte, previous int64) []byte {
	dst = binary.AppendUvarint(dst, uint64(r.typ))
	dst = binary.AppendUvarint(dst, r.fields)
	dst = binary.AppendUvarint(dst, uint64(r.time-previous)) //nolint:gosec // G115: times do not run back
	dst = binary.AppendUvarint(dst, r.stream)
	if r.fields&fieldIdentity != 0 {
		dst = binary.AppendUvarint(dst, r.id)
		dst = appendBytes(appendBytes(appendBytes(dst, r.namespace), r.name), r.uid)
	}
	if r.fields&fieldObject != 0 {
		dst = binary.AppendUvarint(dst, r.id)
	}
	if r.fields&fieldVersion != 0 {
		dst = appendBytes(dst, r.version)
	}
	if r.fields&fieldWhole != 0 {
		dst = appendBytes(dst, r.data)
	}
	if r.fields&fieldDelta != 0 {
		dst = appendBytes(binary.AppendUvarint(dst, r.base), r.data)
	}
	if r.fields&fieldMessage != 0 {
		dst = appendBytes(dst, r.message)
	}
	if r.fields&fieldPayload != 0 {
		dst = appendBytes(dst, r.json)
	}
	if r.fields&fieldPosition != 0 {
		dst = binary.AppendUvarint(dst, r.number)
	}
	return dst
}

func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// parse sets the record to the one that append wrote.
func (r *rawRecord) parse(body []byte, previous int64) error {
	p := parser{rest: body}
	*r = rawRecord{}
	typ := p.number()
	r.fields = p.number()
	since := p.number()
	r.stream = p.number()
	if r.fields&fieldIdentity != 0 {
		r.id = p.number()
		r.namespace, r.name, r.uid = p.bytes(), p.bytes(), p.bytes()
	}
	if r.fields&fieldObject != 0 {
		r.id = p.number()
	}
	if r.fields&fieldVersion != 0 {
		r.version = p.bytes()
	}
	if r.fields&fieldWhole != 0 {
		r.data = p.bytes()
	}
	if r.fields&fieldDelta != 0 {
		r.base, r.data = p.number(), p.bytes()
	}
	if r.fields&fieldMessage != 0 {
		r.message = p.bytes()
	}
	if r.fields&fieldPayload != 0 {
		r.json = p.bytes()
	}
	if r.fields&fieldPosition != 0 {
		r.number = p.number()
	}
	if p.err != nil {
		return p.err
	}
	const objects, bytes = fieldIdentity | fieldObject, fieldWhole | fieldDelta
	if r.fields&objects == objects || r.fields&bytes == bytes {
		return damaged("record with fields that exclude each other")
	}
	if typ > math.MaxUint8 || since > math.MaxInt64-uint64(max(previous, 0)) {
		return damaged("record with a number that is too large")
	}
	r.typ = Type(typ)
	r.time = previous + int64(since) //nolint:gosec // G115: see above
	return nil
}

// parser takes numbers and bytes from a record. After an error it yields zero values.
type parser struct {
	rest []byte
	err  error
}

func (p *parser) number() uint64 {
	// Most numbers are small.
	if len(p.rest) > 0 && p.rest[0] < 0x80 {
		n := p.rest[0]
		p.rest = p.rest[1:]
		return uint64(n)
	}
	n, rest, err := uvarint(p.rest)
	if err != nil {
		p.err, p.rest = err, nil
		return 0
	}
	p.rest = rest
	return n
}

func (p *parser) bytes() []byte {
	n := p.number()
	if n > uint64(len(p.rest)) {
		p.err, p.rest = damaged("record ends early"), nil
		return nil
	}
	b := p.rest[:n:n]
	p.rest = p.rest[n:]
	return b
}

func uvarint(b []byte) (uint64, []byte, error) {
	n, used := binary.Uvarint(b)
	if used <= 0 {
		return 0, nil, damaged("number ends early")
	}
	return n, b[used:], nil
}

func clampInt64(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
