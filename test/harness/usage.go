package harness

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Use is what a process has taken so far.
type Use struct {
	Resident int64         // bytes of memory now
	Peak     int64         // bytes of memory at the most
	CPU      time.Duration // of processor time, of all its threads
}

// ticks is how many of them the kernel counts a second: USER_HZ, 100 on every Linux that Go runs on.
const ticks = 100

// UseOf reads what a process takes.
func UseOf(pid int) (u Use, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return u, fmt.Errorf("read memory of the process: %w", err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return u, fmt.Errorf("read time of the process: %w", err)
	}
	u.Resident, u.Peak = kilobytes(status, "VmRSS"), kilobytes(status, "VmHWM")
	_, rest, _ := strings.Cut(string(stat), ") ") // the name before may hold anything
	if fields := strings.Fields(rest); len(fields) > 12 {
		u.CPU = time.Duration(number(fields[11])+number(fields[12])) * time.Second / ticks
	}
	return u, nil
}

func kilobytes(status []byte, name string) int64 {
	for line := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(line, name+":"); found {
			return int64(number(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))) << 10
		}
	}
	return 0
}

func number(s string) int {
	n, _ := strconv.Atoi(strings.TrimSpace(s))
	return n
}

// LoadAverage is how busy the machine was in the last minute, as it says so itself: "1.20 on 2 cores".
func LoadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	one, _, _ := strings.Cut(string(b), " ")
	return fmt.Sprintf("%s on %d cores", one, bytes.Count(cpu, []byte("processor\t:")))
}

// Metrics are the program's own figures by name; those with labels are left out.
type Metrics map[string]float64

// Metrics reads /metrics of a server without keys.
func (r *Replica) Metrics(ctx context.Context) (Metrics, error) {
	b, err := r.read(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	m := Metrics{}
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		name, value, found := strings.Cut(lines.Text(), " ")
		if !found || strings.ContainsAny(name, "#{") {
			continue
		}
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			m[name] = v
		}
	}
	return m, nil
}
