package scaffold_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/lint"
	"github.com/fallproof/fallproof/contracts/scaffold"
)

// What authors start from has not a single problem, and nothing in it bears another name.
func TestWrite(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "not", "yet", "there")
	files, err := scaffold.Write(dir, "orders-2")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).To(ConsistOf("contract.yaml", "schema.json", "cases/01-two-articles.yaml", "cases/02-an-instruction-inside.yaml"))
	c, err := contracts.Load(os.DirFS(dir), "orders-2")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Name).To(Equal("orders-2"))
	report := lint.Examine(c)
	g.Expect(report.Problems).To(BeEmpty())
	g.Expect(report.Mutation.Score).To(BeNumerically(">", 0.95), "%+v", report.Mutation.Survivors)
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(dir, "orders-2", file))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(text)).NotTo(ContainSubstring("my-contract"))
	}
}

func TestWriteOverNothing(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	g.Expect(os.Mkdir(filepath.Join(dir, "orders"), 0o755)).To(Succeed())
	_, err := scaffold.Write(dir, "orders")
	var exists *scaffold.ExistsError
	g.Expect(errors.As(err, &exists)).To(BeTrue())
	g.Expect(err).To(MatchError(HaveSuffix("orders exists already; nothing was written")))
	g.Expect(os.ReadDir(filepath.Join(dir, "orders"))).To(BeEmpty())
	g.Expect(os.WriteFile(filepath.Join(dir, "file"), nil, 0o600)).To(Succeed())
	_, err = scaffold.Write(dir, "file")
	g.Expect(errors.As(err, &exists)).To(BeTrue())
	_, err = scaffold.Write(filepath.Join(dir, "never"), "../escape")
	g.Expect(err).To(MatchError(ContainSubstring("want lower-case letters")))
	g.Expect(filepath.Join(dir, "never")).NotTo(BeADirectory())
}
