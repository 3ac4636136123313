package sqlstore_test

import (
	"database/sql"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the database/sql driver

	"mooring/internal/store/migrate"
)

// constants gives the texts of the package's string constants, sums of them included.
func constants(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]ast.Expr{}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == 1 && len(v.Values) == 1 {
				found[v.Names[0].Name] = v.Values[0]
			}
			return true
		})
	}
	var text func(ast.Expr) string
	text = func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.BasicLit:
			s, _ := strconv.Unquote(e.Value)
			return s
		case *ast.BinaryExpr:
			return text(e.X) + text(e.Y)
		case *ast.Ident:
			return text(found[e.Name])
		}
		return ""
	}
	out := map[string]string{}
	for name, e := range found {
		out[name] = text(e)
	}
	return out
}

// What a turn reads and writes is found by a key, however large the store is: no table is read whole, nor all that
// a tenant has in an index.
func TestHotStatementsUseTheirKeys(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "plan.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := migrate.SQLite(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	texts := constants(t)
	found := map[string]bool{"SCAN used": true, "SCAN use_summed": true, "SCAN up": true, "SCAN below": true, "SCAN tree": true, "SCAN gone": true, "SCAN more": true, "SCAN down": true, "SCAN seen": true} // by steps before
	for name, want := range map[string]string{
		"aliasHolder":     "PRIMARY KEY (tenant=? AND class=? AND value=?)",
		"sessionByID":     "PRIMARY KEY (tenant=? AND id=?)",
		"sessionExists":   "PRIMARY KEY (tenant=? AND id=?)",
		"continueSession": "PRIMARY KEY (tenant=? AND id=?)",
		"endSession":      "sqlite_autoindex_turn_1 (tenant=? AND id=?)",
		"endTurn":         "sqlite_autoindex_turn_1 (tenant=? AND id=?)",
		"sentTurns":       "turn_client_message (tenant=? AND session=? AND client_message=?)",
		"turnSent":        "turn_client_message (tenant=? AND session=? AND client_message=?)",
		"failedTurns":     "turn_retry (tenant=? AND body_digest=?)",
		"objectOwners":    "PRIMARY KEY (object_id=?)",
		"pinsOfSession":   "PRIMARY KEY (tenant=? AND session=?)",
		"pinHolder":       "PRIMARY KEY (tenant=? AND session=? AND candidates=?)",
		"currentRemote":   "remote_session (tenant=? AND session=? AND server=?)",
		"keyUse":          "turn_api_key (tenant=? AND api_key=? AND started_at>? AND started_at<?)",
		"madeAt":          "sqlite_autoindex_message_1 (tenant=? AND id=?)",
		"trail":           "sqlite_autoindex_message_1 (tenant=? AND id=?)",
		"unindexed":       "INTEGER PRIMARY KEY (rowid<?)",
		"messageContent":  "sqlite_autoindex_message_1 (tenant=? AND id=?)",
		"messageExists":   "sqlite_autoindex_message_1 (tenant=? AND id=?)",
		"unacknowledge":   "PRIMARY KEY (tenant=? AND digest=? AND kind=? AND message=?)",
		"forgetObjects":   "object_session (tenant=? AND session=?)",
		"forgetRemotes":   "remote_session (tenant=? AND session=?)",
		"forgetValues":    "PRIMARY KEY (tenant=? AND session=?)",
		"dropValue":       "PRIMARY KEY (tenant=? AND session=? AND name=?)",
		"signInByToken":   "PRIMARY KEY (token=?)",
		"seenSignIn":      "PRIMARY KEY (token=?)",
		"dropSignIn":      "PRIMARY KEY (token=?)",
		"keepSignIns":     "sign_in_key (key_name=?)",
		"learnedState":    "PRIMARY KEY (tenant=? AND name=?)",
		"unname":          "PRIMARY KEY (tenant=? AND class=?)",
		"idleRoots":       "session_activity (tenant=? AND side_only=? AND updated_at<?)",
		"unmark":          "PRIMARY KEY (tenant=? AND digest=? AND kind=? AND message=?)",
		"marksOf":         "message_",
		"seenOf":          "message_",
		"unmarkedOf":      "message_",
		"reroot":          "PRIMARY KEY (tenant=? AND id=?)",
		"detach":          "session_parent (tenant=? AND parent=?)",
		"releaseBlobs":    "sqlite_autoindex_blob_1 (tenant=? AND digest=?)",
		"deleteBlobs":     "sqlite_autoindex_blob_1 (tenant=? AND digest=?)",
		"holdBlobs":       "sqlite_autoindex_blob_1 (tenant=? AND digest=?)",
		"children":        "message_parent (tenant=? AND session=? AND parent=?)",
		"sessionsByKey":   "session_client_key (tenant=? AND client_key=?)",
		"newestBelow":     "message_parent (tenant=? AND session=? AND parent=?)",

		"sessionsByFriendlyID": "session_friendly_id (tenant=? AND friendly_id=?)",
		"turnsOfSession":       "turn_session (tenant=? AND session=? AND id<?)",
		"names":                "session_activity (tenant=? AND side_only=?)",
		"recent":               "sqlite_autoindex_message_1 (tenant=? AND id<?)",
		"descendants":          "session_root (tenant=? AND root=?)",
		"eventsAfter":          "PRIMARY KEY (tenant=? AND number>?)",
		"dropOldEvents":        "PRIMARY KEY (tenant=? AND number<?)",
		"forgetEvents":         "PRIMARY KEY (tenant=? AND number<?)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, there := texts[name]
			if !there {
				t.Fatalf("no constant is called %s", name)
			}
			plan := planOf(t, db, text)
			if !strings.Contains(plan, want) {
				t.Errorf("%s is looked up by\n%s\nwant %s", name, plan, want)
			}
			for line := range strings.SplitSeq(plan, "\n") {
				whole := strings.HasPrefix(line, "SCAN") && !found[line]
				one := strings.HasPrefix(line, "SEARCH change_count ") // the tenant is its whole key
				if whole || strings.HasSuffix(line, "(tenant=?)") && !one {
					t.Errorf("%s reads more than it has to:\n%s", name, plan)
				}
			}
		})
	}
}

func planOf(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	args := make([]any, strings.Count(query, "$"))
	for i := range args {
		args[i] = "x"
	}
	highest := 0
	for n := 1; n <= len(args); n++ {
		if strings.Contains(query, "$"+strconv.Itoa(n)) {
			highest = n
		}
	}
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args[:highest]...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	var lines []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}
