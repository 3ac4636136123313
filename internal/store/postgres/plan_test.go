package postgres_test

import (
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"mooring"
)

// A database has no statistics before its first minute is over: to it all indexes that begin with the tenant are alike. It may go through
// a tenant's sessions in one of them until then, which costs little, but not ask for a turn at each. (Statistics of a few rows are worse
// than none: they make it read whole tables until the next ones.)
func TestYoungDatabaseFindsByKeys(t *testing.T) {
	t.Parallel()
	const sessions = 300
	dsn, _ := database(t, "mooring_young")
	store := open(t, dsn)
	for n := range sessions {
		id := fmt.Sprintf("ses_%d", n)
		begin := newSession(id, id)
		end := &mooring.End{Turn: mooring.Turn{Tenant: "acme", ID: begin.Turn.ID, Session: mooring.SessionID(id), State: mooring.Completed, EndedAt: time.Now()}}
		if err := store.Apply(t.Context(), []mooring.Change{begin}); err != nil || begin.Err != nil {
			t.Fatal(err, begin.Err)
		}
		if err := store.Apply(t.Context(), []mooring.Change{end}); err != nil || end.Err != nil {
			t.Fatal(err, end.Err)
		}
	}
	_ = store.Close() // what its connections have read is counted then
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, table := range []string{"turn", "message", "alias"} {
		var read int
		const asked = `SELECT COALESCE(seq_tup_read, 0) + COALESCE(idx_tup_fetch, 0) FROM pg_stat_user_tables WHERE relname = $1`
		if err := db.QueryRowContext(t.Context(), asked, table).Scan(&read); err != nil {
			t.Fatal(err)
		}
		if most := 30 * sessions; read > most {
			t.Errorf("%d rows of %s were read for %d turns of a session each, want at most %d", read, table, sessions, most)
		}
	}
}

// Sums look into the index for each tenant, however many turns there are: the commits of turns wait for them.
func TestSumsReadTheirHours(t *testing.T) {
	t.Parallel()
	const turns, hours = 60_000, 1000
	dsn, run := database(t, "mooring_sums")
	store := open(t, dsn)
	first := newSession("ses_1", "chat")
	start := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	first.Turn.StartedAt = start
	if err := store.Apply(t.Context(), []mooring.Change{first}); err != nil || first.Err != nil {
		t.Fatal(err, first.Err)
	}
	ids := ""
	for i := range hours { // the first ids of the hours, as ULIDs
		at := ulid.MustNew(ulid.Timestamp(start.Add(time.Duration(i)*time.Hour)), nil)
		ids += fmt.Sprintf(",'trn_%s'", at.String()[:20])
	}
	columns := columnsOf(t, dsn, "turn")
	var values []string
	for _, c := range columns {
		switch c {
		case "id":
			values = append(values, fmt.Sprintf("(ARRAY[%s])[1 + n %% %d] || lpad(n::text, 6, '0')", ids[1:], hours))
		case "started_at", "ended_at":
			values = append(values, fmt.Sprintf("%d + (n %% %d) * 3600000000", start.UnixMicro(), hours))
		case "state":
			values = append(values, "'completed'")
		default:
			values = append(values, "o."+c)
		}
	}
	run(fmt.Sprintf(`INSERT INTO turn (%s) SELECT %s FROM turn AS o CROSS JOIN generate_series(1, %d) AS n`, strings.Join(columns, ", "), strings.Join(values, ", "), turns))
	run(`UPDATE turn SET state = 'completed'`)
	run(`VACUUM ANALYZE turn`)
	read := func() (blocks int) {
		t.Helper()
		db, err := sql.Open("pgx", dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		const asked = `SELECT idx_blks_read + idx_blks_hit FROM pg_statio_user_indexes WHERE indexrelname = 'turn_pkey'`
		if err := db.QueryRowContext(t.Context(), asked).Scan(&blocks); err != nil {
			t.Fatal(err)
		}
		return blocks
	}
	before := read()
	const steps = 20
	for range steps {
		c := &mooring.SumUp{Before: start.AddDate(1, 0, 0)}
		if err := store.Apply(t.Context(), []mooring.Change{c}); err != nil || c.Err != nil || c.Done {
			t.Fatal(err, c.Err, c.Done)
		}
	}
	_ = store.Close() // what it has read is counted then
	if got := read() - before; got > 60*steps {
		t.Errorf("%d sums read %d pages of the index of turns, want a few each", steps, got)
	}
}

func columnsOf(t *testing.T, dsn, table string) (names []string) {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), `SELECT column_name FROM information_schema.columns WHERE table_name = $1 AND table_schema = 'public' AND is_identity = 'NO' AND is_generated = 'NEVER'`, table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

// Where many have a word the newest of them come first, page by page, whether they are found among the newest documents or by the index of
// words.
func TestFoundBeyondTheNewestDocuments(t *testing.T) {
	t.Parallel()
	const messages, common = 2600, 7 // more than are looked through one by one
	dsn, _ := database(t, "mooring_found")
	store := open(t, dsn)
	c := newSession("ses_1", "chat")
	c.Messages = nil
	for i := range messages {
		c.Messages = append(c.Messages, mooring.Message{ID: mooring.MessageID(fmt.Sprintf("msg_%06d", i)), Content: []byte(`"x"`)})
	}
	if err := store.Apply(t.Context(), []mooring.Change{c}); err != nil || c.Err != nil {
		t.Fatal(err, c.Err)
	}
	queue, err := store.Unindexed(t.Context(), math.MaxInt64, messages)
	if err != nil || len(queue) != messages {
		t.Fatalf("%d in the queue, %v", len(queue), err)
	}
	index := &mooring.Index{}
	for i, u := range queue {
		terms := "acmealight"
		if i%common == 0 {
			terms += " acmeaharbour"
		}
		index.Entries = append(index.Entries, mooring.IndexEntry{Unindexed: u, Terms: terms})
	}
	if err := store.Apply(t.Context(), []mooring.Change{index}); err != nil || index.Err != nil {
		t.Fatal(err, index.Err)
	}
	for _, row := range []struct {
		word string
		step int
	}{{"acmealight", 1}, {"acmeaharbour", common}} {
		var got []mooring.MessageID
		for below := int64(math.MaxInt64); ; {
			page, err := store.Found(t.Context(), "acme", []mooring.SearchTerm{{Text: row.word}}, below, 50)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range page {
				got = append(got, f.Message.ID)
				below = f.Place
			}
			if len(page) < 50 {
				break
			}
		}
		var want []mooring.MessageID
		for i := 0; i < messages; i += row.step {
			want = append(want, mooring.MessageID(fmt.Sprintf("msg_%06d", i)))
		}
		slices.Reverse(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d messages, want %d, the newest first", row.word, len(got), len(want))
		}
	}
}

// What thousands have in common is read no further than what counts.
func TestCommonDigestsCostTheirNewest(t *testing.T) {
	t.Parallel()
	const alike, asked = 5000, 10
	dsn, run := database(t, "mooring_alike")
	store := open(t, dsn)
	run(fmt.Sprintf(`INSERT INTO chain (tenant, digest, kind, message, session) SELECT 'acme', 'same', 1, 'msg_' || lpad(n::text, 6, '0'), 'ses_' || n FROM generate_series(1, %d) AS n`, alike))
	for range asked {
		list, err := store.Chain(t.Context(), "acme", [][]byte{[]byte("same"), []byte("other")})
		if err != nil || len(list) == 0 || list[0].Message != "msg_005000" {
			t.Fatalf("%d entries, %v", len(list), err)
		}
	}
	_ = store.Close() // what it has read is counted then
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var read int
	const counted = `SELECT idx_tup_read + (SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'chain') FROM pg_stat_user_indexes WHERE indexrelname = 'chain_pkey'`
	if err := db.QueryRowContext(t.Context(), counted).Scan(&read); err != nil {
		t.Fatal(err)
	}
	if read > 100*asked {
		t.Errorf("%d entries were read for %d questions", read, asked)
	}
}
