package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"mooring/test/product"
)

var built product.Binary

func TestMain(m *testing.M) { os.Exit(product.Run(m, &built)) }

// A few conversations: what is counted is what was said. How much it takes on a larger scale is in docs/scale.md.
func TestSizeOnASmallScale(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"sqlite", "postgres"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			dsn := os.Getenv("MOORING_TEST_POSTGRES")
			if store == "postgres" && dsn == "" {
				t.Skip("MOORING_TEST_POSTGRES is not set")
			}
			var said bytes.Buffer
			bills, err := run(t.Context(), options{sessions: 8, stores: store, mooring: string(built), postgres: dsn}, &said)
			if err != nil || len(bills) != len(kinds()) {
				t.Fatalf("%d bills, %v\n%s", len(bills), err, said.String())
			}
			for _, b := range bills {
				b.check(t)
				if !strings.Contains(said.String(), "| "+b.kind+", "+store+" |") {
					t.Errorf("nothing is told of %s:\n%s", b.kind, said.String())
				}
			}
		})
	}
}

func (b *bill) check(t *testing.T) {
	t.Helper()
	if b.messages != 2*b.turns || b.heard == 0 || b.kept <= 0 || b.written < b.heard/2 || b.commits <= 0 {
		t.Errorf("%s: %+v", b.kind, b)
	}
	if b.store == "sqlite" {
		if b.kept < b.heard {
			t.Errorf("%s: %d bytes are kept, %d were said", b.kind, b.kept, b.heard)
		}
		return
	}
	rows := map[string]int64{}
	for _, table := range b.tables {
		rows[table.name] = table.rows
	}
	if rows["session"] != int64(b.sessions) || rows["turn"] != int64(b.turns) || rows["message"] != int64(b.messages) || rows["search_doc"] != int64(b.messages) {
		t.Errorf("%s: %v rows, want %d sessions, %d turns, %d messages", b.kind, rows, b.sessions, b.turns, b.messages)
	}
	if b.rows(b.inserted) < 5 || b.rows(b.updated) < 1 {
		t.Errorf("%s: %d rows inserted and %d updated in %d turns", b.kind, b.inserted, b.updated, b.turns)
	}
}
