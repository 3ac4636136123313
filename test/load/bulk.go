package main

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"mooring"
	"mooring/test/harness"
)

// multiple is how often what a database holds is copied within it.
type multiple struct {
	copies int
	terms  map[mooring.MessageID]string // words of its messages, for an index that does not give them back
}

// bulk is how one kind of database is told to copy rows. In the texts COL is a column, COPY the number of the copy.
type bulk struct {
	driver, dsn string
	before      []string // settings of the connection
	series      string   // the numbers of copies FROM to TO, as a table with the column c
	columns     string   // names of TABLE's columns that can be written
	hex         string   // COPY in six digits
	random      string   // as many random bytes as COL has
	key         string   // bytes of a client's id, whose last twelve digits are the copy and the original
	content     string   // bytes of a text with the word of its session
	words       string   // of the index, where it can be copied
}

// kinds of columns: what becomes of them in a copy.
func (b *bulk) kinds() map[string][]string {
	id := "CASE WHEN COL = '' THEN '' ELSE substr(COL, 1, 24) || " + b.hex + " END"
	later := "COL + COPY * 5184000" // a sixtieth of a day's thousandth part, in microseconds: copies stand between the originals
	return map[string][]string{
		id: {
			"session.id", "session.root", "session.tip", "session.tip_turn", "turn.id", "turn.session", "turn.question", "turn.answer", "message.id",
			"message.session", "message.parent", "message.turn", "chain.message", "chain.session", "alias.session", "pin.session", "pin.turn",
			"search_doc.session", "search_doc.message",
		},
		later: {
			"session.created_at", "session.updated_at", "turn.started_at", "turn.first_at", "turn.ended_at", "message.created_at", "pin.used_at",
		},
		b.random:  {"message.digest", "message.seen", "chain.digest", "turn.body_digest"},
		b.key:     {"session.client_key", "alias.value"},
		b.content: {"message.content"},
		"replace(COL, 'x0here', 'x' || COPY || 'here')": {"session.title"},
		"substr(COL, 1, 2) || " + b.hex:                 {"session.friendly_id"},
		b.words:                                         {"search_doc.words"},
		"COL + COPY * DOCS":                             {"search_doc.id"},
	}
}

// tables in the order in which they are filled.
func tables() []string {
	return []string{"session", "alias", "pin", "turn", "message", "chain", "search_doc"}
}

// step is how many copies one statement makes.
const step = 10

// multiply copies the sessions with all that belongs to them.
func (l *load) multiply(ctx context.Context, g ground, dsn string, m multiple) error {
	if m.copies <= 0 {
		return nil
	}
	b := g.bulk(dsn)
	db, err := sql.Open(b.driver, b.dsn)
	if err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	defer func() { _ = db.Close() }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	defer func() { _ = conn.Close() }()
	c := &copier{bulk: b, conn: conn}
	finish, err := c.prepare(ctx, m)
	if err != nil {
		return err
	}
	began := harness.Now()
	for from := 1; from <= m.copies; from += step {
		if err := c.copy(ctx, from, min(from+step-1, m.copies)); err != nil {
			return err
		}
		if from/step%20 == 0 {
			l.say("  copied %d of %d times after %s\n", from, m.copies, rounded(harness.Now().Sub(began)))
		}
	}
	return finish()
}

// copier copies on one connection, which has the originals in tables of its own.
type copier struct {
	bulk

	conn  *sql.Conn
	texts []string // one statement a table
}

func (c *copier) exec(ctx context.Context, query string, args ...any) error {
	if _, err := c.conn.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("%.200s: %w", query, err)
	}
	return nil
}

// prepare sets the originals aside and makes the statements; what it gives is to be done at the end.
func (c *copier) prepare(ctx context.Context, m multiple) (finish func() error, err error) {
	for _, query := range c.before {
		if err := c.exec(ctx, query); err != nil {
			return nil, err
		}
	}
	for _, table := range tables() {
		if err := c.exec(ctx, "CREATE TEMP TABLE of_"+table+" AS SELECT * FROM "+table); err != nil {
			return nil, err
		}
		text, err := c.statement(ctx, table)
		if err != nil {
			return nil, err
		}
		c.texts = append(c.texts, text)
	}
	if c.driver == "pgx" {
		return c.withoutIndex(ctx)
	}
	return func() error { return c.exec(ctx, "ANALYZE") }, c.wordsOf(ctx, m)
}

// statement copies a table: every column as it is, but for those that a copy has of its own.
func (c *copier) statement(ctx context.Context, table string) (string, error) {
	rows, err := c.conn.QueryContext(ctx, strings.ReplaceAll(c.columns, "TABLE", table))
	if err != nil {
		return "", fmt.Errorf("columns of %s: %w", table, err)
	}
	defer func() { _ = rows.Close() }()
	var names, values []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return "", fmt.Errorf("columns of %s: %w", table, err)
		}
		value := "COL"
		for text, columns := range c.kinds() {
			if slices.Contains(columns, table+"."+name) {
				value = text
			}
		}
		names, values = append(names, name), append(values, strings.NewReplacer("COL", "o."+name, "COPY", "n.c").Replace(value))
	}
	return "INSERT INTO " + table + " (" + strings.Join(names, ", ") + ") SELECT " + strings.Join(values, ", ") + " FROM " + c.series + " AS n CROSS JOIN of_" + table + " AS o", rows.Err()
}

func (c *copier) copy(ctx context.Context, from, to int) error {
	if err := c.exec(ctx, "BEGIN"); err != nil {
		return err
	}
	for _, text := range c.texts {
		if err := c.exec(ctx, strings.NewReplacer("FROM_COPY", fmt.Sprint(from), "TO_COPY", fmt.Sprint(to)).Replace(text)); err != nil {
			return err
		}
	}
	return c.exec(ctx, "COMMIT")
}

// wordsOf has the words of each document copied too: FTS5 keeps none that could be read.
func (c *copier) wordsOf(ctx context.Context, m multiple) error {
	if err := c.exec(ctx, "CREATE TEMP TABLE of_words (message TEXT PRIMARY KEY, words TEXT)"); err != nil {
		return err
	}
	for message, words := range m.terms {
		if err := c.exec(ctx, "INSERT INTO of_words VALUES ($1, $2)", string(message), words); err != nil {
			return err
		}
	}
	for i, text := range c.texts {
		c.texts[i] = strings.ReplaceAll(text, "DOCS", "(SELECT max(id) FROM of_search_doc)")
	}
	c.texts = append(c.texts, "INSERT INTO search_words (rowid, words) SELECT d.id + n.c * (SELECT max(id) FROM of_search_doc), replace(w.words, 'x0here', 'x' || n.c || 'here') FROM "+
		c.series+" AS n CROSS JOIN of_search_doc AS d JOIN of_words AS w ON w.message = d.message ORDER BY 1")
	return nil
}

// withoutIndex takes the index of words away until all is there: made at once it is made much faster.
func (c *copier) withoutIndex(ctx context.Context) (func() error, error) {
	var made string
	err := c.conn.QueryRowContext(ctx, "SELECT indexdef FROM pg_indexes WHERE indexname = 'search_doc_words'").Scan(&made)
	if err != nil {
		return nil, fmt.Errorf("look for the index of words: %w", err)
	}
	return func() error {
		for _, query := range []string{"SET maintenance_work_mem = '1GB'", made, "VACUUM ANALYZE"} {
			if err := c.exec(ctx, query); err != nil {
				return err
			}
		}
		return nil
	}, c.exec(ctx, "DROP INDEX search_doc_words")
}

func (files) bulk(dsn string) bulk {
	return bulk{
		driver: "sqlite", dsn: "file:" + dsn[len("sqlite:"):],
		before:  []string{"PRAGMA synchronous = OFF", "PRAGMA cache_size = -1500000", "PRAGMA temp_store = MEMORY"},
		series:  "(WITH RECURSIVE n (c) AS (SELECT FROM_COPY UNION ALL SELECT c + 1 FROM n WHERE c < TO_COPY) SELECT c FROM n)",
		columns: "SELECT name FROM pragma_table_info('TABLE')", hex: "printf('%06x', COPY)", random: "randomblob(length(COL))",
		key:     "CAST(substr(CAST(COL AS TEXT), 1, 24) || printf('%06x', COPY) || substr(CAST(COL AS TEXT), 31) AS BLOB)",
		content: "CAST(replace(CAST(COL AS TEXT), 'x0here', 'x' || COPY || 'here') AS BLOB)", words: "COL",
	}
}

func (databases) bulk(dsn string) bulk {
	return bulk{
		driver: "pgx", dsn: dsn, before: []string{"SET synchronous_commit = off", "SET work_mem = '256MB'"},
		series:  "(SELECT generate_series(FROM_COPY::bigint, TO_COPY) AS c)",
		columns: "SELECT column_name FROM information_schema.columns WHERE table_name = 'TABLE' AND table_schema = 'public' AND is_identity = 'NO' ORDER BY ordinal_position",
		hex:     "lpad(to_hex(COPY), 6, '0')", random: "substr(decode(md5(COL::text || COPY::text), 'hex'), 1, length(COL))",
		key:     "convert_to(left(convert_from(COL, 'UTF8'), 24) || lpad(to_hex(COPY), 6, '0') || right(convert_from(COL, 'UTF8'), 6), 'UTF8')",
		content: "convert_to(replace(convert_from(COL, 'UTF8'), 'x0here', 'x' || COPY || 'here'), 'UTF8')",
		words:   "array_to_tsvector(string_to_array(replace(array_to_string(tsvector_to_array(COL), ' '), 'x0here', 'x' || COPY || 'here'), ' '))",
	}
}
