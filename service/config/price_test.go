package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/config"
)

// A price is the target's, and no part of what is proven about it.
func TestPrice(t *testing.T) {
	g := gomega.NewWithT(t)
	parse := func(models string) *config.Config {
		c, err := config.Parse("f.yaml", []byte("providers:\n  a:\n    base_url: https://a.example\n    models: {"+models+"}\n"), func(string) string { return "" })
		g.Expect(err).NotTo(gomega.HaveOccurred())
		return c
	}
	target := providers.Target{Provider: "a", Model: "m"}
	priced, free := parse("m: {price: {input: 0.15, output: 2}}, n: {}"), parse("m: {}")
	price, ok := priced.Price(target)
	g.Expect(ok).To(gomega.BeTrue())
	g.Expect(price).To(gomega.Equal(config.Price{Input: 0.15, Output: 2}))
	g.Expect(price.Of(2_000_000, 500_000)).To(gomega.BeNumerically("~", 1.3, 1e-12))
	_, ok = priced.Price(providers.Target{Provider: "a", Model: "n"})
	g.Expect(ok).To(gomega.BeFalse())
	_, ok = priced.Price(providers.Target{Provider: "b", Model: "m"})
	g.Expect(ok).To(gomega.BeFalse())
	with, _ := priced.Profile(target)
	without, _ := free.Profile(target)
	g.Expect(with.Digest()).To(gomega.Equal(without.Digest()))
}

// Whoever is to fill the folder of contracts can be told where it is before it is there.
func TestContractsFolder(t *testing.T) {
	g := gomega.NewWithT(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "f.yaml")
	write := func(text string) { g.Expect(os.WriteFile(file, []byte(text), 0o600)).To(gomega.Succeed()) }
	write("contracts: ./mine\nroutes: {mine: {primary: a/b}}\n")
	g.Expect(config.ContractsFolder(file)).To(gomega.Equal(filepath.Join(dir, "mine")))
	write("store: {}\n")
	g.Expect(config.ContractsFolder(file)).To(gomega.BeEmpty())
	write("contracts: [a]\n")
	_, err := config.ContractsFolder(file)
	g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("f.yaml:1: contracts: want a text")))
	_, err = config.ContractsFolder(filepath.Join(dir, "none.yaml"))
	g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("none.yaml")))
}
