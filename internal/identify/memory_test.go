package identify_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"mooring"
	"mooring/internal/identify"
	"mooring/internal/wire"
)

// heap is how much memory is in use.
func heap() int64 {
	var m runtime.MemStats
	for range 3 { // what the caches let go is freed by then
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What is remembered of many sessions, messages and instructions of several tenants stays near its bound.
func TestMemoryIsBounded(t *testing.T) { //nolint:paralleltest // it measures the heap of the whole process
	const bound, chats, turns, tenants = 4 << 20, 12000, 3, 4
	e := identify.New(identify.Options{
		Store: nowhere{}, Secret: secret, MemoryBytes: bound,
		NewSession: func() mooring.SessionID { return "ses_01BX5ZZKBKACTAV9WEVGEMMVRZ" }, NewKey: func() string { return "api-" },
	})
	before := heap()
	for i := range chats {
		tenant := mooring.Tenant(fmt.Sprint("tenant-", i%tenants))
		for turn := range turns {
			remembered(t, e, tenant, i, turn)
		}
	}
	if grown := heap() - before; grown > 2*bound || grown < bound/8 {
		t.Errorf("the heap has grown by %d KB, want %d KB at most, and more than next to nothing", grown>>10, 2*bound>>10)
	} else {
		t.Logf("the heap has grown by %d KB under a bound of %d KB", grown>>10, bound>>10)
	}
	runtime.KeepAlive(e)
}

// remembered is a turn of a chat as memory sees it: its request is decoded and digested, its session and names learned, its answer kept.
func remembered(t *testing.T, e *identify.Engine, tenant mooring.Tenant, chat, turn int) {
	t.Helper()
	body := fmt.Sprintf(`{"model":"m","messages":[{"role":"system","content":"chat %d: %s"},{"role":"user","content":"question %d of chat %d"},{"role":"assistant","content":"answer"},{"role":"user","content":"%d of %d"}]}`,
		chat, strings.Repeat("keep the harbour in sight and the ledger open, ", 6), turn, chat, turn, chat)
	w, err := e.Digester(tenant).Decode(mooring.Chat, []byte(body), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	id := fmt.Sprintf("9f1c2b7e-4a5d-4c3e-8b6a-%012d", chat)
	q := identify.Request{Tenant: tenant, Header: header("X-Session-Id", id, "X-Quay-Number", fmt.Sprint("quay-number-", chat)), Wire: w, Messages: w.Messages, Content: true, Learn: true}
	f, err := e.Resolve(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Locate(t.Context(), f, q)
	if err != nil {
		t.Fatal(err)
	}
	s := f.Known.Session
	s.ID = mooring.SessionID(fmt.Sprintf("ses_%026d", chat))
	s.Root, s.Tip, s.TipTurn = s.ID, mooring.MessageID(fmt.Sprintf("msg_%026d", 3*chat+turn)), mooring.TurnID(fmt.Sprintf("trn_%026d", 3*chat+turn))
	e.Learn(identify.Known{Session: s}, f, f.Names)
	e.Observe(t.Context(), q, f)
	answer := fmt.Appendf(nil, `{"role":"assistant","content":"answer %d of chat %d"}`, turn, chat)
	a, err := e.Answer(tenant, mooring.Chat, p, nil, answer)
	if err != nil {
		t.Fatal(err)
	}
	ended := mooring.Turn{Tenant: tenant, Session: s.ID, ID: s.TipTurn, Answer: s.Tip, State: mooring.Completed}
	e.Ended(&ended, a.Seen, a.Marks)
}

// nowhere is a store that has nothing.
type nowhere struct{ identify.Store }

func (nowhere) AliasHits(context.Context, mooring.Tenant, []mooring.Alias) ([]mooring.AliasHit, error) {
	return nil, nil
}

func (nowhere) Chain(context.Context, mooring.Tenant, [][]byte) ([]mooring.ChainEntry, error) {
	return nil, nil
}

func (nowhere) Session(context.Context, mooring.Tenant, mooring.SessionID) (mooring.Session, error) {
	return mooring.Session{}, mooring.Errorf(mooring.CodeSessionNotFound, "There is none.")
}

func (nowhere) SessionsOf(context.Context, mooring.Tenant, []mooring.SessionID) ([]mooring.Session, error) {
	return nil, nil
}

func (nowhere) Around(context.Context, mooring.Tenant, []mooring.MessageID, int, int) ([]mooring.Neighbour, error) {
	return nil, nil
}
