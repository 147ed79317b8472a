package business_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/business"
)

// The README shows each function that checks may call, by an expression that holds.
func TestReferenceOfChecks(t *testing.T) {
	g := NewWithT(t)
	readme, err := os.ReadFile("../../README.md")
	g.Expect(err).NotTo(HaveOccurred())
	_, section, found := strings.Cut(string(readme), "### What a contract can say\n")
	g.Expect(found).To(BeTrue())
	section, _, _ = strings.Cut(section, "\n## ")
	called := map[string]bool{}
	for _, expression := range regexp.MustCompile("`([^`]* == [^`]*|[a-zA-Z]+\\([^`]*\\))`").FindAllStringSubmatch(section, -1) {
		program, err := business.Compile(&contracts.Contract{Checks: []contracts.Check{{Name: expression[1], Expr: expression[1]}}})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(program.Judge(nil, nil, nil)).To(BeEmpty())
		for _, function := range regexp.MustCompile(`([a-zA-Z]+)\(`).FindAllStringSubmatch(expression[1], -1) {
			called[function[1]] = true
		}
	}
	functions, err := business.Functions()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(functions).NotTo(BeEmpty())
	for _, function := range functions {
		g.Expect(called).To(HaveKey(function))
	}
}
