package sqlstore

import (
	"context"
	"database/sql"

	"mooring"
)

// Whoever is about to change slots takes this row first, so that no two replicas do it at once.
const holdSlots = `UPDATE edge_book SET slots = slots`

const countSlotChange = `UPDATE edge_book SET slots = slots + 1`

const slotColumns = `name, state, COALESCE(tenant_key, ''), key_id, epoch, claimed_at, seen_at, note`

const slotOfTenant = `SELECT ` + slotColumns + ` FROM slot WHERE tenant_key = $1`

const slotByName = `SELECT ` + slotColumns + ` FROM slot WHERE name = $1`

const allSlots = `SELECT ` + slotColumns + ` FROM slot ORDER BY name`

const putSlot = `INSERT INTO slot (name, state, tenant_key, key_id, epoch, claimed_at, seen_at, note) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
	ON CONFLICT (name) DO UPDATE SET state = excluded.state, tenant_key = excluded.tenant_key, key_id = excluded.key_id, epoch = excluded.epoch,
		claimed_at = excluded.claimed_at, seen_at = excluded.seen_at, note = excluded.note`

const emptySlot = `UPDATE slot SET tenant_key = NULL WHERE name = $1`

const seenSlot = `UPDATE slot SET seen_at = $2 WHERE tenant_key = $1 AND seen_at < $2`

func (w *writer) claimSlot(ctx context.Context, c *mooring.ClaimSlot) error {
	c.Err = nil
	if _, err := w.exec(ctx, holdSlots); err != nil {
		return err
	}
	has, found, err := w.slot(ctx, slotOfTenant, text(c.Key))
	if err != nil {
		return err
	}
	if found {
		if has.State == mooring.SlotQuarantined { // its tenant is back
			has.State, has.SeenAt = mooring.SlotClaimed, c.At
			err = w.putSlot(ctx, has)
		}
		c.Won = has
		return err
	}
	for _, name := range c.Order {
		is, found, err := w.slot(ctx, slotByName, text(name))
		if err != nil {
			return err
		}
		if found && is.State != mooring.SlotFree {
			continue
		}
		c.Won = mooring.Claim{
			Slot: name, State: mooring.SlotClaimed, Key: c.Key, KeyID: c.KeyID, Epoch: is.Epoch + 1, ClaimedAt: c.At, SeenAt: c.At, Note: is.Note,
		}
		return w.putSlot(ctx, c.Won)
	}
	c.Err = mooring.Errorf(mooring.CodeSlotsFull, "No place is free.")
	return nil
}

func (w *writer) changeSlots(ctx context.Context, c *mooring.SlotChange) error {
	c.Err = nil
	if _, err := w.exec(ctx, holdSlots); err != nil {
		return err
	}
	for i := range c.Was {
		want := c.Was[i]
		is, found, err := w.slot(ctx, slotByName, text(want.Slot))
		if err != nil {
			return err
		}
		if !found {
			is = mooring.Claim{Slot: want.Slot, State: mooring.SlotFree}
		}
		if is.State != want.State || is.Key != want.Key || is.Epoch != want.Epoch {
			c.Err = mooring.Errorf(mooring.CodeSlotChanged, "The slot %s has changed meanwhile; look again.", want.Slot)
			return nil
		}
	}
	for i := range c.Now { // a key moves: no two rows may have it at any time
		if _, err := w.exec(ctx, emptySlot, text(c.Now[i].Slot)); err != nil {
			return err
		}
	}
	for i := range c.Now {
		if err := w.putSlot(ctx, c.Now[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) slotSeen(ctx context.Context, c *mooring.SlotSeen) error {
	c.Err = nil
	_, err := w.exec(ctx, seenSlot, text(c.Key), micros(c.At))
	return err
}

// putSlot writes a slot and counts that.
func (w *writer) putSlot(ctx context.Context, c mooring.Claim) error {
	if _, err := w.exec(ctx, countSlotChange); err != nil {
		return err
	}
	key := sql.NullString{String: text(c.Key), Valid: c.Key != ""}
	_, err := w.exec(ctx, putSlot, text(c.Slot), text(c.State), key, c.KeyID, c.Epoch, micros(c.ClaimedAt), micros(c.SeenAt), text(c.Note))
	return err
}

func (w *writer) slot(ctx context.Context, query, name string) (mooring.Claim, bool, error) {
	var c mooring.Claim
	found, err := w.first(ctx, claimRow(&c), query, name)
	return c, found, err
}

func claimRow(c *mooring.Claim) []any {
	return []any{&c.Slot, &c.State, &c.Key, &c.KeyID, &c.Epoch, moment{&c.ClaimedAt}, moment{&c.SeenAt}, &c.Note}
}

const slotChanges = `SELECT slots, logouts FROM edge_book`

// EdgeNumbers gives how often slots have changed, and how often logins were removed.
func (s *Store) EdgeNumbers(ctx context.Context) (slots, logouts int64, err error) {
	_, err = s.first(ctx, func(row scanner) error { return row.Scan(&slots, &logouts) }, slotChanges)
	return slots, logouts, s.dialect.failed(err, "read how often slots have changed")
}

// Slots gives every slot that anybody has had. What changes while it reads may be in the claims already and is not in the number yet.
func (s *Store) Slots(ctx context.Context) (mooring.SlotBook, error) {
	var book mooring.SlotBook
	var err error
	if book.Changes, _, err = s.EdgeNumbers(ctx); err != nil {
		return mooring.SlotBook{}, err
	}
	err = s.each(ctx, func(row scanner) error {
		book.Claims = append(book.Claims, mooring.Claim{})
		return row.Scan(claimRow(&book.Claims[len(book.Claims)-1])...)
	}, allSlots)
	return book, s.dialect.failed(err, "read the slots")
}
