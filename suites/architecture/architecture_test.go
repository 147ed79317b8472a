package architecture

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/onsi/gomega"
)

const module = "github.com/fallproof/fallproof"

func TestEveryPackageKeepsToItsPlace(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	packages, err := readModule(root, module)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(packages, func(p imports) bool { return p.name == "suites/architecture" && slices.Contains(p.tests, "go/parser") }) {
		t.Fatal("the module's files were not found: not even this one")
	}
	for _, breach := range (fences{order, holds}).breaches(packages) {
		t.Error(breach)
	}
}

// An illegal import of each kind is found, and the legal one next to it is not.
func TestTheFencesHold(t *testing.T) {
	f := fences{
		order: []row{
			{packages: []string{"base"}},
			{packages: []string{"kit"}, use: inTests},
			{packages: []string{"left", "right"}, pure: true},
			{packages: []string{"sim"}, use: simulated},
			{packages: []string{"top"}},
			{packages: []string{"kit/late"}, use: inTests},
			{packages: []string{"suites/first"}, use: ended},
			{packages: []string{"suites/*"}, use: ended},
			{packages: []string{"cmd/tool"}, use: ended},
		},
		holds: []hold{
			{"example.org/lib", []string{"base", "top"}, "reasons"},
			{"example.org/lib/part", []string{"top"}, "better reasons"},
		},
	}
	production := func(name string, imported ...string) imports { return imports{name: name, production: imported} }
	tests := func(name string, imported ...string) imports { return imports{name: name, tests: imported} }
	cases := map[string]struct {
		given  imports
		breach string
	}{
		"upwards":                          {production("top", "base", "left", "fmt", "os"), ""},
		"downwards":                        {production("base", "top"), "base imports top, which stands below it"},
		"sideways":                         {production("left", "right"), "left imports right, which stands on the same step: neither may know the other"},
		"a package of no place":            {production("stray"), "stray has no place in the order of packages: add it to the table, with its job"},
		"a folder below one that has":      {production("base/stray"), "base/stray has no place in the order of packages: add it to the table, with its job"},
		"a suite in production":            {production("top", "suites/a"), "top imports suites/a, which stands below it"},
		"a suite in the command":           {production("cmd/tool", "suites/a", "top"), ""},
		"a suite that comes first":         {production("suites/a", "suites/first"), ""},
		"a later suite in it":              {production("suites/first", "suites/a"), "suites/first imports suites/a, which stands below it"},
		"a test of a later suite":          {tests("suites/a", "suites/first"), ""},
		"a test of the first suite":        {tests("suites/first", "suites/a"), "a test of suites/first imports suites/a, which stands below it, beside it or at the end"},
		"the first suite in production":    {production("top", "suites/first"), "top imports suites/first, which stands below it"},
		"the command":                      {production("suites/a", "cmd/tool"), "suites/a imports cmd/tool, which stands below it"},
		"suite in suite":                   {production("suites/a", "suites/b"), "suites/a imports suites/b, which stands on the same step: neither may know the other"},
		"test kit in production":           {production("top", "kit"), "top imports kit, which is not for production code"},
		"test kit in a test kit":           {production("kit/late", "kit", "testing"), ""},
		"test kit in a suite":              {production("suites/a", "kit", "github.com/onsi/ginkgo/v2"), ""},
		"simulator in production":          {production("top", "sim"), "top imports sim, which is not for production code"},
		"simulator in the command":         {production("cmd/tool", "sim"), ""},
		"the world in a pure package":      {production("left", "net/http"), "left imports net/http, and is to work without the outside world"},
		"a name alike in a pure package":   {production("left", "net/url"), ""},
		"testing in production":            {production("top", "testing"), "top imports testing, and testing belongs in tests"},
		"a matcher in the command":         {production("cmd/tool", "github.com/onsi/gomega/gexec"), "cmd/tool imports github.com/onsi/gomega/gexec, and github.com/onsi/gomega belongs in tests"},
		"a held library":                   {production("sim", "example.org/lib/v2"), "sim imports example.org/lib/v2, which is for base, top: reasons"},
		"a held library at home":           {production("base", "example.org/lib"), ""},
		"a held part":                      {production("base", "example.org/lib/part"), "base imports example.org/lib/part, which is for top: better reasons"},
		"a held library in the command":    {production("cmd/tool", "example.org/lib"), ""},
		"a library of nearly that name":    {production("sim", "example.org/library"), ""},
		"a test upwards":                   {tests("top", "base", "top", "testing", "example.org/lib"), ""},
		"a test with kits from below":      {tests("base", "kit", "sim", "kit/late"), ""},
		"a test downwards":                 {tests("base", "top"), "a test of base imports top, which stands below it, beside it or at the end"},
		"a test sideways":                  {tests("left", "right"), "a test of left imports right, which stands below it, beside it or at the end"},
		"a test of the command's suite":    {tests("cmd/tool", "suites/a"), ""},
		"a test with another's test suite": {tests("suites/a", "suites/b"), "a test of suites/a imports suites/b, which stands below it, beside it or at the end"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			breaches := f.breaches([]imports{c.given})
			if c.breach == "" {
				g.Expect(breaches).To(gomega.BeEmpty())
			} else {
				g.Expect(breaches).To(gomega.Equal([]string{c.breach}))
			}
		})
	}
}

func TestTheModuleIsReadWhole(t *testing.T) {
	g := gomega.NewWithT(t)
	root := t.TempDir()
	for path, content := range map[string]string{
		"go.mod":               "module example.org/m",
		"a/a.go":               "package a\nimport (\n\"fmt\"\n\"example.org/m/b\"\n)",
		"a/a_windows.go":       "//go:build windows\n\npackage a\nimport \"fmt\"\nimport _ \"example.org/m/b/c\"",
		"a/a_test.go":          "package a_test\nimport \"example.org/m/a\"",
		"b/c/c.go":             "package c",
		"a/testdata/broken.go": "not go",
		".hidden/broken.go":    "not go",
		"_old/broken.go":       "not go",
	} {
		at := filepath.Join(root, path)
		g.Expect(os.MkdirAll(filepath.Dir(at), 0o755)).To(gomega.Succeed())
		g.Expect(os.WriteFile(at, []byte(content), 0o600)).To(gomega.Succeed())
	}
	g.Expect(readModule(root, "example.org/m")).To(gomega.Equal([]imports{
		{name: "a", production: []string{"b", "b/c", "fmt"}, tests: []string{"a"}},
		{name: "b/c"},
	}))

	g.Expect(os.WriteFile(filepath.Join(root, "b", "broken.go"), []byte("not go"), 0o600)).To(gomega.Succeed())
	_, err := readModule(root, "example.org/m")
	g.Expect(err).To(gomega.HaveOccurred())

	t.Chdir(filepath.Join(root, "b", "c"))
	found, err := moduleRoot()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(filepath.EvalSymlinks(found)).To(gomega.Equal(must(g)(filepath.EvalSymlinks(root))))
}

func must(g *gomega.WithT) func(string, error) string {
	return func(value string, err error) string {
		g.Expect(err).NotTo(gomega.HaveOccurred())
		return value
	}
}

// Each row has a reason, and no package has two places.
func TestTheTablesAreWellFormed(t *testing.T) {
	g := gomega.NewWithT(t)
	seen := map[string]bool{}
	for _, r := range order {
		g.Expect(r.job).NotTo(gomega.BeEmpty(), "%v", r.packages)
		for _, name := range r.packages {
			g.Expect(seen[name]).To(gomega.BeFalse(), name)
			seen[name] = true
		}
	}
	for _, h := range holds {
		g.Expect(h.why).NotTo(gomega.BeEmpty(), h.library)
		for _, name := range h.by {
			g.Expect(seen[name] || isSuite(name)).To(gomega.BeTrue(), "%s holds %s and is no package", name, h.library)
		}
	}
}
