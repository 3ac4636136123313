package storetest

import (
	"database/sql"
	"fmt"
	"testing"
)

// Later makes of a database's schema that of a later version, by all that a migration may do: there are tables that this version does not
// know, each table has columns that it does not fill, and the numbers of migrations go on. The tables are those that a query names.
func Later(t *testing.T, db *sql.DB, tables string) {
	t.Helper()
	statements := []string{
		`CREATE TABLE later (tenant TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (tenant))`,
		`INSERT INTO later (tenant, value) VALUES ('acme', 'a row')`,
	}
	for _, table := range names(t, db, tables) {
		for _, column := range []string{"later_null TEXT", "later_text TEXT NOT NULL DEFAULT ''", "later_number INTEGER NOT NULL DEFAULT 0"} {
			statements = append(statements, fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s", table, column))
		}
	}
	statements = append(statements,
		`CREATE INDEX later_session ON session (tenant, later_number)`,
		`CREATE UNIQUE INDEX later_turn ON turn (tenant, id, later_text)`,
		`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9998, true), (9999, true)`)
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func names(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("tables of the store: %v", err)
	}
	defer func() { _ = rows.Close() }()
	var list []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatalf("tables of the store: %v", err)
		}
		list = append(list, name)
	}
	if err := rows.Err(); err != nil || len(list) == 0 {
		t.Fatalf("tables of the store: %q, %v", list, err)
	}
	return list
}
