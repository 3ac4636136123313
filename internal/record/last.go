package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"mooring"
)

// JournalFiles names the files of the journal beside a store's.
func JournalFiles(path string) [2]string { return [2]string{path + "-log0", path + "-log1"} }

// LastJournaled gives the number of the last change in the journal beside a store's file, 0 where it holds none. The process that
// writes it may go on meanwhile: what is safe before the call counts.
func LastJournaled(path string) (last uint64, err error) {
	c, err := newCodec()
	if err != nil {
		return 0, err
	}
	for _, name := range JournalFiles(path) {
		f, err := os.Open(name) //nolint:gosec // the store's own path
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("read journal: %w", err)
		}
		end, err := f.Seek(0, io.SeekEnd)
		if err == nil {
			_, err = f.Seek(0, io.SeekStart)
		}
		if err == nil {
			err = c.scan(f, end, func(seq uint64, _ mooring.Change) { last = max(last, seq) })
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return 0, fmt.Errorf("read journal %s: %w", name, err)
		}
	}
	return last, nil
}
