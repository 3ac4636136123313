package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ErrInUse says that another process serves the file: two would ruin each other's journal and interrupt each other's turns.
var ErrInUse = errors.New("is in use by another mooring")

// errHeld is tryLock's: somebody else has the lock.
var errHeld = errors.New("the lock is held")

// lock takes the store file for this process until the file that it gives is closed. It locks a file of its own beside it: the
// database has locks of its own, which closing any handle to it would drop.
func lock(path string) (io.Closer, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // whatever name it is opened by
	}
	f, err := os.OpenFile(path+"-lock", os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the path is the operator's own configuration
	if err != nil {
		return nil, err
	}
	if err = errors.Join(f.Chmod(0o600), tryLock(f)); err == nil {
		return f, nil
	}
	if errors.Is(err, errHeld) {
		err = ErrInUse
	} else {
		err = fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return nil, errors.Join(err, f.Close())
}

func unlock(held io.Closer) error {
	if held == nil {
		return nil
	}
	return held.Close()
}
