package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"mooring"
	"mooring/internal/apiclient"
	"mooring/internal/console"
)

type sessionsDelete struct {
	remote
	ID  string `arg:"" completion:"none" help:"Id or key of the session."`
	Yes bool   `help:"Do not ask." short:"y"`
}

var errKept = undone{errors.New("nothing deleted")}

// Run deletes the session. Only at a terminal does it ask before: a script has nobody to answer.
func (c *sessionsDelete) Run(p program, cli *commands) error {
	ctx := context.Background()
	client, id, err := c.session(ctx, p, cli, c.ID)
	if err != nil {
		return err
	}
	var session apiclient.Session
	if _, err = client.Get(ctx, apiclient.SessionPath(id), nil, &session); err != nil {
		return err
	}
	if !c.Yes && p.terminal(p.stdin) && p.terminal(p.stdout) && !p.agreed(session) {
		return errKept
	}
	// By its id: what was agreed to goes, whatever the key has come to mean since.
	if err = client.Delete(ctx, apiclient.SessionPath(string(session.ID))); err != nil {
		return err
	}
	if c.JSON {
		return p.deleted(session.ID)
	}
	_, err = fmt.Fprintln(p.stdout, "deleted", console.Line(string(session.ID)))
	return err
}

// agreed asks whether a session is to go.
func (p program) agreed(s apiclient.Session) bool {
	_, _ = fmt.Fprintf(p.stderr, "Delete session %s, %q, with %d turns, for good? [y/N] ", s.ID, console.Line(s.Title), s.Turns)
	answer, _ := bufio.NewReader(p.stdin).ReadString('\n') // no answer is a no
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// deleted stands in for the server's JSON, which a deletion has none of.
func (p program) deleted(id mooring.SessionID) error {
	raw, err := json.Marshal(struct {
		ID      mooring.SessionID `json:"id"`
		Deleted bool              `json:"deleted"`
	}{id, true})
	if err != nil {
		return err
	}
	return console.JSON(p.stdout, raw)
}
