package record

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"

	"mooring"
)

// journal is the file that a change is safe in before the store has it: one write takes a few microseconds where a commit
// takes a hundred, and survives the death of the process just as well. Two files take turns, so that one is emptied, once the
// store has all of it, while the other grows. Frames are numbered over both; the store keeps the number of the last one that
// it has applied, in the same transaction, so that none is applied twice.
type journal struct {
	codec
	files  [2]*os.File
	sizes  [2]int64
	first  [2]uint64 // number of the first frame in each; of an empty one it says nothing
	last   [2]uint64 // number of the last frame in each
	active int
	seq    uint64 // of the last frame written
}

const (
	journalFull = 8 << 20 // a file of this size is left to be emptied where the other one is empty
	keptFrame   = 1 << 20 // a larger buffer is not kept for another frame
)

// openJournal opens the two files beside the store, readable by their owner only. What they hold stays until it is applied.
func openJournal(path string) (*journal, error) {
	c, err := newCodec()
	if err != nil {
		return nil, err
	}
	j := &journal{codec: c}
	for i, name := range JournalFiles(path) {
		if err := j.open(i, name); err != nil {
			return nil, errors.Join(fmt.Errorf("open journal: %w", err), j.close())
		}
	}
	return j, nil
}

func (j *journal) open(i int, name string) error {
	f, err := openPrivate(name, os.O_RDWR)
	if err != nil {
		return err
	}
	j.files[i], j.last[i] = f, math.MaxUint64
	info, err := f.Stat()
	if err != nil {
		j.sizes[i] = math.MaxInt64 // unknown: it is not to be removed
		return err
	}
	j.sizes[i] = info.Size()
	return nil
}

// openPrivate opens a file beside the store for its owner alone, and makes it where there is none.
func openPrivate(name string, flags int) (*os.File, error) {
	f, err := os.OpenFile(name, flags|os.O_CREATE, 0o600) //nolint:gosec // the store's own path
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(0o600); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// write appends an encoded frame and gives its number. After an error the file is as it was before.
func (j *journal) write(encoded []byte) (uint64, error) {
	seq, at := j.seq+1, j.sizes[j.active]
	j.seal(encoded, seq)
	if _, err := j.files[j.active].WriteAt(encoded, at); err != nil {
		return 0, errors.Join(fmt.Errorf("write journal: %w", err), j.files[j.active].Truncate(at))
	}
	j.seq = seq
	if at == 0 {
		j.first[j.active] = seq
	}
	j.sizes[j.active], j.last[j.active] = at+int64(len(encoded)), seq
	return seq, nil
}

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

// scrub empties what the store has up to a number, and turns to the other file where that is empty, so that this one can be
// emptied next. It says whether no frame up to another number is left.
func (j *journal) scrub(seq, upTo uint64) (clean bool, err error) {
	if err := j.applied(seq, 0); err != nil {
		return false, err
	}
	if other := 1 - j.active; j.sizes[j.active] > 0 && j.sizes[other] == 0 {
		j.active = other
	}
	for i := range j.files {
		if j.sizes[i] > 0 && j.first[i] <= upTo {
			return false, nil
		}
	}
	return true, nil
}

// left gives the changes that stand in the files after the given number, in their order, each with its number. The next frame
// comes behind all of them.
func (j *journal) left(after uint64) ([]*Pending, error) {
	found := map[uint64]mooring.Change{}
	j.seq = after
	for i, f := range j.files {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, fmt.Errorf("read journal: %w", err)
		}
		err := j.scan(f, j.sizes[i], func(seq uint64, c mooring.Change) {
			if seq > after {
				found[seq] = c
			}
		})
		if err != nil {
			return nil, fmt.Errorf("read journal %s: %w", f.Name(), err)
		}
	}
	list := make([]*Pending, 0, len(found))
	for _, seq := range slices.Sorted(maps.Keys(found)) {
		list = append(list, &Pending{change: found[seq], seq: seq})
		j.seq = seq
	}
	j.last = [2]uint64{j.seq, j.seq}
	return list, nil
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
