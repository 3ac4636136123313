package edge_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// TestEveryRuleIsNamed reads the names in the tests of the edge: each rule of its contract, and each attack of its table, is the name of one
// at least.
func TestEveryRuleIsNamed(t *testing.T) {
	t.Parallel()
	cited := regexp.MustCompile(`\b(T-|2\.5-)(\d+)\b`)
	named := map[string]bool{}
	for _, pattern := range []string{"*_test.go", "../openid/*_test.go", "../config/*_test.go", "../../test/edge/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					for _, m := range cited.FindAllStringSubmatch(lit.Value, -1) {
						named[m[1]+m[2]] = true
					}
				}
				return true
			})
		}
	}
	for _, rules := range []struct {
		name string
		n    int
	}{{"T-", 31}, {"2.5-", 69}} {
		for i := range rules.n {
			if rule := fmt.Sprint(rules.name, strconv.Itoa(i+1)); !named[rule] {
				t.Errorf("no test is named for %s", rule)
			}
		}
	}
}
