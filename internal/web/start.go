package web

import (
	"slices"
	"strings"
)

// Start is what the start page says.
type Start struct {
	Address string   // how the reader reached this server: scheme, host and port
	Keys    bool     // clients need a key
	Running *Running // nil hides what runs from those who may not know
}

// Running is what stands behind the address.
type Running struct {
	Version   string
	Store     string // kind of store, never its place
	Upstreams []Upstream
}

// Health is how an upstream does, as the page says it.
type Health string

// The healths that the page has a colour for.
const (
	Healthy  Health = "healthy"
	Ailing   Health = "unhealthy"
	Draining Health = "draining"
	Unasked  Health = "unknown"
)

// Upstream is a model server by name; its address stays with operators.
type Upstream struct {
	Name     string
	Protocol string // as in the configuration: "openai", "anthropic" or "both"
	Health   Health
	Models   []string
}

// Speaks names the upstream's protocols.
func (u Upstream) Speaks() string {
	switch u.Protocol {
	case "openai":
		return "OpenAI"
	case "anthropic":
		return "Anthropic"
	case "both":
		return "OpenAI, Anthropic"
	}
	return u.Protocol
}

// shownModels keeps an upstream's line readable; a hub may list hundreds.
const shownModels = 6

// Shown gives the models that the page names.
func (u Upstream) Shown() []string {
	return u.Models[:min(len(u.Models), shownModels)]
}

// Hidden counts the models beyond those.
func (u Upstream) Hidden() int { return len(u.Models) - len(u.Shown()) }

// Model gives a model that a copied line can ask for: the first one that is a name and no pattern, of an upstream that
// answers chat completions.
func (s Start) Model() string {
	if s.Running == nil {
		return noModel
	}
	for _, u := range s.Running.Upstreams {
		named := slices.IndexFunc(u.Models, func(m string) bool { return !strings.ContainsAny(m, "*?[") })
		if named >= 0 && u.Protocol != "anthropic" {
			return u.Models[named]
		}
	}
	return noModel
}

// noModel stands where the reader has to fill a model in.
const noModel = "MODEL"

// Token gives what stands in a copied line for the client's key.
func (s Start) Token() string {
	if s.Keys {
		return "YOUR_KEY"
	}
	return "none"
}
