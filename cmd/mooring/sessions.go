package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"mooring/internal/apiclient"
	"mooring/internal/console"
)

type sessionsCommands struct {
	List   sessionsList   `cmd:"" help:"List sessions, newest activity first."`
	Show   sessionsShow   `cmd:"" help:"Show a session and its last messages."`
	Tree   sessionsTree   `cmd:"" help:"Draw a session with its sub-agents and forks, and what they took."`
	Search sessionsSearch `cmd:"" help:"Find messages by their text."`
	Export sessionsExport `cmd:"" help:"Write a whole session to stdout or a file."`
	Delete sessionsDelete `cmd:"" help:"Delete a session for good."`
}

type sessionsList struct {
	remote
	Q        string `help:"Part of the title or key."             placeholder:"TEXT"`
	Client   string `help:"Client program."                       placeholder:"NAME"`
	Project  string `help:"Project."                              placeholder:"NAME"`
	Upstream string `help:"Upstream that the session is at."      placeholder:"NAME"`
	State    string `default:""                                   enum:",running,completed,failed,cancelled,interrupted" help:"State of the last turn: running, completed, failed, cancelled or interrupted." placeholder:"STATE"`
	Kind     string `default:""                                   enum:",main,subagent,side"                  help:"Kind of session: main, subagent or side."                             placeholder:"KIND"`
	Parent   string `help:"Sub-agents and forks of this session." placeholder:"ID"`
	Limit    int    `default:"20"                                 help:"How many at most."                               placeholder:"N"`
	All      bool   `help:"All of them."`
}

var errLimit = errors.New("--limit must be 1 or more; --all lists everything")

// Run lists sessions.
func (c *sessionsList) Run(p program, cli *commands) error {
	limit := c.Limit
	if limit < 1 {
		return errLimit
	}
	if c.All {
		limit = apiclient.Everything
	}
	client, err := c.client(p, cli)
	if err != nil {
		return err
	}
	ctx := context.Background()
	parent, err := client.Resolve(ctx, c.Parent)
	if err != nil {
		return err
	}
	list, err := client.Sessions(ctx, query("q", c.Q, "client", c.Client, "project", c.Project, "upstream", c.Upstream,
		"state", c.State, "kind", c.Kind, "parent", parent), limit)
	if err != nil {
		return err
	}
	switch {
	case c.JSON:
		raw, err := list.JSON()
		if err != nil {
			return err
		}
		return console.JSON(p.stdout, raw)
	case len(list.Sessions) == 0:
		p.note("no sessions")
		return nil
	}
	if err := p.page().Sessions(list); err != nil {
		return err
	}
	if list.Next != nil {
		p.note(fmt.Sprintf("%d of %d; --all lists the rest", len(list.Sessions), list.Total))
	}
	return nil
}

type sessionsShow struct {
	remote
	ID       string `arg:"" completion:"none" help:"Id or key of the session; the short id of a list will do."`
	Messages int    `default:"10"                                                            help:"How many of the last messages, at most 200." placeholder:"N"`
}

var errMessages = errors.New("--messages must be from 0 to 200; `mooring sessions export` writes the whole session")

// Run shows a session.
func (c *sessionsShow) Run(p program, cli *commands) error {
	if c.Messages < 0 || c.Messages > 200 {
		return errMessages
	}
	ctx := context.Background()
	client, id, err := c.session(ctx, p, cli, c.ID)
	if err != nil {
		return err
	}
	var session apiclient.Session
	raw, err := client.Get(ctx, apiclient.SessionPath(id), nil, &session)
	switch {
	case err != nil:
		return err
	case c.JSON:
		return console.JSON(p.stdout, raw)
	}
	var end apiclient.MessagePage
	if c.Messages > 0 {
		path := apiclient.SessionPath(string(session.ID), "messages")
		if _, err := client.Get(ctx, path, query("limit", strconv.Itoa(c.Messages)), &end); err != nil {
			return err
		}
	}
	return p.page().Session(session, end)
}

type sessionsTree struct {
	remote
	ID string `arg:"" completion:"none" help:"Id or key of the session."`
}

// Run draws the tree.
func (c *sessionsTree) Run(p program, cli *commands) error {
	ctx := context.Background()
	client, id, err := c.session(ctx, p, cli, c.ID)
	if err != nil {
		return err
	}
	var root apiclient.Session
	raw, err := client.Get(ctx, apiclient.SessionPath(id, "tree"), nil, &root)
	switch {
	case err != nil:
		return err
	case c.JSON:
		return console.JSON(p.stdout, raw)
	}
	return p.page().Tree(root)
}

type sessionsSearch struct {
	remote
	Query []string `arg:"" completion:"none"       help:"Words to look for, in any script."`
	Limit int      `default:"20" help:"How many at most."                 placeholder:"N"`
}

// Run searches.
func (c *sessionsSearch) Run(p program, cli *commands) error {
	if c.Limit < 1 {
		return errors.New("--limit must be 1 or more")
	}
	client, err := c.client(p, cli)
	if err != nil {
		return err
	}
	var found apiclient.Findings
	raw, err := client.Get(context.Background(), apiclient.SearchPath,
		query("q", strings.Join(c.Query, " "), "limit", strconv.Itoa(c.Limit)), &found)
	switch {
	case err != nil:
		return err
	case c.JSON:
		return console.JSON(p.stdout, raw)
	}
	if found.Degraded {
		p.note("the index lags behind: what was said last may be missing")
	}
	if len(found.Results) == 0 {
		p.note("nothing found")
		return nil
	}
	return p.page().Findings(found)
}
