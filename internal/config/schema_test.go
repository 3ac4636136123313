package config_test

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"mooring"
	"mooring/internal/config"
)

func TestGeneratedSchema(t *testing.T) {
	t.Parallel()
	words := map[string]string{}
	for name, text := range comments(t) {
		words["mooring/internal/config."+name] = text
	}
	made := (&jsonschema.Reflector{
		FieldNameTag: "yaml", RequiredFromJSONSchemaTags: true, DoNotReference: true, Anonymous: true,
		CommentMap: words, Mapper: written,
	}).Reflect(config.Config{})
	made.Title = "mooring.yaml"
	routing, _ := made.Properties.Get("routing")
	on, _ := routing.Properties.Get("failover_on")
	on.Items = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "integer"}}}

	text, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "schema.json", append(text, '\n'))
}

// written describes the types that have words of their own in the file.
func written(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return &jsonschema.Schema{Type: "string", Examples: []any{"10s", "90d"}}
	case reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[config.Bytes]():
		return &jsonschema.Schema{Type: "string", Pattern: "^[0-9]+ *(B|KiB|MiB|GiB)$|\\$\\{"}
	case reflect.TypeFor[mooring.Secret](), reflect.TypeFor[config.DSN]():
		return &jsonschema.Schema{Type: "string"}
	}
	return nil
}

func TestSchema(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rule, file string
		valid      bool
	}{
		{"the example is valid", example(t), true},
		{"an empty file is valid", "{}", true},
		{"a status is a number too", "routing: {failover_on: [unreachable, 429]}", true},
		{"an unknown key is not", "sesions: {}", false},
		{"an unknown word is not", "durability: perhaps", false},
		{"a size needs a unit", "limits: {body: lots}", false},
		{"an upstream needs a name", "upstreams: [{builtin: echo}]", false},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			err := compiled(t).Validate(asJSON(t, row.file))
			if (err == nil) != row.valid {
				t.Errorf("Validate(%s) = %v, want valid = %t", row.file, err, row.valid)
			}
		})
	}
}

func compiled(t *testing.T) *validator.Schema {
	t.Helper()
	parsed, err := validator.UnmarshalJSON(bytes.NewReader(config.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := validator.NewCompiler()
	if err = compiler.AddResource("mooring.json", parsed); err != nil {
		t.Fatal(err)
	}
	out, err := compiler.Compile("mooring.json")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func asJSON(t *testing.T, file string) any {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	out, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// example gives config.example.yaml with the keys in it that are commented out, as in `#edge:`; prose has a blank there.
func example(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../config.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		rest, commented := strings.CutPrefix(line, "#")
		if commented && (!strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, "  ")) {
			line = rest
		}
		out.WriteString(line)
	}
	return out.String()
}
