package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// makers are the functions of log/slog whose first argument is a key.
var makers = []string{"Any", "Bool", "Duration", "Float64", "Group", "Int", "Int64", "String", "Time", "Uint64"}

var keyRow = regexp.MustCompile("(?m)^\\| ((?:`\\w+`(?:, )?)+) \\| [^|]+ \\|$")

// logKeys are the keys of what the program logs, each with a place where it is used.
func logKeys(t *testing.T) map[string]string {
	t.Helper()
	root := os.DirFS("../..")
	keys := map[string]string{}
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipped(file)
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "cmd/fakemodel") {
			return nil
		}
		if file == "internal/telemetry/logger.go" { // it hands on the keys of others
			return nil
		}
		src, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, src, 0)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !makesAttr(call) {
				return true
			}
			literal, ok := call.Args[0].(*ast.BasicLit)
			if !ok {
				t.Errorf("%s: a log key that is not written down", set.Position(call.Pos()))
				return true
			}
			key, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Errorf("%s: %v", set.Position(call.Pos()), err)
			}
			keys[key] = set.Position(call.Pos()).String()
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func makesAttr(call *ast.CallExpr) bool {
	name, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	pkg, ok := name.X.(*ast.Ident)
	return ok && pkg.Name == "slog" && slices.Contains(makers, name.Sel.Name)
}

// Whoever searches the log finds its keys in the document, and in the document no others.
func TestLogKeysAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "\n## Log\n")
	part, _, _ = strings.Cut(part, "\n## ")
	said := map[string]bool{}
	for _, row := range keyRow.FindAllStringSubmatch(part, -1) {
		for key := range strings.SplitSeq(row[1], ", ") {
			said[strings.Trim(key, "`")] = true
		}
	}
	used := logKeys(t)
	for _, key := range slices.Sorted(maps.Keys(used)) {
		if !said[key] {
			t.Errorf("%s: the log key %q is not in docs/telemetry.md", used[key], key)
		}
		delete(said, key)
	}
	for key := range said {
		t.Errorf("docs/telemetry.md has the log key %q, which nothing logs", key)
	}
}

var (
	newTable = regexp.MustCompile(`(?m)^CREATE TABLE (\w+)`)
	tableRow = regexp.MustCompile("(?m)^\\| (`\\w+`(?:, `\\w+`)*) \\| [^|]+ \\| [^|]+ \\|$")
)

// Each table has its place on a database of many nodes: where it stands says the document.
func TestTablesArePlaced(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "\n## Which table stands where\n")
	part, _, _ = strings.Cut(part, "\n## ")
	placed := map[string]bool{}
	for _, row := range tableRow.FindAllStringSubmatch(part, -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			if placed[name] {
				t.Errorf("docs/scale.md has the table %s twice", name)
			}
			placed[name] = true
		}
	}
	files, err := fs.Glob(os.DirFS("../store/migrate/migrations/postgres"), "*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("migrations: %q, %v", files, err)
	}
	for _, file := range files {
		migration, err := os.ReadFile("../store/migrate/migrations/postgres/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, made := range newTable.FindAllStringSubmatch(string(migration), -1) {
			if name := "`" + made[1] + "`"; !placed[name] {
				t.Errorf("docs/scale.md does not say where %s stands", name)
			} else {
				delete(placed, name)
			}
		}
	}
	for name := range placed {
		t.Errorf("docs/scale.md places %s, which no migration makes", name)
	}
}
