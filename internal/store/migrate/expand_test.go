package migrate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// beforeRelease is the last migration that no released version ran before: from the next one on, tables may be large and replicas may
// be at work on them.
const beforeRelease = 17

// schema is what a migration may say: it adds, so that a program that knows nothing of it goes on beside one that does.
type schema struct {
	tables  map[string]bool // that exist before it
	made    map[string]bool // that it makes
	columns map[string]bool // that it adds to a table that exists
	cleared map[string]bool // indexes of which it drops what an earlier try has left, and that it has not built yet
	alone   bool            // its statements are no transaction
}

var (
	comment     = regexp.MustCompile(`(?m)--.*$`)
	createTable = regexp.MustCompile(`(?i)^CREATE (?:VIRTUAL )?TABLE (\w+)`)
	createIndex = regexp.MustCompile(`(?i)^CREATE (UNIQUE )?INDEX (CONCURRENTLY )?(\w+) ON (\w+) (?:USING \w+ )?(\(.*\))`)
	clearIndex  = regexp.MustCompile(`(?i)^DROP INDEX CONCURRENTLY IF EXISTS (\w+)$`)
	addColumn   = regexp.MustCompile(`(?i)^ALTER TABLE (\w+) ADD COLUMN (\w+) (.*)$`)
	insertInto  = regexp.MustCompile(`(?i)^INSERT INTO (\w+)`)
	statistics  = regexp.MustCompile(`(?i)^(ANALYZE sqlite_schema|(DELETE FROM|INSERT INTO) sqlite_stat1\b.*|SELECT 1)$`)
	constant    = regexp.MustCompile(`(?i)\bDEFAULT ('[^']*'|-?\d+|TRUE|FALSE)( |$)`)
)

// statements gives those of the part that goes up, and takes them for done.
func statements(text string) []string {
	_, up, _ := strings.Cut(text, "-- +goose Up")
	up, _, _ = strings.Cut(up, "-- +goose Down")
	var list []string
	for part := range strings.SplitSeq(comment.ReplaceAllString(up, ""), ";") {
		if words := strings.Join(strings.Fields(part), " "); words != "" {
			list = append(list, words)
		}
	}
	return list
}

// wrong says what a migration does that a replica of the version before cannot stand.
func wrong(text string, before map[string]bool, beside bool) []string {
	s := schema{tables: before, made: map[string]bool{}, columns: map[string]bool{}, cleared: map[string]bool{}}
	s.alone = strings.Contains(text, "-- +goose NO TRANSACTION")
	var list []string
	for _, statement := range statements(text) {
		if why := s.why(statement, beside); why != "" {
			list = append(list, fmt.Sprintf("%s: %.80s", why, statement))
		}
	}
	for index := range s.cleared {
		list = append(list, "does not build the index again that it drops: "+index)
	}
	for table := range s.made {
		before[table] = true
	}
	return list
}

func (s *schema) why(statement string, beside bool) string {
	if statistics.MatchString(statement) {
		return ""
	}
	if m := createTable.FindStringSubmatch(statement); m != nil {
		s.made[m[1]] = true
		return ""
	}
	if m := insertInto.FindStringSubmatch(statement); m != nil {
		if !s.made[m[1]] {
			return "writes into a table that replicas of the version before use"
		}
		return ""
	}
	if m := addColumn.FindStringSubmatch(statement); m != nil {
		return s.column(m[1], m[2], m[3])
	}
	if m := createIndex.FindStringSubmatch(statement); m != nil {
		return s.index(m, beside)
	}
	if m := clearIndex.FindStringSubmatch(statement); m != nil {
		s.cleared[m[1]] = true
		return ""
	}
	return "does not add"
}

func (s *schema) column(table, name, what string) string {
	s.columns[table+"."+name] = true
	words := strings.ToUpper(what)
	switch {
	case strings.Contains(words, "NOT NULL") && !strings.Contains(words, "DEFAULT"):
		return "a column that the version before does not fill"
	case strings.Contains(words, "DEFAULT") && !constant.MatchString(what):
		return "a default that is no constant makes the whole table be written anew"
	case strings.Contains(words, "CHECK") || strings.Contains(words, "REFERENCES") || strings.Contains(words, "UNIQUE"):
		return "a condition of which the version before knows nothing"
	}
	return ""
}

func (s *schema) index(m []string, beside bool) string {
	unique, concurrently, name, table, columns := m[1] != "", m[2] != "", m[3], m[4], m[5]
	cleared := s.cleared[name]
	delete(s.cleared, name)
	switch {
	case s.made[table]:
		return ""
	case beside && !concurrently:
		return "holds up those who write until it is built"
	case concurrently && !s.alone:
		return "is refused within a transaction: NO TRANSACTION"
	case concurrently && !cleared:
		return "what is left of an earlier try stands in its way: DROP INDEX CONCURRENTLY IF EXISTS"
	}
	if unique && !slices.ContainsFunc(slices.Collect(words(columns)), func(c string) bool { return s.columns[table+"."+c] }) {
		return "what the version before writes may be refused"
	}
	return ""
}

func words(text string) func(yield func(string) bool) {
	return strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune("(), ", c) })
}

// Migrations only add, so that replicas of two versions may share a database, and the older of them may start again.
func TestMigrationsOnlyAdd(t *testing.T) {
	t.Parallel()
	names := map[string][]string{}
	for _, database := range []string{"sqlite", "postgres"} {
		files, err := filepath.Glob("migrations/" + database + "/*.sql")
		if err != nil || len(files) < beforeRelease-2 {
			t.Fatalf("%s: %d migrations, %v", database, len(files), err)
		}
		tables := map[string]bool{}
		for _, file := range files {
			names[database] = append(names[database], filepath.Base(file))
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var number int
			if _, err := fmt.Sscanf(filepath.Base(file), "%04d_", &number); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for _, why := range wrong(string(text), tables, database == "postgres" && number > beforeRelease) {
				t.Errorf("%s: %s", file, why)
			}
		}
	}
	if !slices.Equal(names["sqlite"], names["postgres"]) {
		t.Errorf("the databases have different migrations: %q and %q", names["sqlite"], names["postgres"])
	}
}

func TestWhatNoMigrationMayDo(t *testing.T) {
	t.Parallel()
	const beside = "\n-- +goose NO TRANSACTION\nDROP INDEX CONCURRENTLY IF EXISTS i;"
	tests := map[string]struct{ text, want string }{
		"a table goes":                      {`DROP TABLE turn;`, "does not add"},
		"a column goes":                     {`ALTER TABLE turn DROP COLUMN view;`, "does not add"},
		"a column gets another name":        {`ALTER TABLE turn RENAME COLUMN view TO seen;`, "does not add"},
		"a column gets another type":        {`ALTER TABLE turn ALTER COLUMN status TYPE TEXT;`, "does not add"},
		"a column that must be filled":      {"ALTER TABLE turn ADD COLUMN a BIGINT NOT NULL;", "does not fill"},
		"a default that is worked out":      {`ALTER TABLE turn ADD COLUMN a BIGINT NOT NULL DEFAULT random();`, "no constant"},
		"a condition":                       {`ALTER TABLE turn ADD COLUMN a BIGINT CHECK (a > 0);`, "condition"},
		"rows change":                       {`UPDATE turn SET view = '';`, "does not add"},
		"rows go":                           {`DELETE FROM turn;`, "does not add"},
		"rows come":                         {`INSERT INTO turn (id) SELECT id FROM session;`, "writes into"},
		"a unique index on what was there":  {beside + `CREATE UNIQUE INDEX CONCURRENTLY i ON turn (tenant, view);`, "may be refused"},
		"an index that holds up writers":    {`CREATE INDEX i ON turn (tenant, view);`, "holds up"},
		"an index half built":               {"-- +goose NO TRANSACTION\nCREATE INDEX CONCURRENTLY i ON turn (view);", "earlier try"},
		"an index in a transaction":         {`DROP INDEX CONCURRENTLY IF EXISTS i; CREATE INDEX CONCURRENTLY i ON turn (view);`, "transaction"},
		"an index goes":                     {beside, "does not build"},
		"a trigger":                         {`CREATE TRIGGER a AFTER INSERT ON turn EXECUTE FUNCTION f();`, "does not add"},
		"a column":                          {`ALTER TABLE turn ADD COLUMN a BIGINT;`, ""},
		"a column with a default":           {`ALTER TABLE turn ADD COLUMN a TEXT COLLATE "C" NOT NULL DEFAULT '';`, ""},
		"a table with its index and row":    {`CREATE TABLE a (b BIGINT); CREATE UNIQUE INDEX i ON a (b); INSERT INTO a (b) VALUES (1);`, ""},
		"an index beside writers":           {beside + `CREATE INDEX CONCURRENTLY i ON turn USING gin (view);`, ""},
		"a unique index on what it adds":    {`ALTER TABLE turn ADD COLUMN a TEXT;` + beside + `CREATE UNIQUE INDEX CONCURRENTLY i ON turn (tenant, a);`, ""},
		"what it says of itself going down": {"SELECT 1;\n-- +goose Down\nDROP TABLE turn;", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(wrong("-- +goose Up\n-- A remark; with a mark.\n"+tt.text, map[string]bool{"turn": true, "session": true}, true), " ")
			if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
				t.Errorf("wrong(%s) = %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}
