package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"mooring"
)

// totalMax is how far the sessions of a filter are counted; one more says that there are more.
const totalMax = 10_000

// defaultLimit is the length of a page for a caller that asks for none.
const defaultLimit = 100

// Sessions lists a tenant's sessions, the newest activity first, without reading a message. A total above 10,000 stands for
// "more than that".
func (s *Store) Sessions(ctx context.Context, tenant mooring.Tenant, f mooring.SessionFilter) (mooring.SessionPage, error) {
	page, err := s.list(ctx, tenant, f)
	return page, s.dialect.failed(err, "list sessions")
}

func (s *Store) list(ctx context.Context, tenant mooring.Tenant, f mooring.SessionFilter) (mooring.SessionPage, error) {
	var page mooring.SessionPage
	limit := f.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	n := s.narrow(tenant, f)
	counted := fmt.Sprintf(`SELECT count(*) FROM (SELECT 1 FROM session WHERE %s LIMIT %d) AS counted`, n.each(), totalMax+1)
	forCount := n.args
	first := f.After == (mooring.SessionCursor{})
	if !first {
		n.after = fmt.Sprintf(` AND (updated_at, id) < ($%d, $%d)`, len(n.args)+1, len(n.args)+2)
		n.args = append(n.args, micros(f.After.UpdatedAt), f.After.ID)
	}
	n.args = append(n.args, limit+1)
	list, err := s.readNewest(ctx, &n, limit)
	if err != nil {
		return page, err
	}
	page.Sessions, page.More = list, len(list) > limit
	if page.More {
		page.Sessions = list[:limit]
	}
	if first && !page.More {
		page.Total = len(list) // a filter that few pass has been held against all of them by now: once is enough
		return page, nil
	}
	_, err = s.first(ctx, func(row scanner) error { return row.Scan(&page.Total) }, counted, forCount...)
	return page, err
}

// nearSessions is how many of the newest sessions are looked through one by one for a text.
const nearSessions = 20_000

// readNewest reads the newest sessions of a filter. Few have a text in their names: they are looked for among the newest sessions in the order
// of their activity, and among all in the order in which they are stored, which is many times quicker where there are many.
func (s *Store) readNewest(ctx context.Context, n *narrowed, limit int) ([]mooring.Session, error) {
	newest := fmt.Sprintf(` ORDER BY updated_at DESC, id DESC LIMIT $%d`, len(n.args))
	if !n.named {
		return s.readSessions(ctx, `SELECT `+sessionColumns+` FROM session WHERE `+n.inOrder()+newest, n.args...)
	}
	near := fmt.Sprintf(`SELECT %s FROM (SELECT * FROM session WHERE tenant = $1 AND %s%s ORDER BY updated_at DESC, id DESC LIMIT %d) AS session WHERE %s`,
		sessionColumns, n.side, n.after, nearSessions, n.each())
	list, err := s.readSessions(ctx, near+newest, n.args...)
	if err != nil || len(list) > limit {
		return list, err
	}
	return s.readSessions(ctx, `WITH hit AS MATERIALIZED (SELECT `+sessionColumns+` FROM session WHERE `+n.each()+n.after+`) SELECT `+sessionColumns+` FROM hit`+newest, n.args...)
}

// narrowed is the condition of a filter. Its text depends on which fields are set, never on their values.
type narrowed struct {
	conditions string
	side       string // the one that the index on activity has
	after      string // the one of a page behind the first
	named      bool   // it asks for a text in the names
	args       []any
}

// inOrder is the condition for reading in the order of activity.
func (n *narrowed) inOrder() string { return n.conditions + " AND " + n.side + n.after }

// each is the condition for reading in any order; where all are held against a text it keeps the planner off the index on activity.
func (n *narrowed) each() string {
	if !n.named {
		return n.conditions + " AND " + n.side
	}
	return n.conditions + " AND (" + n.side + ") IS TRUE"
}

func (s *Store) narrow(tenant mooring.Tenant, f mooring.SessionFilter) narrowed {
	args := []any{raw(tenant)}
	conditions := []string{`tenant = $1`}
	if f.Query != "" {
		args = append(args, likePattern(f.Query), bytes(f.Query))
		conditions = append(conditions, s.dialect.Match)
	}
	for _, field := range []struct{ column, value string }{
		{"client", text(f.Client)},
		{"project", text(f.Project)},
		{"upstream", text(f.Upstream)},
		{"state", text(f.State)},
	} {
		if field.value != "" {
			args = append(args, field.value)
			conditions = append(conditions, fmt.Sprintf(`%s = $%d`, field.column, len(args)))
		}
	}
	for _, mark := range []struct {
		column string
		value  *bool
	}{{"pinned", f.Pinned}, {"archived", f.Archived}} {
		if mark.value != nil {
			args = append(args, *mark.value)
			conditions = append(conditions, fmt.Sprintf(`%s = $%d`, mark.column, len(args)))
		}
	}
	args = append(args, f.Kind == mooring.KindSide)
	side := fmt.Sprintf(`side_only = $%d`, len(args))
	if f.Parent != "" { // written so that the index on parents is used, and the one on activity cannot be
		args = append(args, f.Parent)
		side = fmt.Sprintf(`(%s) IS TRUE AND id IN (SELECT c.id FROM session AS c WHERE c.tenant = $1 AND c.parent = $%d AND c.parent <> '')`,
			side, len(args))
	}
	switch f.Kind {
	case mooring.KindMain:
		conditions = append(conditions, `relation <> 'subagent'`)
	case mooring.KindSubagent:
		conditions = append(conditions, `relation = 'subagent'`)
	case mooring.KindSide, mooring.KindCompaction:
	}
	return narrowed{conditions: strings.Join(conditions, " AND "), side: side, named: f.Query != "", args: args}
}

// likePattern matches a text anywhere, with what LIKE would read as a wildcard taken as it is.
func likePattern(query string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text(query)) + "%"
}
