package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestIntoFile(t *testing.T) {
	t.Parallel()
	say := func(words string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, words)
			return err
		}
	}
	dir := t.TempDir()
	file, link := filepath.Join(dir, "talk.md"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, []byte("before"), 0o600), os.Symlink(file, link)); err != nil {
		t.Fatal(err)
	}
	if err := intoFile(link, say("after")); err != nil {
		t.Fatal(err)
	}
	at, err := os.Lstat(link)
	text, rerr := os.ReadFile(file)
	if err != nil || rerr != nil || at.Mode().IsRegular() || string(text) != "after" {
		t.Errorf("the link is %v, its file holds %q; want it to lead to what was written", at.Mode(), text)
	}
	broken := errors.New("broken off")
	if err := intoFile(file, func(io.Writer) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("error = %v", err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "after" {
		t.Errorf("after a failure the file holds %q, %v; want what it held", text, err)
	}
	if err := intoFile(os.DevNull, say("x")); err != nil {
		t.Fatal(err)
	}
	if null, err := os.Stat(os.DevNull); err != nil || null.Mode().IsRegular() {
		t.Errorf("%s is %v, %v; want it to be what it was", os.DevNull, null.Mode(), err)
	}
}
