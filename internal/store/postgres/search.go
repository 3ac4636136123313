package postgres

import (
	"strings"

	"mooring"
	sqlstore "mooring/internal/store/sql"
)

// searching is the index as a tsvector that is made of words directly: no parser and no dictionary of the server's has a say.
func searching() sqlstore.SearchDialect {
	return sqlstore.SearchDialect{
		// What another replica is just putting in is skipped, not waited for.
		Claim: `DELETE FROM search_pending WHERE seq IN (
			SELECT seq FROM search_pending WHERE seq = $1 AND tenant = $2 AND message = $3 FOR UPDATE SKIP LOCKED)`,
		// The lock keeps a deletion of the session waiting, so that it sees the new row.
		Words: `INSERT INTO search_doc (tenant, session, message, words)
			SELECT tenant, session, id, array_to_tsvector(string_to_array($3::text, ' ')) FROM message WHERE tenant = $1 AND id = $2
			FOR KEY SHARE ON CONFLICT DO NOTHING`,
		Forget: []string{`DELETE FROM search_doc WHERE tenant = $1 AND session = $2`},
		Near: `WITH near AS MATERIALIZED (SELECT tenant, id, session, message, words FROM search_doc WHERE tenant = $1 AND id < $3 ORDER BY id DESC LIMIT 2000)
			SELECT ` + sqlstore.FoundColumns + ` FROM near AS d JOIN message AS m ON m.tenant = d.tenant AND m.id = d.message
			JOIN session AS s ON s.tenant = d.tenant AND s.id = d.session WHERE d.words @@ $2::tsquery ORDER BY d.id DESC LIMIT $4`,
		// The hits are gathered from the index first: with the limit in sight the planner would rather read all documents.
		Found: `WITH hit AS MATERIALIZED (
			SELECT tenant, id, session, message FROM search_doc WHERE tenant = $1 AND words @@ $2::tsquery),
			d AS MATERIALIZED (SELECT * FROM hit WHERE id < $3 ORDER BY id DESC LIMIT $4)
			SELECT ` + sqlstore.FoundColumns + ` FROM d JOIN message AS m ON m.tenant = d.tenant AND m.id = d.message
			JOIN session AS s ON s.tenant = d.tenant AND s.id = d.session ORDER BY d.id DESC`,
		Query: tsquery,
	}
}

// tsquery is the condition for all terms.
func tsquery(terms []mooring.SearchTerm) string {
	quoted := make([]string, len(terms))
	for i, t := range terms {
		quoted[i] = `'` + strings.NewReplacer(`'`, `''`, `\`, `\\`).Replace(t.Text) + `'`
		if t.Begins {
			quoted[i] += ":*"
		}
	}
	return strings.Join(quoted, " & ")
}
