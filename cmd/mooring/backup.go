package main

import (
	"context"
	"fmt"
	"strings"

	"mooring/internal/app"
	"mooring/internal/config"
)

type backupCommand struct {
	File  string `arg:"" help:"File to write; it must not be there yet."`
	Store string `help:"Where sessions are kept." placeholder:"DSN"`
}

// Run copies the store, beside a server that has it or without one.
func (c *backupCommand) Run(p program, cli *commands) error {
	cfg, err := config.Load(config.Source{Path: cli.Config, Env: p.env, Store: c.Store})
	if err != nil {
		return err
	}
	done, err := app.BackUp(context.Background(), cfg, c.File)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "%s is in %s (%s)\n", cfg.Store, strings.Join(done.Files, " and "), config.Bytes(done.Bytes))
	return err
}
