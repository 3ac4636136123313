package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// truncation counts the streams that lose their end when the upstream answers before it has read the request.
func truncation(ctx context.Context, r *rig, o options, table *strings.Builder) error {
	if !wanted(o, "truncation") {
		return nil
	}
	mock, err := r.start(ctx, "fakemodel", "-mock", "-early")
	if err != nil {
		return err
	}
	mooring, err := r.startMooring(ctx, mock.url)
	if err != nil {
		return err
	}
	defer r.stop(mooring)
	fmt.Fprint(table, "\n## Streams cut short by an upstream that answers at once\n\n| callers | streams | cut short or failed |\n|---|---|---|\n")
	for _, callers := range []int{1, 16} {
		const streams = 2000
		res, err := r.load(ctx, mooring.url, "-stream", "-warm", "0s", "-d", "10m",
			"-c", strconv.Itoa(callers), "-n", strconv.Itoa(streams/callers))
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "| %d | %d | %d %s |\n", callers, res.OK+res.Failed, res.Failed, res.Error)
	}
	return nil
}

// memory says what 10,000 sessions leave in the process.
func memory(ctx context.Context, r *rig, o options, table *strings.Builder) error {
	if !wanted(o, "memory") {
		return nil
	}
	mock, err := r.start(ctx, "fakemodel", "-mock")
	if err != nil {
		return err
	}
	mooring, err := r.startMooring(ctx, mock.url)
	if err != nil {
		return err
	}
	defer r.stop(mooring)
	fmt.Fprint(table, "\n## Memory\n\n| after | VmRSS | VmHWM |\n|---|---|---|\n")
	if err = mooring.memory(table, "the start"); err != nil {
		return err
	}
	res, err := r.load(ctx, mooring.url, "-warm", "0s", "-d", "10m", "-c", "32", "-n", "313", "-turns", "1", "-size", "2048")
	if err != nil {
		return err
	}
	return mooring.memory(table, fmt.Sprintf("%d sessions of 2 KB at c=32, %d failed", res.OK, res.Failed))
}

func (p *process) memory(table *strings.Builder, after string) error {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return fmt.Errorf("read memory of the process: %w", err)
	}
	fmt.Fprintf(table, "| %s | %s | %s |\n", after, field(status, "VmRSS"), field(status, "VmHWM"))
	return nil
}

func field(status []byte, name string) string {
	for line := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(line, name+":"); found {
			kb, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			return fmt.Sprintf("%.1f MB", float64(kb)/1024)
		}
	}
	return "unknown"
}
