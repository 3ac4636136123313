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
	where, args := s.narrow(tenant, f)
	counted := fmt.Sprintf(`SELECT count(*) FROM (SELECT 1 FROM session WHERE %s LIMIT %d) AS counted`, where, totalMax+1)
	narrowed := args
	first := f.After == (mooring.SessionCursor{})
	if !first {
		where += fmt.Sprintf(` AND (updated_at, id) < ($%d, $%d)`, len(args)+1, len(args)+2)
		args = append(args, micros(f.After.UpdatedAt), f.After.ID)
	}
	args = append(args, limit+1)
	query := fmt.Sprintf(`SELECT %s FROM session WHERE %s ORDER BY updated_at DESC, id DESC LIMIT $%d`, sessionColumns, where, len(args))
	list, err := s.readSessions(ctx, query, args...)
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
	_, err = s.first(ctx, func(row scanner) error { return row.Scan(&page.Total) }, counted, narrowed...)
	return page, err
}

// narrow gives the condition of a filter. Its text depends on which fields are set, never on their values.
func (s *Store) narrow(tenant mooring.Tenant, f mooring.SessionFilter) (string, []any) {
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
	conditions = append(conditions, side)
	switch f.Kind {
	case mooring.KindMain:
		conditions = append(conditions, `relation <> 'subagent'`)
	case mooring.KindSubagent:
		conditions = append(conditions, `relation = 'subagent'`)
	case mooring.KindSide, mooring.KindCompaction:
	}
	return strings.Join(conditions, " AND "), args
}

// likePattern matches a text anywhere, with what LIKE would read as a wildcard taken as it is.
func likePattern(query string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text(query)) + "%"
}
