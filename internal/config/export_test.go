package config

import "time"

// Preset gives a list entry, or the edge, the defaults that it has before its keys are read.
func Preset(v any) {
	if p, ok := v.(preset); ok {
		p.preset()
	}
}

// DurationText writes a duration as the file has it.
func DurationText(d time.Duration) string { return formatDuration(d) }
