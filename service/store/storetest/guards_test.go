package storetest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/onsi/gomega"
)

// TestEveryTestThatGuardsNamesExists: the page says of each guard which test fails without it.
func TestEveryTestThatGuardsNamesExists(t *testing.T) {
	g := gomega.NewWithT(t)
	known := map[string]bool{}
	for _, group := range promises {
		for _, promise := range group {
			g.Expect(known[promise.name]).To(gomega.BeFalse(), "two behaviours are called %q", promise.name)
			known[promise.name] = true
		}
	}
	files, err := filepath.Glob("testdata/races/*.txt")
	g.Expect(err).NotTo(gomega.HaveOccurred())
	for _, file := range files {
		known["transcripts/"+strings.TrimSuffix(filepath.Base(file), ".txt")] = true
	}
	page, err := os.ReadFile("../GUARDS.md")
	g.Expect(err).NotTo(gomega.HaveOccurred())
	rows := regexp.MustCompile("(?m)^\\|.*\\| `([^`]+)` \\| ([SP–] P|S –) \\|$").FindAllStringSubmatch(string(page), -1)
	g.Expect(rows).To(gomega.HaveLen(strings.Count(string(page), "\n| ")-strings.Count(string(page), "| guard |")), "every row names one test, and where it was seen to fail")
	for _, row := range rows {
		g.Expect(known).To(gomega.HaveKey(row[1]))
	}
}
