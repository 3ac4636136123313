package turn

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"mooring"
	"mooring/internal/identify"
	"mooring/internal/wire"
)

// begunAnew is what a chat is told that was reset. It holds the chat's id, so that a client without headers is recognised by it.
const begunAnew = "This is a new chat. Its id is %s."

// anew gives the chat a fresh session in the place of the one that was found.
func (t *running) anew() {
	t.former = t.found
	t.found = t.Identify.Reset(t.found, t.query())
}

// fence ends what runs in the session that the chat leaves, here and at other replicas.
func (t *running) fence(ctx context.Context) error {
	if t.former == nil || t.former.New {
		return nil
	}
	tenant, left := t.req.Caller.Tenant, t.former.Known.ID
	t.table.fence(chat{tenant, left}, errReset())
	if !t.shared() {
		return nil
	}
	return t.stopElsewhere(ctx, &mooring.Fence{Tenant: tenant, Session: left, Why: mooring.FencedByReset})
}

// acknowledge answers a command that brings nothing to say: the chat is on a fresh session before its client reads so. It is no
// turn, and no upstream is asked.
func (t *running) acknowledge(ctx context.Context) error {
	reply := wire.ChatReply{
		ID: "chatcmpl-" + string(t.found.Known.ID), Model: t.req.Wire.Model, Text: fmt.Sprintf(begunAnew, t.found.ClientID), Created: t.Now().Unix(),
	}
	self, err := t.Memory.Digester(t.req.Caller.Tenant).Message(mooring.Chat, reply.Message())
	if err != nil {
		return err
	}
	s := t.found.Known.Session
	s.CreatedAt, s.UpdatedAt, s.Title, s.Models = t.Now(), t.Now(), "", nil
	c := &mooring.Begin{Session: s, New: true, Aliases: t.found.Aliases, Reset: t.found.Reset, Ack: self[:], Turn: mooring.Turn{Replica: t.Replica}}
	if err := t.Record.Commit(context.WithoutCancel(ctx), c); err != nil {
		return err
	}
	t.started = c
	t.Memory.Learn(identify.Known{Session: s}, t.found, t.found.Names)
	t.forgetFormer(ctx)
	t.sink.About(About{ClientID: t.found.ClientID, Session: s.ID, Kind: t.found.Kind, Parent: s.Parent, Identity: t.found.Identity})
	t.tape.speak(mooring.Chat)
	t.tape.writtenDown()
	return t.say(reply)
}

// forgetFormer drops what is remembered of the session that the chat has left: it has another key now. Where another replica has just
// begun a turn there, its end is waited for: nothing of its answer is to come after this one's.
func (t *running) forgetFormer(ctx context.Context) {
	if t.former != nil && !t.former.New {
		t.Memory.Forget(t.req.Caller.Tenant, t.former.Known.ID, nil)
	}
	if len(t.started.Fenced) == 0 {
		return
	}
	if err := t.seeEnded(ctx, t.req.Caller.Tenant, t.started.Fenced); err != nil { // they can keep nothing more, whatever becomes of them
		t.Log.LogAttrs(ctx, slog.LevelWarn, "turns of a chat that began anew not seen to end", slog.String("session", t.former.Known.ID.Short()), slog.Any("err", err))
	}
}

// say writes an answer of the product's own, in the shape asked for.
func (t *running) say(reply wire.ChatReply) error {
	head := Head{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}}
	body := reply.Whole()
	head.Length = len(body)
	if t.req.Wire.Stream {
		head.Header.Set("Content-Type", "text/event-stream")
		head.Length = -1
		body = append(reply.Stream(), wire.NewMeter(mooring.Chat, wire.MeterLimits{}).Terminator()...)
	}
	if t.sink.Head(head) == nil {
		_ = t.sink.Write(body, nil) // the chat is reset, whether or not its client is still there
	}
	return nil
}
