package sqlstore

import (
	"context"
	"errors"

	"mooring"
)

// SearchDialect is what the two databases do differently in the index of messages: each has its own kind of full text.
type SearchDialect struct {
	Claim  string                            // takes the entry $1 (number), $2 (tenant), $3 (message) from the queue, unless another replica has just taken it
	Doc    string                            // makes a document of the message $1 (tenant), $2 (message) where it is still there and has none; empty where Words does
	Words  string                            // puts the words $3 of the message $1, $2 into the index
	Forget []string                          // take the session $1 (tenant), $2 (session) out of the index; its messages are gone already
	Near   string                            // as Found, among the newest documents alone, where Found gathers all that have the terms; empty where it does not
	Found  string                            // reads foundColumns of the tenant $1 for the query $2 below the place $3, at most $4, newest first
	Query  func([]mooring.SearchTerm) string // the query: documents with all terms
	Merge  string                            // rewrites up to $1 pages of the index without what was deleted; empty where the database does it itself
}

// FoundColumns are what SearchDialect.Found reads, from the document d, its message m and its session s.
const FoundColumns = `d.id, m.id, m.role, m.protocol, m.created_at, s.id, s.client_key, s.title`

const addUnindexed = `INSERT INTO search_pending (tenant, message) VALUES ($1, $2)`

// toIndex notes a message for the index, in the transaction that stores it: whatever dies, it is found again.
func (w *writer) toIndex(ctx context.Context, tenant mooring.Tenant, m *mooring.Message) error {
	if len(m.Content) == 0 {
		return nil
	}
	return w.later(ctx, addUnindexed, raw(tenant), m.ID)
}

func (w *writer) putIntoIndex(ctx context.Context, c *mooring.Index) error {
	c.Taken, c.Err = 0, nil
	claimed := make([]bool, len(c.Entries))
	for i := range c.Entries {
		e := &c.Entries[i]
		err := w.laterThen(ctx, func(rows int) error {
			claimed[i] = rows > 0
			c.Taken += rows
			return nil
		}, w.dialect.Search.Claim, e.Seq, raw(e.Tenant), e.Message)
		if err != nil {
			return err
		}
	}
	if err := w.flush(ctx); err != nil {
		return err
	}
	for i := range c.Entries {
		if !claimed[i] || c.Entries[i].Terms == "" {
			continue
		}
		if err := w.addWords(ctx, &c.Entries[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) addWords(ctx context.Context, e *mooring.IndexEntry) error {
	if w.dialect.Search.Doc != "" {
		n, err := w.exec(ctx, w.dialect.Search.Doc, raw(e.Tenant), e.Message)
		if err != nil || n == 0 {
			return err // no row: deleted meanwhile, or there already
		}
	}
	return w.later(ctx, w.dialect.Search.Words, raw(e.Tenant), e.Message, e.Terms)
}

const (
	changesSoFar = `SELECT total_changes()`
	setWiped     = `UPDATE search_state SET wiped = $1`
	// ownChange is what the statement itself counts.
	ownChange = 1
)

// compact rewrites a part of the index. When the last part is done the log is emptied too.
func (w *writer) compact(ctx context.Context, c *mooring.Compact) error {
	c.Wiped, c.Err = false, nil
	rewritten, err := w.merge(ctx, c.Pages)
	if err != nil || rewritten > 0 {
		return err
	}
	_, err = w.exec(ctx, setWiped, c.UpTo)
	c.Wiped, w.wipe = true, WipeLog
	return err
}

// merge gives how many rows of the index's tables it wrote; none where nothing is left to be rewritten.
func (w *writer) merge(ctx context.Context, pages int) (int64, error) {
	if w.dialect.Search.Merge == "" {
		return 0, nil
	}
	var before, after int64
	if _, err := w.first(ctx, []any{&before}, changesSoFar); err != nil {
		return 0, err
	}
	if _, err := w.exec(ctx, w.dialect.Search.Merge, -pages); err != nil {
		return 0, err
	}
	_, err := w.first(ctx, []any{&after}, changesSoFar)
	return after - before - ownChange, err
}

const backlog = `SELECT COALESCE((SELECT max(seq) FROM search_pending), 0), deleted, wiped FROM search_state`

// Backlog says how much the index of messages has still to do.
func (s *Store) Backlog(ctx context.Context) (mooring.Backlog, error) {
	var b mooring.Backlog
	_, err := s.first(ctx, func(row scanner) error { return row.Scan(&b.Last, &b.Deleted, &b.Wiped) }, backlog)
	return b, s.dialect.failed(err, "read the backlog of the search index")
}

const unindexed = `SELECT p.seq, p.tenant, p.message, COALESCE(t.kind, '') FROM search_pending AS p
	LEFT JOIN message AS m ON m.tenant = p.tenant AND m.id = p.message
	LEFT JOIN turn AS t ON t.tenant = m.tenant AND t.id = m.turn
	WHERE p.seq <= $1 ORDER BY p.seq LIMIT $2`

// Unindexed gives the oldest entries of the queue up to a number.
func (s *Store) Unindexed(ctx context.Context, upTo int64, limit int) ([]mooring.Unindexed, error) {
	var list []mooring.Unindexed
	err := s.each(ctx, func(row scanner) error {
		var u mooring.Unindexed
		err := row.Scan(&u.Seq, (*rawText)(&u.Tenant), &u.Message, &u.Kind)
		list = append(list, u)
		return err
	}, unindexed, upTo, limit)
	return list, s.dialect.failed(err, "read the queue of the search index")
}

const messageContent = `SELECT m.protocol, COALESCE(m.content, b.content) FROM message AS m
	LEFT JOIN blob AS b ON b.tenant = m.tenant AND b.digest = m.blob WHERE m.tenant = $1 AND m.id = $2`

// Content gives a message's content and its language alone; nothing where there is no such message.
func (s *Store) Content(ctx context.Context, tenant mooring.Tenant, id mooring.MessageID) (mooring.Message, error) {
	m := mooring.Message{Tenant: tenant, ID: id}
	_, err := s.first(ctx, func(row scanner) error { return row.Scan(&m.Protocol, &m.Content) }, messageContent, raw(tenant), id)
	return m, s.dialect.failed(err, "read a message")
}

func scanFound(row scanner, tenant mooring.Tenant, more ...any) (mooring.Found, error) {
	var f mooring.Found
	m, s := &f.Message, &f.Session
	err := row.Scan(append([]any{
		&f.Place, &m.ID, &m.Role, &m.Protocol, moment{&m.CreatedAt}, &s.ID, (*rawText)(&s.Key), &s.Title,
	}, more...)...)
	m.Tenant, m.Session, s.Tenant = tenant, s.ID, tenant
	return f, err
}

// Found gives messages without their contents that the index has under all terms, the newest first, below a place. Terms are
// letters and digits of ASCII.
func (s *Store) Found(ctx context.Context, tenant mooring.Tenant, terms []mooring.SearchTerm, below int64, limit int) ([]mooring.Found, error) {
	var list []mooring.Found
	for _, query := range []string{s.dialect.Search.Near, s.dialect.Search.Found} {
		if query == "" {
			continue
		}
		list = nil
		err := s.each(ctx, func(row scanner) error {
			f, err := scanFound(row, tenant)
			list = append(list, f)
			return err
		}, query, raw(tenant), s.dialect.Search.Query(terms), below, limit)
		if err != nil || len(list) == limit {
			return list, s.dialect.failed(err, "search")
		}
	}
	return list, nil
}

// Ids are ULIDs: they sort by the time of their making.
const recent = `SELECT 0, m.id, m.role, m.protocol, m.created_at, s.id, s.client_key, s.title,
	CASE WHEN length(COALESCE(m.content, b.content)) <= $3 THEN COALESCE(m.content, b.content) END
	FROM message AS m JOIN session AS s ON s.tenant = m.tenant AND s.id = m.session
	LEFT JOIN blob AS b ON b.tenant = m.tenant AND b.digest = m.blob
	LEFT JOIN turn AS t ON t.tenant = m.tenant AND t.id = m.turn
	WHERE m.tenant = $1 AND m.id < $2 AND COALESCE(t.kind, '') <> 'side' ORDER BY m.id DESC LIMIT $4`

// last is above every id.
const last = "~"

// Recent hands over a tenant's messages one by one, the newest first, those below a message where one is named. visit gives
// false to end it.
func (s *Store) Recent(ctx context.Context, tenant mooring.Tenant, p mooring.RecentPage, visit func(mooring.Found) bool) error {
	below := p.Below
	if below == "" {
		below = last
	}
	return s.visit(ctx, "read the newest messages", func(row scanner) (bool, error) {
		var content *[]byte // one that is NULL is not one that is empty
		f, err := scanFound(row, tenant, &content)
		if content != nil {
			f.Message.Content = append([]byte{}, *content...)
		}
		return err == nil && visit(f), err
	}, recent, raw(tenant), below, p.MaxBytes, p.Limit)
}

const names = `SELECT id, client_key, title, created_at FROM session WHERE tenant = $1 AND side_only = $2
	ORDER BY updated_at DESC, id DESC LIMIT $3`

// Names hands over the ids, keys and titles of a tenant's sessions, the newest activity first. visit gives false to end it.
func (s *Store) Names(ctx context.Context, tenant mooring.Tenant, limit int, visit func(mooring.Session) bool) error {
	return s.visit(ctx, "read the names of sessions", func(row scanner) (bool, error) {
		one := mooring.Session{Tenant: tenant}
		err := row.Scan(&one.ID, (*rawText)(&one.Key), &one.Title, moment{&one.CreatedAt})
		return err == nil && visit(one), err
	}, names, raw(tenant), false, limit)
}

var errEnough = errors.New("no more rows are wanted")

// visit reads rows until scan gives false.
func (s *Store) visit(ctx context.Context, tried string, scan func(scanner) (bool, error), query string, args ...any) error {
	err := s.each(ctx, func(row scanner) error {
		more, err := scan(row)
		if err == nil && !more {
			return errEnough
		}
		return err
	}, query, args...)
	if errors.Is(err, errEnough) {
		return nil
	}
	return s.dialect.failed(err, tried)
}
