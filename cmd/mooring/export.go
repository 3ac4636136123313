package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"mooring/internal/apiclient"
	"mooring/internal/console"
)

type sessionsExport struct {
	remote
	ID     string `arg:"" completion:"none"          help:"Id or key of the session."`
	Format string `default:"jsonl" enum:"jsonl,markdown"             help:"jsonl, the session and then a message a line, or markdown."`
	Output string `default:"-"     help:"File to write, - for stdout." placeholder:"FILE"                          short:"o"`
}

var errFormat = errors.New("--json is --format jsonl; leave one of them out")

// Run writes the session. A file appears when it is whole.
func (c *sessionsExport) Run(p program, cli *commands) error {
	if c.JSON && c.Format != "jsonl" {
		return errFormat
	}
	// An interrupted export leaves no half of a file behind.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	client, id, err := c.session(ctx, p, cli, c.ID)
	if err != nil {
		return err
	}
	write := func(w io.Writer) error {
		return client.Copy(ctx, w, apiclient.SessionPath(id, "export"), query("format", c.Format))
	}
	switch {
	case c.Output != "-":
		return intoFile(c.Output, write)
	case p.terminal(p.stdout):
		clean := console.Clean(p.stdout)
		err = errors.Join(write(clean), clean.Close())
	default:
		err = write(p.stdout)
	}
	return unwritten("session", err)
}

// unwritten says what could not be written, unless it is the server that gave nothing to write.
func unwritten(what string, err error) error {
	if _, ok := errors.AsType[*apiclient.Error](err); ok || err == nil {
		return err
	}
	return undone{fmt.Errorf("write %s: %w", what, err)}
}

// intoFile writes beside the file and renames; what it holds is for its owner only. A link leads to the file that it names, and
// what is no file, such as a device or a pipe, is written into.
func intoFile(path string, write func(io.Writer) error) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if at, err := os.Stat(path); err == nil && !at.Mode().IsRegular() {
		return intoDevice(path, write)
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".mooring-*")
	if err != nil {
		return unwritten(path, err)
	}
	defer os.Remove(temp.Name()) //nolint:errcheck // gone after the rename
	err = write(temp)
	if err == nil {
		err = temp.Sync()
	}
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	return unwritten(path, err)
}

func intoDevice(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0) //nolint:gosec // the path is the user's own
	if err != nil {
		return unwritten(path, err)
	}
	return unwritten(path, errors.Join(write(f), f.Close()))
}
