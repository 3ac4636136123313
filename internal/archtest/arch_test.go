package archtest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"
)

const module = "mooring"

// floors names every package, ground first: rooms by their path below internal/, others by their path in the module
// ("." is the root package). A package may import lower floors only, never its own.
var floors = [][]string{
	{"."},
	{"config", "telemetry", "web", "store/migrate"},
	{"store/sql"}, // what both drivers share
	{"wire", "route", "upstream", "record", "search", "signin", "problem", "price", "peer", "openid", "store/sqlite", "store/postgres"},
	{"identify", "forward", "serve", "echo"},
	{"turn", "eval"},
	{"relay", "workspace", "edge", "admin"},
	{"app"},
	{"apiclient", "completion"}, // of the command line; they know no other room
	{"console"},
	{"cmd/mooring"},
	{"archtest", "store/storetest", "upstreamtest", "issuertest", "traffic", "wire/wiretest"}, // for tests: nothing of the product imports them
	{"cmd/fakemodel"},
}

// It parses the files itself: `go list` in a child process would hide changes from the test cache.
func TestImportsRunDownward(t *testing.T) {
	floor := map[string]int{}
	for i, names := range floors {
		for _, name := range names {
			floor[name] = i + 1
		}
	}
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipped(file)
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		src, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg := strings.TrimPrefix(path.Dir(file), "internal/")
		if floor[pkg] == 0 {
			t.Errorf("%s stands on no floor", pkg)
		}
		for _, spec := range parsed.Imports {
			target, _ := strconv.Unquote(spec.Path.Value)
			if dep, ours := room(target); ours && floor[dep] >= floor[pkg] {
				t.Errorf("%s: floor %d imports %s of floor %d", file, floor[pkg], dep, floor[dep])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// skipped keeps the walk to the root package, cmd and internal, less what is no package of ours.
func skipped(dir string) error {
	top, _, _ := strings.Cut(dir, "/")
	base := path.Base(dir)
	if (top != "." && top != "cmd" && top != "internal") || base == "testdata" || base == "node_modules" {
		return fs.SkipDir
	}
	return nil
}

// room gives the name that floors has for an import path, and whether the path is one of this module's.
func room(target string) (string, bool) {
	if target == module {
		return ".", true
	}
	dep, ours := strings.CutPrefix(target, module+"/")
	return strings.TrimPrefix(dep, "internal/"), ours
}
