package contracts_test

import (
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fallproof/fallproof/contracts"
	. "github.com/onsi/gomega"
)

func TestCatalog(t *testing.T) {
	g := NewWithT(t)
	fsys := folder("greeting", minimal(), nil)
	maps.Copy(fsys, folder("farewell", minimal(), map[string]string{"contract.yaml": strings.Replace(minimalYAML, "name: greeting", "name: farewell", 1)}))
	fsys["README.md"] = &fstest.MapFile{Data: []byte("no contract")}
	fsys[".git/HEAD"] = &fstest.MapFile{Data: []byte("no contract either")}
	catalog, err := contracts.LoadCatalog(fsys)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(catalog.Names()).To(Equal([]string{"farewell", "greeting"}))
	g.Expect(catalog.All()).To(HaveLen(2))
	g.Expect(catalog.All()[0].Name).To(Equal("farewell"))
	found, ok := catalog.Get("greeting")
	g.Expect(ok).To(BeTrue())
	g.Expect(found.Name).To(Equal("greeting"))
	_, ok = catalog.Get("insult")
	g.Expect(ok).To(BeFalse())
}

func TestCatalogRefuses(t *testing.T) {
	g := NewWithT(t)
	_, err := contracts.LoadCatalog(folder("hello", minimal(), nil))
	g.Expect(err).To(MatchError(`hello/contract.yaml:1: name is "greeting": a contract is named as its folder`))
	_, err = contracts.LoadCatalog(fstest.MapFS{"README.md": &fstest.MapFile{}})
	g.Expect(err).To(MatchError(ContainSubstring("no contract folder")))
	_, err = contracts.LoadCatalog(folder("greeting", minimal(), map[string]string{"schema.json": ""}))
	g.Expect(err).To(MatchError(HavePrefix("greeting/contract.yaml:9: ")))
}

func TestShipped(t *testing.T) {
	g := NewWithT(t)
	catalog, err := contracts.Shipped()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(catalog.Names()).To(Equal([]string{"invoice-extraction", "meeting-actions", "support-triage"}))
	for _, c := range catalog.All() {
		g.Expect(c.Cases).To(HaveLen(8), c.Name)
		again, err := contracts.FromArchive(c.Archive())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(again.Digest()).To(Equal(c.Digest()))
	}
}
