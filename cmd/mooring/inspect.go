package main

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"

	"mooring/internal/app"
	"mooring/internal/config"
)

type checkCommand struct {
	overrides

	Ready bool `help:"Ask the running server alone, and whether it is ready for requests."`
}

// Run says per line what is fine and what is not.
func (c *checkCommand) Run(p program, cli *commands) error {
	ctx := context.Background()
	if c.Ready {
		return c.ready(ctx, p, cli)
	}
	cfg, err := p.load(ctx, cli.Config, c.overrides)
	if err != nil {
		return err
	}
	if !app.Check(ctx, cfg, app.CheckDeps{Client: &http.Client{}, Store: app.CheckStore}, p.stdout) {
		return errNotFine
	}
	return nil
}

type configCommands struct {
	Schema schemaCommand `cmd:"" help:"Write the JSON schema of the configuration file."`
	Print  printCommand  `cmd:"" help:"Write the effective configuration, secrets masked."`
}

type schemaCommand struct{}

// Run writes the JSON schema.
func (schemaCommand) Run(p program) error {
	_, err := p.stdout.Write(config.Schema())
	return err
}

type printCommand struct {
	overrides
}

// Run writes the effective configuration.
func (c *printCommand) Run(p program, cli *commands) error {
	cfg, err := p.load(context.Background(), cli.Config, c.overrides)
	if err != nil {
		return err
	}
	return config.Print(p.stdout, cfg)
}

type versionCommand struct{}

// Run writes version, platform and compiler.
func (versionCommand) Run(p program) error {
	_, err := fmt.Fprintf(p.stdout, "mooring %s %s/%s %s\n", version(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	return err
}

// version gives the module's version, else the commit that the binary was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return strings.TrimPrefix(v, "v")
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	revision := settings["vcs.revision"]
	if revision == "" {
		return "devel"
	}
	if settings["vcs.modified"] == "true" {
		return "devel-" + revision[:min(12, len(revision))] + "-dirty"
	}
	return "devel-" + revision[:min(12, len(revision))]
}
