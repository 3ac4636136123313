package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"mooring"
	"mooring/internal/apiclient"
	"mooring/internal/console"
)

type tenantsCommands struct {
	List    tenantsList    `cmd:"" help:"List the tenant edge's slots and whose they are."`
	Show    tenantsShow    `cmd:"" help:"Show a slot, or the one of a tenant."`
	Move    tenantsMove    `cmd:"" help:"Move a tenant to another slot, in two steps with the copy of its state between them; then release the old slot."`
	Release tenantsRelease `cmd:"" help:"Take a slot from its tenant; with --wiped, make it free for anybody."`
}

type tenantsList struct{ remote }

// Run lists slots.
func (c *tenantsList) Run(p program, cli *commands) error {
	client, err := c.client(p, cli)
	if err != nil {
		return err
	}
	var list apiclient.Places
	raw, err := client.Get(context.Background(), "/api/tenants", nil, &list)
	switch {
	case err != nil:
		return err
	case c.JSON:
		return console.JSON(p.stdout, raw)
	}
	return p.page().Places(list.Tenants)
}

type tenantsShow struct {
	remote
	Who     string `arg:"" completion:"none"                        help:"Slot, or tenant key as in the header that slots are sent."              optional:""`
	Subject string `help:"The tenant that the identity source names so: its id (sub) there, not an address." placeholder:"SUBJECT"`
}

var errWho = errors.New("name a slot or a tenant key, or a person with --subject")

// Run shows a slot.
func (c *tenantsShow) Run(p program, cli *commands) error {
	if (c.Who == "") == (c.Subject == "") {
		return errWho
	}
	client, err := c.client(p, cli)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if c.Subject == "" {
		return c.one(ctx, p, client)
	}
	var list apiclient.Places
	raw, err := client.Get(ctx, "/api/tenants", query("subject", c.Subject), &list)
	if err != nil || len(list.Tenants) != 1 {
		return err
	}
	return c.show(p, raw, &list.Tenants[0])
}

func (c *tenantsShow) one(ctx context.Context, p program, client *apiclient.Client) error {
	var place apiclient.Place
	raw, err := client.Get(ctx, apiclient.TenantPath(c.Who), nil, &place)
	if err != nil {
		return err
	}
	return c.show(p, raw, &place)
}

func (c *tenantsShow) show(p program, raw json.RawMessage, place *apiclient.Place) error {
	if c.JSON {
		return console.JSON(p.stdout, raw)
	}
	return p.page().Place(place)
}

type tenantsMove struct {
	remote
	Who    string           `arg:"" completion:"none" help:"Slot, or tenant key."`
	To     mooring.SlotName `arg:"" completion:"none" help:"Slot to move to; its own slot lets the tenant in there again."`
	Copied bool             `help:"The state has been copied: let the tenant in at the new slot."`
}

// Run moves a tenant.
func (c *tenantsMove) Run(p program, cli *commands) error {
	place, err := order(p, cli, &c.remote, apiclient.TenantPath(c.Who, "move"), map[string]any{"to": c.To, "copied": c.Copied})
	if err != nil {
		return err
	}
	old, moved := strings.CutPrefix(place.Note, "moved from ")
	switch {
	case place.State == mooring.SlotDraining:
		p.note(fmt.Sprintf("%s serves nobody now: stop its web UI, copy all that web UI and its agent keep (the whole volume, signing keys included) to %s, start the web UI there, then run this again with --copied",
			place.Slot, c.To))
	case c.Copied && moved:
		old, _, _ = strings.Cut(old, ";")
		p.note(fmt.Sprintf("%s serves its tenant now. %s still holds the tenant's data and serves nobody: remove its container and its volume and start it anew, then run `mooring tenants release %s --wiped` to give it to others",
			place.Slot, old, old))
	}
	return nil
}

type tenantsRelease struct {
	remote
	Who   string `arg:"" completion:"none"                                                      help:"Slot, or tenant key."`
	Wiped bool   `help:"Its container and its volume were made anew: the slot is free for anybody from now on."`
}

// Run releases a slot.
func (c *tenantsRelease) Run(p program, cli *commands) error {
	place, err := order(p, cli, &c.remote, apiclient.TenantPath(c.Who, "release"), map[string]any{"wiped": c.Wiped})
	if err == nil && place.State == mooring.SlotQuarantined {
		p.note(fmt.Sprintf("%s serves nobody now and keeps its data; its tenant gets it back by returning. Remove its web UI's container and volume, start it anew and run this with --wiped to give the slot to others", place.Slot))
	}
	return err
}

// order has the server do something with a slot and shows how it is then.
func order(p program, cli *commands, r *remote, path string, body any) (apiclient.Place, error) {
	var place apiclient.Place
	client, err := r.client(p, cli)
	if err != nil {
		return place, err
	}
	raw, err := client.Post(context.Background(), path, body, &place)
	switch {
	case err != nil:
		return place, err
	case r.JSON:
		return place, console.JSON(p.stdout, raw)
	}
	return place, p.page().Place(&place)
}
