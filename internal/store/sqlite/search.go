package sqlite

import (
	"strings"

	"mooring"
	sqlstore "mooring/internal/store/sql"
)

// searching is the index in FTS5: a table without contents, whose rows can be deleted.
func searching() sqlstore.SearchDialect {
	return sqlstore.SearchDialect{
		Claim: `DELETE FROM search_pending WHERE seq = $1 AND tenant = $2 AND message = $3`,
		Doc: `INSERT INTO search_doc (tenant, session, message) SELECT tenant, session, id FROM message
			WHERE tenant = $1 AND id = $2 ON CONFLICT DO NOTHING`,
		Words: `INSERT INTO search_words (rowid, words) SELECT d.id, $3 FROM message AS m
			JOIN search_doc AS d ON d.tenant = m.tenant AND d.session = m.session AND d.message = m.id
			WHERE m.tenant = $1 AND m.id = $2`,
		Forget: []string{
			`DELETE FROM search_words WHERE rowid IN (SELECT id FROM search_doc WHERE tenant = $1 AND session = $2)`,
			`UPDATE search_state SET deleted = deleted + 1
				WHERE EXISTS (SELECT 1 FROM search_doc WHERE tenant = $1 AND session = $2)`,
			`DELETE FROM search_doc WHERE tenant = $1 AND session = $2`,
		},
		// CROSS JOIN: the words come first, in the order of their rows; the planner knows nothing of how rare they are.
		Found: `SELECT ` + sqlstore.FoundColumns + ` FROM search_words AS w CROSS JOIN search_doc AS d ON d.id = w.rowid
			CROSS JOIN message AS m ON m.tenant = d.tenant AND m.id = d.message
			CROSS JOIN session AS s ON s.tenant = d.tenant AND s.id = d.session
			WHERE d.tenant = $1 AND w.search_words MATCH $2 AND w.rowid < $3 ORDER BY w.rowid DESC LIMIT $4`,
		Query: match,
		Merge: `INSERT INTO search_words (search_words, rank) VALUES ('merge', $1)`,
	}
}

// match is the FTS5 expression for all terms.
func match(terms []mooring.SearchTerm) string {
	quoted := make([]string, len(terms))
	for i, t := range terms {
		quoted[i] = `"` + strings.ReplaceAll(t.Text, `"`, `""`) + `"`
		if t.Begins {
			quoted[i] += " *"
		}
	}
	return strings.Join(quoted, " ")
}
