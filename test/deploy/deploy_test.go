package deploy_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"mooring/test/product"
)

// folder is what is held against the program.
const folder = "../../deploy"

var binary product.Binary

func TestMain(m *testing.M) { os.Exit(product.Run(m, &binary)) }

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// node is a part of a YAML or JSON document.
type node struct{ v any }

// at follows names and positions; what is not there is an empty node.
func (n node) at(path ...any) node {
	for _, step := range path {
		switch key := step.(type) {
		case string:
			object, _ := n.v.(map[string]any)
			n = node{object[key]}
		case int:
			list, _ := n.v.([]any)
			if key >= len(list) {
				return node{}
			}
			n = node{list[key]}
		}
	}
	return n
}

func (n node) text() string {
	s, _ := n.v.(string)
	return s
}

func (n node) number() int {
	switch v := n.v.(type) {
	case uint64:
		return int(v)
	case int64:
		return int(v)
	case float64:
		return int(v)
	}
	return -1
}

func (n node) list() []node {
	list, _ := n.v.([]any)
	var all []node
	for _, v := range list {
		all = append(all, node{v})
	}
	return all
}

// documents parses a file; a key that is there twice is an error.
func documents(t *testing.T, name string) []node {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(read(t, name)))
	var all []node
	for {
		var v any
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, node{v})
	}
}

func document(t *testing.T, name string) node {
	t.Helper()
	all := documents(t, name)
	if len(all) != 1 {
		t.Fatalf("%s holds %d documents, want one", name, len(all))
	}
	return all[0]
}

// Every YAML file there is can be read, whether another test looks into it or not.
func TestYAML(t *testing.T) {
	t.Parallel()
	found := 0
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".yaml" {
			return err
		}
		found++
		for i, doc := range documents(t, name) {
			if object, ok := doc.v.(map[string]any); !ok || len(object) == 0 {
				t.Errorf("%s: document %d is no object", name, i)
			}
		}
		return nil
	})
	if err != nil || found < 8 {
		t.Errorf("%d files, %v", found, err)
	}
}
