package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/onsi/gomega"
)

var (
	faultRow  = regexp.MustCompile(`(?m)^\| (\d+) \|([^|]*)\|([^|]*)\|([^|]*)\|$`)
	faultTest = regexp.MustCompile("`([a-z/]+): ([^`]+)`")
)

// TestEveryTestThatFaultsNamesExists: the page says of each fault which test would see it.
func TestEveryTestThatFaultsNamesExists(t *testing.T) {
	g := gomega.NewWithT(t)
	root, err := moduleRoot()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	page, err := os.ReadFile(filepath.Join(root, "suites", "FAULTS.md"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	sections := strings.Split(string(page), "\n## ")[1:]
	g.Expect(sections).To(gomega.HaveLen(3))
	known := map[string]map[string]bool{}
	for i, faults := range []int{31, 32, 39} {
		rows := faultRow.FindAllStringSubmatch(sections[i], -1)
		g.Expect(rows).To(gomega.HaveLen(faults), "each fault has a row of four cells")
		for n, row := range rows {
			g.Expect(row[1]).To(gomega.Equal(strconv.Itoa(n+1)), "the rows are counted")
			named := faultTest.FindAllStringSubmatch(row[4], -1)
			g.Expect(named).NotTo(gomega.BeEmpty(), "fault %s has a test: %s", row[1], row[2])
			g.Expect(strings.Count(row[4], "`")).To(gomega.Equal(2*len(named)), "what row %s names are tests, as `package: test`", row[1])
			for _, each := range named {
				folder, name := filepath.Join(root, each[1]), each[2]
				if known[folder] == nil {
					known[folder] = testNames(t, folder)
				}
				if top, sub, found := strings.Cut(name, "/"); found && strings.HasPrefix(top, "Test") {
					g.Expect(known[folder]).To(gomega.HaveKey(top), each[1])
					name = sub
				}
				g.Expect(known[folder]).To(gomega.HaveKey(name), each[1])
			}
		}
	}
}

// testNames are the names under which a folder's tests can be found: functions, and what is the first
// word of a spec, of a table's row or of a behaviour; transcripts by their file.
func testNames(t *testing.T, folder string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no Go files in %s: %v", folder, err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			if name := testName(node); name != "" {
				names[name] = true
			}
			return true
		})
	}
	transcripts, err := filepath.Glob(filepath.Join(folder, "testdata", "races", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range transcripts {
		names["transcripts/"+strings.TrimSuffix(filepath.Base(file), ".txt")] = true
	}
	return names
}

func testName(node ast.Node) string {
	switch node := node.(type) {
	case *ast.FuncDecl:
		if strings.HasPrefix(node.Name.Name, "Test") || strings.HasPrefix(node.Name.Name, "Benchmark") {
			return node.Name.Name
		}
	case *ast.CallExpr: // It("name", …), Entry("name", …), t.Run("name", …)
		if len(node.Args) > 1 {
			return text(node.Args[0])
		}
	case *ast.CompositeLit: // {"name", …}
		if len(node.Elts) > 1 {
			return text(node.Elts[0])
		}
	case *ast.KeyValueExpr: // "name": …, or name: "name", or model: "personality"
		if key, ok := node.Key.(*ast.Ident); ok && (key.Name == "name" || key.Name == "model") {
			return text(node.Value)
		}
		return text(node.Key)
	}
	return ""
}

func text(node ast.Expr) string {
	literal, ok := node.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return ""
	}
	unquoted, err := strconv.Unquote(literal.Value)
	if err != nil {
		return ""
	}
	return unquoted
}
