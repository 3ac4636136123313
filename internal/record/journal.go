package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/fxamacker/cbor/v2"

	"mooring"
)

// journal is the file that a change is safe in before the store has it: one write takes a few microseconds where a commit
// takes a hundred, and survives the death of the process just as well. Two files take turns, so that one is emptied, once the
// store has all of it, while the other grows. Frames are numbered over both; the store keeps the number of the last one that
// it has applied, in the same transaction, so that none is applied twice.
type journal struct {
	files  [2]*os.File
	sizes  [2]int64
	last   [2]uint64 // number of the last frame in each
	active int
	seq    uint64 // of the last frame written
	buf    []byte
}

// A frame is its length, the CRC-32C of what follows, its number and the change.
const (
	frameHead   = 4 + 4 + 8
	maxFrame    = 256 << 20 // larger than any answer and request together; a longer length is a torn frame
	journalFull = 8 << 20   // a file of this size is left to be emptied where the other one is empty
)

// frame is a change as it stands in the file.
type frame struct {
	Begin *mooring.Begin `cbor:"1,keyasint,omitempty"`
	Bind  *mooring.Bind  `cbor:"2,keyasint,omitempty"`
	End   *mooring.End   `cbor:"3,keyasint,omitempty"`
}

func (f *frame) change() mooring.Change {
	switch {
	case f.Begin != nil:
		return f.Begin
	case f.Bind != nil:
		return f.Bind
	case f.End != nil:
		return f.End
	}
	return nil
}

// frameOf gives the frame of a change whose outcome is known without the store: nobody can win or lose it, but for the first
// alias of a new session, which the writer looks up before. ok is false for others.
func frameOf(c mooring.Change) (f frame, ok bool) {
	switch c := c.(type) {
	case *mooring.Begin:
		if c.New {
			return frame{Begin: c}, len(c.Aliases) > 0 && c.Remote == nil
		}
		return frame{Begin: c}, len(c.Aliases) == 0 && c.Claim == nil && c.Remote == nil
	case *mooring.Bind:
		return frame{Bind: c}, c.Remote == nil
	case *mooring.End:
		return frame{End: c}, c.Remote == nil
	}
	return frame{}, false
}

// openJournal opens the two files beside the store, readable by their owner only.
func openJournal(path string) (*journal, error) {
	j := &journal{}
	for i := range j.files {
		f, err := os.OpenFile(fmt.Sprintf("%s-log%d", path, i), os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the store's own path
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open journal: %w", err), j.close())
		}
		j.files[i] = f
		if err := f.Chmod(0o600); err != nil {
			return nil, errors.Join(fmt.Errorf("open journal: %w", err), j.close())
		}
	}
	return j, nil
}

// write appends a change and gives its number. After an error the file is as it was before.
func (j *journal) write(f frame) (uint64, error) {
	payload, err := cbor.Marshal(f)
	if err != nil {
		return 0, fmt.Errorf("encode change: %w", err)
	}
	seq := j.seq + 1
	j.buf = binary.LittleEndian.AppendUint32(j.buf[:0], uint32(8+len(payload))) //nolint:gosec // bounded by the limits of a turn
	j.buf = append(j.buf, 0, 0, 0, 0)
	j.buf = binary.LittleEndian.AppendUint64(j.buf, seq)
	j.buf = append(j.buf, payload...)
	binary.LittleEndian.PutUint32(j.buf[4:], crc32.Checksum(j.buf[8:], crc32.MakeTable(crc32.Castagnoli)))
	at := j.sizes[j.active]
	if _, err := j.files[j.active].WriteAt(j.buf, at); err != nil {
		return 0, errors.Join(fmt.Errorf("write journal: %w", err), j.files[j.active].Truncate(at))
	}
	j.seq = seq
	j.sizes[j.active], j.last[j.active] = at+int64(len(j.buf)), seq
	if cap(j.buf) > keptFrame {
		j.buf = nil
	}
	return seq, nil
}

// keptFrame bounds the buffer that is kept after a large frame.
const keptFrame = 1 << 20

// applied empties what the store has up to this number: files of at least that many bytes in which nothing waits.
func (j *journal) applied(seq uint64, least int64) error {
	for i, f := range j.files {
		if j.sizes[i] <= least || j.last[i] > seq {
			continue
		}
		if err := f.Truncate(0); err != nil {
			return fmt.Errorf("empty journal: %w", err)
		}
		j.sizes[i] = 0
	}
	if other := 1 - j.active; j.sizes[j.active] >= journalFull && j.sizes[other] == 0 {
		j.active = other
	}
	return nil
}

// replay gives the changes that stand in the files after the given number, in their order. A torn frame is the end of a file:
// nobody was told that it is safe.
func (j *journal) replay(after uint64) (changes []mooring.Change, last uint64, err error) {
	last = after
	found := map[uint64]mooring.Change{}
	for i, f := range j.files {
		if err := j.read(f, func(seq uint64, c mooring.Change) { found[seq] = c }); err != nil {
			return nil, 0, err
		}
		info, err := f.Stat()
		if err != nil {
			return nil, 0, fmt.Errorf("read journal: %w", err)
		}
		j.sizes[i] = info.Size()
	}
	for c := found[last+1]; c != nil; c = found[last+1] {
		changes = append(changes, c)
		last++
	}
	j.seq, j.last = last, [2]uint64{last, last}
	return changes, last, nil
}

func (j *journal) read(f *os.File, take func(uint64, mooring.Change)) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read journal: %w", err)
	}
	head := make([]byte, frameHead)
	for {
		if _, err := io.ReadFull(f, head); err != nil {
			return torn(err)
		}
		size := binary.LittleEndian.Uint32(head)
		if size < 8 || size > maxFrame {
			return nil
		}
		body := make([]byte, size)
		copy(body, head[8:])
		if _, err := io.ReadFull(f, body[8:]); err != nil {
			return torn(err)
		}
		if crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)) != binary.LittleEndian.Uint32(head[4:]) {
			return nil
		}
		var fr frame
		if err := cbor.Unmarshal(body[8:], &fr); err != nil {
			return fmt.Errorf("read journal: a whole frame is not understood: %w", err)
		}
		take(binary.LittleEndian.Uint64(body), fr.change())
	}
}

func torn(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return fmt.Errorf("read journal: %w", err)
}

// close closes the files, and removes them where the store has everything.
func (j *journal) close() error {
	var err error
	for i, f := range j.files {
		if f == nil {
			continue
		}
		if j.sizes[i] == 0 {
			err = errors.Join(err, os.Remove(f.Name()))
		}
		err = errors.Join(err, f.Close())
	}
	return err
}
