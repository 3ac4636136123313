package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"mooring/internal/app"
	"mooring/internal/config"
	"mooring/internal/telemetry"
)

type serveCommand struct {
	overrides
}

// Run serves until a signal ends it.
func (c *serveCommand) Run(p program, cli *commands) error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(signals)

	ctx := context.Background()
	cfg, err := p.load(ctx, cli.Config, c.overrides)
	if err != nil {
		return err
	}
	level := &slog.LevelVar{}
	level.Set(levelOf(cfg))
	log := telemetry.NewLogger(p.stderr, level, telemetry.Format(cfg.Telemetry.Format))
	server, err := app.New(cfg, app.Options{Log: log, Version: version(), Lull: app.Lull})
	if err != nil {
		return err
	}
	if err := server.Start(ctx); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(p.stdout, "listening on http://%s\n", server.Addr()); err != nil {
		log.LogAttrs(ctx, slog.LevelWarn, "stdout is closed", slog.Any("err", err))
	}
	for sig := range signals {
		if sig != syscall.SIGHUP {
			break
		}
		reload := func() error {
			next, err := p.load(ctx, cli.Config, c.overrides)
			if err != nil {
				return err
			}
			if err := server.Reload(next); err != nil { //nolint:contextcheck // what a reload starts outlives it
				return err
			}
			level.Set(levelOf(next))
			return nil
		}
		if err := reload(); err != nil {
			log.LogAttrs(ctx, slog.LevelError, "configuration not reloaded, nothing changed", slog.Any("err", err))
			continue
		}
		log.LogAttrs(ctx, slog.LevelInfo, "configuration reloaded")
	}
	return drain(ctx, server, signals, log)
}

// drain stops the server; a second signal ends the program at once.
func drain(ctx context.Context, server *app.App, signals <-chan os.Signal, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, app.DrainTimeout)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- server.Stop(ctx) }()
	for {
		select {
		case err := <-done:
			if errors.Is(err, context.DeadlineExceeded) {
				log.LogAttrs(ctx, slog.LevelWarn, "gave up waiting for running turns", slog.Duration("after", app.DrainTimeout))
				return nil
			}
			return err
		case sig := <-signals:
			if sig == syscall.SIGHUP {
				continue // too late for another configuration
			}
			return errors.New("ended before running turns were done")
		}
	}
}

func levelOf(cfg config.Config) slog.Level {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Telemetry.Log)); err != nil {
		return slog.LevelInfo // no checked configuration comes here
	}
	return level
}
