package relay

import (
	"context"
	"strings"

	"mooring"
	"mooring/internal/upstream"
)

// First gives a model to talk with that the caller may use, for who names none: one that the configuration names, else the first that an upstream lists, in
// the order of the configuration, else a name that stands for models.
func (a *API) First(ctx context.Context, caller mooring.Caller) (string, error) {
	for _, u := range a.Fleet.All() {
		for _, model := range u.Models {
			if !strings.ContainsAny(model, `*?[\`) && a.offers(caller, u, model) {
				return model, nil
			}
		}
	}
	model, lost := a.firstListed(ctx, caller)
	if model != "" {
		return model, nil
	}
	if aliases := a.aliases(caller); len(aliases) > 0 {
		return aliases[0], nil
	}
	if lost != nil {
		return "", lost
	}
	return "", mooring.Errorf(mooring.CodeModelNotFound, "No upstream lists a model; name one in model.")
}

// firstListed gives the first model that an upstream lists; empty where none does, with the error of one that could not say.
func (a *API) firstListed(ctx context.Context, caller mooring.Caller) (model string, lost error) {
	for _, u := range a.Fleet.All() {
		if u.KeyMode == upstream.KeyClient && caller.Own.Empty() && len(a.Fleet.All()) > 1 {
			continue // it would refuse to say
		}
		list, err := a.modelsOf(ctx, caller, u)
		if err != nil {
			lost = err
			continue
		}
		for _, raw := range list {
			if id := idOf(raw); id != "" && a.offers(caller, u, id) {
				return id, nil
			}
		}
	}
	return "", lost
}

// offers says that the caller may talk with a model of an upstream.
func (a *API) offers(caller mooring.Caller, u *upstream.Upstream, model string) bool {
	return talks(model) && a.serves(u, model) && a.Gate.MayUse(caller, model)
}

// talks says that a model's name is not that of one for something else than talk: lists hold those, too.
func talks(model string) bool {
	model = strings.ToLower(model)
	for _, word := range []string{
		"embed", "whisper", "tts", "dall-e", "moderation", "image", "audio", "realtime", "transcribe", "rerank", "sora", "babbage", "davinci",
	} {
		if strings.Contains(model, word) {
			return false
		}
	}
	return true
}
