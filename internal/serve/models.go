package serve

import (
	"strings"

	"mooring"
)

// longestShown is how much of a model's name an error repeats.
const longestShown = 100

// checkModel refuses what the key's list of models does not hold. A turn that names no model gets the upstream's default, which
// may be any.
func (k Key) checkModel(ask Ask) error {
	switch {
	case len(k.Models) == 0:
	case ask.Unread:
		return mooring.Errorf(mooring.CodeUnsupportedMediaType,
			"This key may use some models only, and the body does not say plainly which one it asks for; send JSON with one member model, or a form, uncompressed.")
	case ask.Model == "" && ask.Turn && !k.MayUse(""):
		return mooring.Errorf(mooring.CodeModelNotFound, "This key may use some models only; name one of them in model.")
	case ask.Model != "" && !k.MayUse(ask.Model):
		return mooring.Errorf(mooring.CodeModelNotFound, "This key may not use the model %q; ask for one of its own models.", clip(ask.Model))
	}
	return nil
}

func clip(s string) string {
	if len(s) > longestShown {
		return strings.ToValidUTF8(s[:longestShown], "")
	}
	return s
}

// MayUse says whether the caller's key allows a model.
func (s *Server) MayUse(c mooring.Caller, model string) bool {
	rules := s.rules.Load()
	key, ok := rules.byName[c.Key]
	return len(rules.keys) == 0 || ok && key.MayUse(model)
}

// MayUse says that the key has no list of models, or that a glob of it matches the name. A glob knows * alone.
func (k Key) MayUse(model string) bool {
	for _, glob := range k.Models {
		if match(glob, model) {
			return true
		}
	}
	return len(k.Models) == 0
}

// match knows "*" alone, for any run of characters: path.Match would stop at the slashes that models have.
func match(glob, name string) bool {
	head, rest, star := strings.Cut(glob, "*")
	if !star {
		return glob == name
	}
	name, ok := strings.CutPrefix(name, head)
	if !ok {
		return false
	}
	for {
		part, more, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name, rest = name[i+len(part):], more
	}
}
