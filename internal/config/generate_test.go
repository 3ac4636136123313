package config_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/config"
)

var update = flag.Bool("update", false, "rewrite what is generated from the structs")

func TestGeneratedDocumentation(t *testing.T) {
	t.Parallel()
	intro, err := os.ReadFile("testdata/configuration_intro.md")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	out.Write(intro)
	page := docs{out: &out, words: comments(t)}
	page.section("", reflect.ValueOf(config.Default()))
	golden(t, "../../docs/configuration.md", []byte(out.String()))
}

// golden compares with a file that is kept in the repository.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is stale, run `go test ./internal/config -update` (-file +generated):\n%s", path, diff)
	}
}

// comments gives the words above each struct ("Config") and each of its fields ("Config.Listen").
func comments(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				fieldComments(spec, out)
			}
			return true
		})
	}
	return out
}

func fieldComments(spec *ast.TypeSpec, out map[string]string) {
	body, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range body.Fields.List {
		for _, name := range field.Names {
			out[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(field.Doc.Text()), " ")
		}
	}
}

// docs writes one table per struct.
type docs struct {
	out   *strings.Builder
	words map[string]string
}

func (d docs) section(path string, v reflect.Value) {
	title := path
	if path == "" {
		title = "Top level"
	}
	fmt.Fprintf(d.out, "\n## %s\n\n| key | value | default | |\n|---|---|---|---|\n", title)
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if name == "-" {
			continue
		}
		kind := kindOf(field)
		if words := enum(field); words != "" {
			kind = words
		}
		fmt.Fprintf(d.out, "| `%s` | %s | %s | %s |\n", name, kind, defaultOf(field, v.Field(i)), d.words[v.Type().Name()+"."+field.Name])
	}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		d.below(strings.TrimPrefix(path+"."+name, "."), v.Field(i))
	}
}

// below describes what a key holds, where that has keys of its own.
func (d docs) below(path string, v reflect.Value) {
	t := v.Type()
	switch {
	case t == reflect.TypeFor[time.Time]():
	case t.Kind() == reflect.Struct:
		d.section(path, v)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		d.section(path+"[]", entry(t.Elem()))
	case t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Struct:
		d.section(path+".*", entry(t.Elem()))
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct:
		d.section(path, entry(t.Elem()))
	}
}

// entry gives a struct with the defaults that an entry of a list has.
func entry(t reflect.Type) reflect.Value {
	v := reflect.New(t)
	config.Preset(v.Interface())
	if u, ok := reflect.TypeAssert[*config.Upstream](v); ok {
		*u = config.Complete(*u)
	}
	return v.Elem()
}

func enum(field reflect.StructField) string {
	var words []string
	for part := range strings.SplitSeq(field.Tag.Get("jsonschema"), ",") {
		if word, ok := strings.CutPrefix(part, "enum="); ok && word != "" {
			words = append(words, "`"+word+"`")
		}
	}
	return strings.Join(words, ", ")
}

func kindOf(field reflect.StructField) string {
	switch field.Type {
	case reflect.TypeFor[time.Duration]():
		return "duration"
	case reflect.TypeFor[time.Time]():
		return "time"
	case reflect.TypeFor[config.Bytes]():
		return "size"
	case reflect.TypeFor[mooring.Secret]():
		return "secret"
	}
	switch kind := field.Type.Kind(); {
	case kind == reflect.Slice:
		return "list"
	case kind == reflect.Map, kind == reflect.Struct, field.Type == reflect.TypeFor[*config.Edge]():
		return "keys"
	case kind == reflect.Pointer, kind == reflect.Int, kind == reflect.Float64:
		return "number"
	case kind == reflect.Bool:
		return "true or false"
	}
	return "text"
}

func defaultOf(field reflect.StructField, v reflect.Value) string {
	if strings.Contains(field.Tag.Get("jsonschema"), "required") {
		return "required"
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		return code(config.DurationText(x), x != 0)
	case config.Bytes:
		return code(x.String(), true)
	case []string:
		return code("["+strings.Join(x, ", ")+"]", true)
	case time.Time:
		return ""
	}
	switch v.Kind() { //nolint:exhaustive // what follows takes all other kinds
	case reflect.String:
		return code(v.String(), !v.IsZero())
	case reflect.Bool, reflect.Int, reflect.Float64:
		return code(fmt.Sprint(v.Interface()), true)
	}
	return ""
}

func code(text string, shown bool) string {
	if !shown {
		return ""
	}
	return "`" + text + "`"
}
