package config_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"

	"mooring/internal/config"
)

// properties is what a test needs of a JSON schema.
type properties struct {
	Properties map[string]properties `json:"properties"`
	Items      *properties           `json:"items"`
}

func TestExampleHoldsEveryKey(t *testing.T) {
	t.Parallel()
	var known properties
	if err := json.Unmarshal(config.Schema(), &known); err != nil {
		t.Fatal(err)
	}
	var file any
	if err := yaml.Unmarshal([]byte(example(t)), &file); err != nil {
		t.Fatal(err)
	}
	// Of several ways to say who somebody is an example can show one.
	alternatives := []string{"edge.identity.issuer", "edge.identity.audience", "edge.identity.client_id", "edge.identity.client_secret"}
	rare := []string{"edge.oidc.redirect_uri", "edge.oidc.idle", "edge.oidc.max_age"}
	for _, key := range missing("", known, []any{file}) {
		if !slices.Contains(alternatives, key) && !slices.Contains(rare, key) {
			t.Errorf("config.example.yaml lacks %s", key)
		}
	}
}

// missing gives the keys of a schema that none of some values has.
func missing(path string, known properties, values []any) []string {
	var out []string
	for name, below := range known.Properties {
		var held []any
		for _, value := range values {
			if entries, ok := value.(map[string]any); ok && entries[name] != nil {
				held = append(held, entries[name])
			}
		}
		at := path + name
		if len(held) == 0 {
			out = append(out, at)
			continue
		}
		if below.Items != nil {
			var items []any
			for _, list := range held {
				items = append(items, list.([]any)...)
			}
			out = append(out, missing(at+".", *below.Items, items)...)
			continue
		}
		out = append(out, missing(at+".", below, held)...)
	}
	return out
}
