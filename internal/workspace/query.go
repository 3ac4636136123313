package workspace

import (
	"net/url"
	"strconv"

	"mooring"
)

// A page holds 50 entries unless the client asks otherwise; 200 keep an answer below what a page can show at once.
const (
	defaultLimit = 50
	maxLimit     = 200
)

func limitOf(q url.Values) (int, error) {
	said := q.Get("limit")
	if said == "" {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(said)
	if err != nil || n < 1 || n > maxLimit {
		return 0, mooring.Errorf(mooring.CodeInvalidRequest, "The parameter limit must be a number from 1 to %d.", maxLimit)
	}
	return n, nil
}

// markOf reads a parameter that is true or false; nil where it is left out.
func markOf(q url.Values, name string) (*bool, error) {
	switch q.Get(name) {
	case "":
		return nil, nil //nolint:nilnil // left out is no mistake, and neither true nor false
	case "true":
		return new(true), nil
	case "false":
		return new(false), nil
	}
	return nil, mooring.Errorf(mooring.CodeInvalidRequest, "The parameter %s must be true or false.", name)
}

func sessionFilter(q url.Values) (mooring.SessionFilter, error) {
	limit, err := limitOf(q)
	if err != nil {
		return mooring.SessionFilter{}, err
	}
	f := mooring.SessionFilter{
		Query:    q.Get("q"),
		Client:   q.Get("client"),
		Project:  q.Get("project"),
		Upstream: mooring.UpstreamName(q.Get("upstream")),
		State:    mooring.TurnState(q.Get("state")),
		Parent:   mooring.SessionID(q.Get("parent")),
		Kind:     mooring.Kind(q.Get("kind")),
		Limit:    limit,
	}
	if f.Pinned, err = markOf(q, "pinned"); err != nil {
		return f, err
	}
	if f.Archived, err = markOf(q, "archived"); err != nil {
		return f, err
	}
	switch f.State {
	case "", mooring.Running, mooring.Completed, mooring.Failed, mooring.Cancelled, mooring.Interrupted:
	default:
		return f, mooring.Errorf(mooring.CodeInvalidRequest, "The parameter state must be running, completed, failed, cancelled or interrupted.")
	}
	switch f.Kind { //nolint:exhaustive // a compaction is a turn, and no session has nothing else
	case "", mooring.KindMain, mooring.KindSubagent, mooring.KindSide:
	default:
		return f, mooring.Errorf(mooring.CodeInvalidRequest, "The parameter kind must be main, subagent or side.")
	}
	return f, nil
}
