package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// StartProgram builds a program of this module, once, and runs it until the end of the stage; it has to say where it listens.
func (s *Stage) StartProgram(ctx context.Context, pkg string, args ...string) (*Process, string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, "", fmt.Errorf("find the module: %w", err)
	}
	file := filepath.Join(s.Dir, filepath.Base(pkg))
	if _, missing := os.Stat(file); missing != nil {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", file, pkg) //nolint:gosec // names of this module
		cmd.Dir = strings.TrimSpace(string(root))
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, failed := cmd.CombinedOutput(); failed != nil {
			return nil, "", fmt.Errorf("build %s: %w\n%s", pkg, failed, out)
		}
	}
	p, err := launch(exec.Command(file, args...), file+".log") //nolint:gosec,noctx // it was just built; the stage ends it
	if err != nil {
		return nil, "", err
	}
	s.Defer(p.Kill)
	line, err := p.FirstLine()
	_, url, found := strings.Cut(line, "listening on ")
	if err != nil || !found {
		return nil, "", fmt.Errorf("%s said %q: %w", pkg, line, err)
	}
	return p, url, nil
}
