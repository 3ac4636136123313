package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Patience bounds every wait for a process: a machine that does other work too is slow.
const Patience = 90 * time.Second

// Process is a program that runs beside this one.
type Process struct {
	cmd  *exec.Cmd
	said *lines
	done chan struct{} // closed when it has ended
	err  error         // how; read it after done
}

// launch starts a program whose standard error goes to the end of a file.
func launch(cmd *exec.Cmd, log string) (*Process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // a file of this run
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	defer func() { _ = file.Close() }() // the process has its own
	p := &Process{cmd: cmd, said: &lines{first: make(chan string, 1)}, done: make(chan struct{})}
	cmd.Stderr, cmd.Stdout = file, p.said
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	go func() { // ends with the process, which its owner ends
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// FirstLine is the first line on the program's standard output.
func (p *Process) FirstLine() (string, error) {
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case line := <-p.said.first:
		return line, nil
	case <-p.done:
		return "", fmt.Errorf("it ended before it was ready: %w", errors.Join(p.err, errEnded))
	case <-timer.C:
		return "", errSlow
	}
}

var (
	errEnded = errors.New("the process has ended")
	errSlow  = fmt.Errorf("not within %s", Patience)
)

// PID is the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Running says whether it runs.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Kill ends it as `kill -9` does, and waits until it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Signal sends a signal.
func (p *Process) Signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("signal %s: %w", s, err)
	}
	return nil
}

// End sends a signal and waits; what it gives is nil where the process then exits with 0.
func (p *Process) End(s syscall.Signal) error {
	if !p.Running() {
		return errEnded
	}
	if err := p.Signal(s); err != nil {
		return err
	}
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case <-p.done:
		return p.err
	case <-timer.C:
		p.Kill()
		return errSlow
	}
}

// lines hands out the first line and forgets the rest.
type lines struct {
	first chan string

	mu  sync.Mutex // guards the fields below
	buf bytes.Buffer
	had bool
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.had {
		return len(b), nil
	}
	l.buf.Write(b)
	if line, _, whole := strings.Cut(l.buf.String(), "\n"); whole {
		l.had = true
		l.first <- line
	}
	return len(b), nil
}

// Children are the processes that a process has begun and that run, theirs included.
func Children(pid int) []int {
	var all []int
	for _, task := range folders(fmt.Sprintf("/proc/%d/task", pid)) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task))
		if err != nil {
			continue // it has ended since
		}
		for field := range strings.FieldsSeq(string(b)) {
			child := number(field)
			all = append(append(all, child), Children(child)...)
		}
	}
	return all
}

func folders(dir string) []string {
	entries, _ := os.ReadDir(dir)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}
