package relay

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"mooring"
	"mooring/internal/forward"
	"mooring/internal/problem"
	"mooring/internal/serve"
	"mooring/internal/upstream"
)

// modelsTimeout bounds the wait for an upstream's list: one that is slow must not keep the others' from the client.
const modelsTimeout = 5 * time.Second

// modelList is the answer of both protocols at once: OpenAI's clients read object and data, Anthropic's data and the page.
type modelList struct {
	Object  string            `json:"object"`
	Data    []json.RawMessage `json:"data"`
	HasMore bool              `json:"has_more"`
	FirstID *string           `json:"first_id"`
	LastID  *string           `json:"last_id"`
}

// models lists the models of all upstreams, each as its upstream describes it, and only where that upstream would serve it.
func (a *API) models() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := problem.ProtocolOf(r.URL.Path)
		if r.Header.Get("Anthropic-Version") != "" {
			p = mooring.Messages
		}
		list, err := a.listModels(r)
		if err != nil {
			problem.Write(w, p, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(list) // the client has gone, or it has the list
	})
}

func (a *API) listModels(r *http.Request) (*modelList, error) {
	caller, err := a.Gate.Caller(r)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(r.URL.Path, "/api/") { // what pages read does not count
		release, err := a.Gate.Admit(r.Context(), caller, serve.Ask{Free: true})
		if err != nil {
			return nil, err
		}
		defer release()
	}
	all := a.Fleet.All()
	found := make([][]json.RawMessage, len(all))
	errs := make([]error, len(all))
	asked := 0
	var wg sync.WaitGroup
	for i, u := range all {
		if u.KeyMode == upstream.KeyClient && !u.Understands(spoken(r)) {
			continue // the client's own credential is for a server of its own protocol
		}
		asked++
		wg.Go(func() { found[i], errs[i] = a.modelsOf(r.Context(), caller, u) }) //nolint:contextcheck // it is the request's
	}
	wg.Wait()
	list := a.merge(caller, all, found)
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) < asked { // where nobody answers, nobody can say what an alias stands for
		a.addAliases(caller, list)
	}
	if len(list.Data) == 0 && len(errs) > 0 {
		return nil, errs[0]
	}
	return list, nil
}

// modelsOf asks one upstream. What it answers that is no list counts as none.
func (a *API) modelsOf(ctx context.Context, caller mooring.Caller, u *upstream.Upstream) ([]json.RawMessage, error) {
	late := mooring.Errorf(mooring.CodeUpstreamTimeout, "The upstream %s did not list its models in time; try again.", u.Name)
	ctx, cancel := context.WithTimeoutCause(ctx, modelsTimeout, late)
	defer cancel()
	c := forward.Call{Upstream: u, Account: u.Account(""), Protocol: mooring.Chat, Method: http.MethodGet, Path: "/v1/models", Header: http.Header{}, Own: caller.Own}
	if u.Speaks == upstream.SpeaksAnthropic {
		c.Protocol, c.Query = mooring.Messages, "limit=1000"
		c.Header.Set("Anthropic-Version", "2023-06-01")
	}
	_, body, err := a.Forward.Fetch(ctx, c)
	if err != nil {
		a.Log.LogAttrs(ctx, slog.LevelWarn, "models not listed", slog.String("upstream", string(u.Name)), slog.Any("err", err))
		return nil, err
	}
	var list struct {
		Data []json.RawMessage `json:"data"`
	}
	if json.Unmarshal(body, &list) != nil {
		return nil, nil
	}
	return list.Data, nil
}

// merge keeps of each model that the caller may use the first description, of an upstream that is a candidate for it.
func (a *API) merge(caller mooring.Caller, all []*upstream.Upstream, found [][]json.RawMessage) *modelList {
	list := &modelList{Object: "list", Data: []json.RawMessage{}}
	seen := map[string]bool{}
	for i, u := range all {
		for _, raw := range found[i] {
			id := idOf(raw)
			if id == "" || seen[id] || !a.serves(u, id) || !a.Gate.MayUse(caller, id) {
				continue
			}
			seen[id] = true
			list.add(raw, id)
		}
	}
	return list
}

// alias is a name of the configuration as both protocols describe a model.
type alias struct {
	ID          string    `json:"id"`
	Object      string    `json:"object"`
	Type        string    `json:"type"`
	DisplayName string    `json:"display_name"`
	Created     int64     `json:"created"`
	CreatedAt   time.Time `json:"created_at"`
	OwnedBy     string    `json:"owned_by"`
}

// addAliases adds the names that stand for models and that the caller may use, unless a model that has the name is listed.
func (a *API) addAliases(caller mooring.Caller, list *modelList) {
	listed := map[string]bool{}
	for _, raw := range list.Data {
		listed[idOf(raw)] = true
	}
	for _, name := range a.aliases(caller) {
		if listed[name] {
			continue
		}
		raw, err := json.Marshal(alias{ID: name, Object: "model", Type: "model", DisplayName: name, CreatedAt: time.Unix(0, 0).UTC(), OwnedBy: "mooring"})
		if err != nil {
			continue // a struct of texts and numbers is always JSON
		}
		list.add(raw, name)
	}
}

// aliases gives the names that stand for models and that the caller may use, as far as one of those models is served.
func (a *API) aliases(caller mooring.Caller) []string {
	all := a.rules.Load().Aliases
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool {
		return !a.Gate.MayUse(caller, name) || !slices.ContainsFunc(all[name], a.served)
	})
}

func (l *modelList) add(raw json.RawMessage, id string) {
	l.Data = append(l.Data, raw)
	if l.FirstID == nil {
		l.FirstID = &id
	}
	l.LastID = &id
}

func idOf(raw json.RawMessage) string {
	var m struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return ""
	}
	return m.ID
}

// served says that an upstream serves a model, in whichever protocol.
func (a *API) served(model string) bool {
	return len(a.Fleet.Candidates(mooring.Chat, model)) > 0 || len(a.Fleet.Candidates(mooring.Messages, model)) > 0
}

func (a *API) serves(u *upstream.Upstream, model string) bool {
	for _, p := range []mooring.Protocol{mooring.Chat, mooring.Messages} {
		if slices.Contains(a.Fleet.Candidates(p, model), u) {
			return true
		}
	}
	return false
}
