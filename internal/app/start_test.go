package app_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mooring"
	"mooring/internal/app"
	"mooring/internal/config"
	"mooring/internal/store/sqlite"
	"mooring/internal/upstreamtest"
)

// tryStart starts the program where that should fail, and gives the error.
func (p *product) tryStart(yaml string) error {
	p.t.Helper()
	p.yaml = yaml
	a, err := app.New(p.load(), app.Options{Log: slog.New(slog.NewTextHandler(p.log, nil)), Version: "test"})
	if err != nil {
		p.t.Fatal(err)
	}
	if err = a.Start(p.t.Context()); err == nil {
		p.app = a
	}
	return err
}

func failedKey(err error) string {
	if e, ok := errors.AsType[*config.Error](err); ok {
		return e.Key
	}
	return ""
}

// Whoever has the port may be at work on what a start would take up.
func TestStartOnATakenPortChangesNothing(t *testing.T) {
	t.Parallel()
	p := prepare(t, "upstreams: [{name: demo, builtin: echo}]\n")
	path := filepath.Join(p.dir, "mooring.db")
	leaveTurn(t, path)
	journal := []byte("what a start would empty")
	if err := os.WriteFile(path+"-log0", journal, 0o600); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	free := p.yaml
	err = p.tryStart(strings.Replace(free, "127.0.0.1:0", ln.Addr().String(), 1))
	if failedKey(err) != "listen" {
		t.Fatalf("Start: %v, want an error of the key listen", err)
	}
	if got := stateOf(t, path); got != mooring.Running {
		t.Errorf("after a start on a taken port the turn is %s, want running", got)
	}
	if got, err := os.ReadFile(path + "-log0"); err != nil || !bytes.Equal(got, journal) {
		t.Errorf("the journal holds %q, %v; want it as it was", got, err)
	}
	if err := p.tryStart(free); err != nil {
		t.Fatalf("Start on a free port: %v", err)
	}
	p.stop()
	if got := stateOf(t, path); got != mooring.Interrupted {
		t.Errorf("after a start the turn is %s, want interrupted", got)
	}
}

const leftTurn, leftSession = "trn_01", "ses_01"

// leaveTurn makes a store with a turn that a dead process left running.
func leaveTurn(t *testing.T, path string) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	c := &mooring.Begin{
		New: true, Session: mooring.Session{Tenant: mooring.LocalTenant, ID: leftSession, Root: leftSession},
		Turn: mooring.Turn{Tenant: mooring.LocalTenant, ID: leftTurn, Session: leftSession, Kind: mooring.KindMain, Replica: "dead", StartedAt: time.Now()},
	}
	if err := errors.Join(store.Apply(t.Context(), []mooring.Change{c}), c.Err, store.Close()); err != nil {
		t.Fatal(err)
	}
}

func stateOf(t *testing.T, path string) mooring.TurnState {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := store.Turn(t.Context(), mooring.LocalTenant, leftTurn)
	if err = errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	return turn.State
}

func TestStoreOfARunningServerIsInUse(t *testing.T) {
	t.Parallel()
	p := start(t, "upstreams:\n"+upstreamYAML("u1", upstreamtest.New(t).URL))
	r := p.chat("s1", "hello").want(200)
	other := prepare(t, strings.Replace(p.yaml, "\nlisten: 127.0.0.1:0\n", "\n", 1))
	err := other.tryStart(other.yaml)
	if failedKey(err) != "store" || !strings.HasSuffix(err.Error(), "mooring.db is in use by another mooring") {
		t.Errorf("second Start: %v, want the store to be in use", err)
	}
	if found, err := app.CheckStore(t.Context(), p.load()); err != nil || found.Stray != 0 {
		t.Errorf("a check beside the server: %d, %v; want it good", found.Stray, err)
	}
	if got := p.turnState(r); got != "completed" {
		t.Errorf("state = %v, want completed", got)
	}
	p.chat("s1", "and more").want(200)
}
