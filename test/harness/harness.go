// Package harness runs the built program from outside, for the programs that put it to the proof (test/fault, test/soak,
// test/load): replicas in processes of their own, a PostgreSQL of their own, model servers that tell what they were asked,
// connections that can be cut, clients that note what they saw, and the judge who holds the one against the other.
//
// It knows the outside contract only, nothing of the product's inside. Every process it starts is ended by Close.
package harness

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"mooring/test/product"
)

// Stage is a folder for one run with the binary in it, and everything that has to be ended with the run.
type Stage struct {
	Dir    string
	Binary product.Binary

	mu  sync.Mutex // guards the field below
	end []func()
}

// NewStage makes the folder, and builds the binary into it unless one is named.
func NewStage(ctx context.Context, binary string) (*Stage, error) {
	dir, err := os.MkdirTemp("", "mooring-proof-")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	s := &Stage{Dir: dir}
	if err = os.Chmod(dir, 0o755); err != nil { //nolint:gosec // PostgreSQL, which is another user, has its own folder in it
		return nil, errors.Join(fmt.Errorf("open folder: %w", err), os.RemoveAll(dir))
	}
	if binary != "" {
		binary, err = filepath.Abs(binary)
		s.Binary = product.Binary(binary)
		return s, err
	}
	if s.Binary, err = product.Build(dir); err != nil { //nolint:contextcheck // nobody waits for a build to be broken off
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// Folder makes a folder of its own below the stage's.
func (s *Stage) Folder(name string) (string, error) {
	dir, err := os.MkdirTemp(s.Dir, name+"-")
	if err != nil {
		return "", fmt.Errorf("make folder: %w", err)
	}
	return dir, nil
}

// Defer has something done at the end, the last one first.
func (s *Stage) Defer(end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end = append(s.end, end)
}

// Close ends what runs and removes the folder.
func (s *Stage) Close() {
	s.Drop()
	_ = os.RemoveAll(s.Dir)
}

// Drop ends what runs and keeps the folder: for one scene after another.
func (s *Stage) Drop() {
	s.mu.Lock()
	end := s.end
	s.end = nil
	s.mu.Unlock()
	for _, do := range slices.Backward(end) {
		do()
	}
}

// Now is the time of the programs that measure.
func Now() time.Time { return time.Now() } //nolint:forbidigo // these are programs of their own, and clocks are what they read

// Chance is what is random in one repetition: the same seed and number give the same one.
func Chance(seed uint64, repetition int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(repetition))) //nolint:gosec // it has to be repeatable, not secret
}

// Between is a random time from low to high.
func Between(r *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(r.Int64N(int64(high-low)+1))
}

// Sleep waits, unless done is closed before.
func Sleep(done <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-done:
	}
}

// FreeAddr is a loopback address that nobody listens on.
func FreeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at once
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return l.Addr().String(), l.Close()
}
