package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
	"unsafe"

	"mooring/test/harness"
)

// diskSize is small, so that it is soon full, and large enough for what SQLite lets its log grow to under load (64 MiB) and as much again,
// which emptying it takes.
const diskSize = "192m"

// onSmallDisk plays on a disk of memory where it may be mounted, else in the folder of the run with a bound on the size of files.
func onSmallDisk(ctx context.Context, p *play) (*cast, error) {
	dir, err := p.stage.Folder("disk")
	if err != nil {
		return nil, err
	}
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size="+diskSize); err != nil {
		p.say("  the bound is RLIMIT_FSIZE: no disk can be mounted here (%v)\n", err)
		return p.enact(ctx, plan{replicas: 1})
	}
	p.say("  the disk is a tmpfs of %s\n", diskSize)
	p.stage.Defer(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return p.enact(ctx, plan{replicas: 1, store: dir})
}

// diskFull fills the disk but for a few bytes, and frees it again.
func diskFull(ctx context.Context, c *cast, r *repetition) error {
	full := r.between(100*time.Millisecond, 1500*time.Millisecond)
	room := r.chance.Int64N(64 << 10)
	free, err := c.fill(room)
	if err != nil {
		return err
	}
	harness.Sleep(ctx.Done(), full)
	r.note = fmt.Sprintf("%d bytes left for %s", room, rounded(full))
	return free()
}

// fill leaves so much room; what it gives takes the bound away.
func (c *cast) fill(room int64) (free func() error, err error) {
	dirs, _ := filepath.Glob(filepath.Join(c.stage.Dir, "disk-*", "mooring.db"))
	if len(dirs) == 0 {
		return c.bound(room)
	}
	name := filepath.Join(filepath.Dir(dirs[0]), "filler")
	f, err := os.Create(name) //nolint:gosec // in the folder of this run
	if err != nil {
		return nil, fmt.Errorf("make filler: %w", err)
	}
	block := make([]byte, 64<<10)
	for err == nil {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return nil, fmt.Errorf("fill the disk: %w", err)
	}
	size, err := f.Seek(0, 2)
	if err == nil {
		err = f.Truncate(max(0, size-room))
	}
	return func() error { return os.Remove(name) }, errors.Join(err, f.Close())
}

// bound lets the process write no file beyond the size of its largest one and some room.
func (c *cast) bound(room int64) (free func() error, err error) {
	var largest int64
	files, _ := filepath.Glob(filepath.Join(c.stage.Dir, "r1-*", "mooring.db*"))
	for _, name := range files {
		if info, err := os.Stat(name); err == nil {
			largest = max(largest, info.Size())
		}
	}
	pid := c.replicas[0].PID()
	was := &syscall.Rlimit{}
	if err := limit(pid, nil, was); err != nil {
		return nil, err
	}
	tight := &syscall.Rlimit{Cur: uint64(largest + room), Max: was.Max} //nolint:gosec // sizes are positive
	return func() error { return limit(pid, was, nil) }, limit(pid, tight, nil)
}

// limit sets and reads the bound on another process's files.
func limit(pid int, set, was *syscall.Rlimit) error {
	const fileSize = 1                                                                                                                                  // RLIMIT_FSIZE
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), fileSize, uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(was)), 0, 0) //nolint:gosec // the kernel's own interface
	if errno != 0 {
		return fmt.Errorf("bound the files of %d: %w", pid, errno)
	}
	return nil
}
