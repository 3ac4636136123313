package main

import (
	"github.com/alecthomas/kong"

	"mooring/internal/completion"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run writes the script.
func (c *completionCommand) Run(p program, parsed *kong.Context) error {
	return completion.Write(p.stdout, c.Shell, parsed.Model)
}
