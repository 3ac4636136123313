package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/fxamacker/cbor/v2"

	"mooring"
)

// A frame is its length, the CRC-32C of what follows, its number and the change in CBOR.
const (
	frameHead = 4 + 4 + 8
	maxFrame  = 256 << 20 // a longer change is not written, and a longer length is no frame
)

// frame is a change as it stands in the file. The names of the fields below it are part of the format: a start reads what an
// older version wrote.
type frame struct {
	Begin    *mooring.Begin    `cbor:"1,keyasint,omitempty"`
	Bind     *mooring.Bind     `cbor:"2,keyasint,omitempty"`
	End      *mooring.End      `cbor:"3,keyasint,omitempty"`
	Learning *mooring.Learning `cbor:"4,keyasint,omitempty"`
}

func (f *frame) change() mooring.Change { //nolint:ireturn // changes are of any kind
	switch {
	case f.Begin != nil:
		return f.Begin
	case f.Bind != nil:
		return f.Bind
	case f.End != nil:
		return f.End
	case f.Learning != nil:
		return f.Learning
	}
	return nil
}

// frameOf gives the frame of a change whose outcome is known without the store: nobody can win or lose it, but for the first
// alias of a new session, which the writer looks up before. ok is false for others: a fork's source may be gone.
func frameOf(c mooring.Change) (f frame, ok bool) {
	switch c := c.(type) {
	case *mooring.Begin:
		if c.New {
			return frame{Begin: c}, len(c.Aliases) > 0 && c.Remote == nil && c.Reset == nil && len(c.Copies) == 0
		}
		return frame{Begin: c}, len(c.Aliases) == 0 && c.Claim == nil && c.Remote == nil
	case *mooring.Bind:
		return frame{Bind: c}, c.Remote == nil
	case *mooring.End:
		return frame{End: c}, c.Remote == nil
	case *mooring.Learning:
		return frame{Learning: c}, true
	}
	return frame{}, false
}

// codec writes and reads frames. Times keep their fractions, and texts may be any bytes, as what clients name sessions by is.
type codec struct {
	enc cbor.UserBufferEncMode
	dec cbor.DecMode
	sum *crc32.Table
}

func newCodec() (codec, error) {
	enc, err := cbor.EncOptions{Time: cbor.TimeRFC3339Nano}.UserBufferEncMode()
	if err != nil {
		return codec{}, fmt.Errorf("prepare the journal's encoding: %w", err)
	}
	dec, err := cbor.DecOptions{UTF8: cbor.UTF8DecodeInvalid, MaxArrayElements: maxElements}.DecMode()
	if err != nil {
		return codec{}, fmt.Errorf("prepare the journal's decoding: %w", err)
	}
	return codec{enc: enc, dec: dec, sum: crc32.MakeTable(crc32.Castagnoli)}, nil
}

// maxElements is the library's own limit: no request of maxFrame bytes holds more messages.
const maxElements = 1<<31 - 1

// encode puts a frame that has no number yet into an empty buffer.
func (c codec) encode(buf *bytes.Buffer, f frame) error {
	var head [frameHead]byte
	buf.Write(head[:])
	if err := c.enc.MarshalToBuffer(f, buf); err != nil {
		return fmt.Errorf("encode change: %w", err)
	}
	if buf.Len() > frameHead+maxFrame {
		return fmt.Errorf("encode change: %d bytes are too many for a frame", buf.Len())
	}
	return nil
}

// seal gives an encoded frame its number.
func (c codec) seal(encoded []byte, seq uint64) {
	binary.LittleEndian.PutUint32(encoded, uint32(len(encoded)-8)) //nolint:gosec // encode bounds it
	binary.LittleEndian.PutUint64(encoded[8:], seq)
	binary.LittleEndian.PutUint32(encoded[4:], crc32.Checksum(encoded[8:], c.sum))
}

// scan hands over what the whole frames of size bytes hold. A damaged frame is stepped over; a torn one is the end: nobody was
// told that it is safe.
func (c codec) scan(r io.Reader, size int64, take func(seq uint64, change mooring.Change)) error {
	head := make([]byte, frameHead)
	for {
		if _, err := io.ReadFull(r, head); err != nil {
			return torn(err)
		}
		size -= frameHead
		rest := int64(binary.LittleEndian.Uint32(head)) - 8
		if rest < 0 || rest > maxFrame || rest > size {
			return nil
		}
		size -= rest
		body := make([]byte, 8+rest)
		copy(body, head[8:])
		if _, err := io.ReadFull(r, body[8:]); err != nil {
			return torn(err)
		}
		if crc32.Checksum(body, c.sum) != binary.LittleEndian.Uint32(head[4:]) {
			continue
		}
		var f frame
		if err := c.dec.Unmarshal(body[8:], &f); err != nil {
			return fmt.Errorf("a whole frame is not understood: %w", err)
		}
		change := f.change()
		if change == nil {
			return errors.New("a whole frame holds no change that this version knows")
		}
		take(binary.LittleEndian.Uint64(body), change)
	}
}

func torn(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
