package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mooring/test/harness"
)

const heading = `| fault | repetitions | requests | answered | errors | connections lost | sessions | turns | interrupted | lost | stored twice | split or strayed | left running | two states | false end | unclear | not expected | no recovery | recovery p50, most | left turns ended after |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
`

func row(b *strings.Builder, s scene, v *verdict) {
	fmt.Fprintf(b, "| %s | %d | %d | %d | %d | %d | %d | %d | %d |", s.title, v.repetitions, v.Requests, v.Answers, v.Errors, v.Cuts, v.Sessions, v.Turns, v.Interrupted)
	for _, kinds := range [][]string{
		{harness.Lost},
		{harness.Doubled},
		{harness.Split, harness.Strayed},
		{harness.Stuck},
		{harness.Unstable},
		{harness.Misled},
		{harness.Unclear},
		{harness.Unexpected},
		{harness.NoReturn},
	} {
		fmt.Fprintf(b, " %d |", v.Count(kinds...))
	}
	fmt.Fprintf(b, " %s | %s |\n", spread(v.Recovery), spread(v.Settled))
}

// spread is the median and the longest of some times.
func spread(times []time.Duration) string {
	if len(times) == 0 {
		return "–"
	}
	times = slices.Clone(times)
	slices.Sort(times)
	return fmt.Sprintf("%s, %s", rounded(times[len(times)/2]), rounded(times[len(times)-1]))
}

func rounded(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}

// mostFaults of one scene are printed in words: the first ones tell, the rest repeats them.
const mostFaults = 12

func (p *play) faults(v *harness.Verdict) {
	for i, f := range v.Faults {
		if i == mostFaults {
			p.say("  … and %d more\n", len(v.Faults)-i)
			return
		}
		p.say("  %s: %s\n", strings.ToUpper(f.What), f.Detail)
	}
}

func (p *play) say(format string, args ...any) { _, _ = fmt.Fprintf(p.out, format, args...) }
