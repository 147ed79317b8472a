package contracts_test

import (
	"strings"
	"testing"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/providers"
	. "github.com/onsi/gomega"
)

func TestArchiveCarriesTheWholeFolder(t *testing.T) {
	g := NewWithT(t)
	c := load(t, map[string]string{"logo.png": "\x89PNG\x00\xff", "nul.txt": "a\x00b", "notes/é.md": "“text”\r\n"})
	archive := c.Archive()
	g.Expect(archive).To(Equal(c.Archive()), "the same bytes each time")
	g.Expect(string(archive)).NotTo(ContainSubstring(`\u0000`), "fit for a text column and for jsonb")

	again, err := contracts.FromArchive(archive)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.Digest()).To(Equal(c.Digest()))
	profile := providers.Profile{Model: "m"}
	g.Expect(again.ProofDigest(target("gamma/org/model-7b"), profile)).To(Equal(c.ProofDigest(target("gamma/org/model-7b"), profile)))
	g.Expect(again.Archive()).To(Equal(archive))
	g.Expect(again.Cases).To(Equal(c.Cases))
	g.Expect(again.Line("$.cases")).To(Equal(c.Line("$.cases")))
}

// A job runs to its end under the contract that it was created with, also where a folder would be refused by now.
func TestFromArchiveReadsWhatWasStoredBefore(t *testing.T) {
	g := NewWithT(t)
	archive := strings.Replace(string(load(t, nil).Archive()), "name: reply is polite", "name: 1", 1)
	stored, err := contracts.FromArchive([]byte(archive))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(stored.Checks[0].Name).To(Equal("1"))
	changed := map[string]string{"contract.yaml": strings.Replace(minimalYAML, "name: reply is polite", "name: 1", 1)}
	_, err = contracts.Load(folder("greeting", minimal(), changed), "greeting")
	g.Expect(err).To(MatchError("greeting/contract.yaml:12: name: want a text, and here stands 1: put it in quotes"))
}

func TestFromArchiveRefusesWhatIsNone(t *testing.T) {
	for archive, complaint := range map[string]string{
		``:                                   "no JSON value",
		`[]`:                                 "not an object",
		`{"contract.yaml": 5}`:               "contract.yaml: neither text nor base64",
		`{"contract.yaml": {"base64": "%"}}`: "contract.yaml: illegal base64",
		`{"contract.yaml": {"base64": "", "x": 1}}`:  "neither text nor base64",
		`{"../contract.yaml": ""}`:                   "no path inside a folder",
		`{"contract.yaml": "", "contract.yaml": ""}`: "duplicate key",
		`{"schema.json": "{}"}`:                      "contract.yaml: missing",
		`{"contract.yaml": "name: x\nnope: 1"}`:      `contract.yaml:2: unknown field "nope"`,
	} {
		_, err := contracts.FromArchive([]byte(archive))
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(complaint)), archive)
	}
}
