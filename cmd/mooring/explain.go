package main

import (
	"context"
	"encoding/json"
	"strings"

	"mooring/internal/apiclient"
	"mooring/internal/console"
)

type explainCommand struct {
	remote
	Turn string `arg:"" completion:"none" help:"Id of the turn, from X-Mooring-Turn; or the id or key of a session, for its last turn."`
}

// Run says why the turn went where it went.
func (c *explainCommand) Run(p program, cli *commands) error {
	client, err := c.client(p, cli)
	if err != nil {
		return err
	}
	ctx := context.Background()
	turn, raw, err := find(ctx, client, c.Turn)
	switch {
	case err != nil:
		return err
	case c.JSON:
		return console.JSON(p.stdout, raw)
	}
	var session apiclient.Session
	if _, err := client.Get(ctx, apiclient.SessionPath(string(turn.SessionID)), nil, &session); err != nil {
		return p.page().Turn(turn, nil) // the turn was read, which is what was asked for
	}
	return p.page().Turn(turn, &session)
}

// find reads the turn of that id, or the last one of that session.
func find(ctx context.Context, client *apiclient.Client, name string) (apiclient.Turn, json.RawMessage, error) {
	const idLength = len("trn_") + 26
	if len(name) != idLength || !strings.HasPrefix(name, "trn_") {
		return client.LastTurn(ctx, name)
	}
	var turn apiclient.Turn
	raw, err := client.Get(ctx, apiclient.TurnPath(name), nil, &turn)
	return turn, raw, err
}
