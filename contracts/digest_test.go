package contracts_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/providers"
	. "github.com/onsi/gomega"
)

func TestDigestCoversTheWholeFolder(t *testing.T) {
	g := NewWithT(t)
	digests := map[string]string{load(t, nil).Digest(): "unchanged"}
	for name, changes := range map[string]map[string]string{
		"a comment":                {"contract.yaml": minimalYAML + "# a comment\n"},
		"white space":              {"schema.json": minimal()["schema.json"] + "\n"},
		"a case":                   {"cases/2-two.yaml": "name: two\ninput: {text: other}\n"},
		"a case more":              {"cases/3.yaml": "name: three\ninput: {text: x}\n"},
		"a case less":              {"cases/2-two.yaml": ""},
		"a renamed case":           {"cases/2-two.yaml": "", "cases/2-zwei.yaml": minimal()["cases/2-two.yaml"]},
		"a file nobody asked for":  {"notes.md": "n"},
		"a hidden file":            {".hidden": "n"},
		"a file further down":      {"more/notes.md": "n"},
		"path and content swapped": {"notes": ".mdn"},
	} {
		digest := load(t, changes).Digest()
		g.Expect(digests).NotTo(HaveKey(digest), "%s gives the digest of %s", name, digests[digest])
		g.Expect(digest).To(MatchRegexp("^[0-9a-f]{64}$"))
		digests[digest] = name
	}
	again, err := contracts.Load(folder("elsewhere", minimal(), nil), "elsewhere")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.Digest()).To(Equal(load(t, nil).Digest()), "where the folder stands is no part of it")
}

func TestEffectiveDigestMovesWithWhatIsProven(t *testing.T) {
	alpha, gamma := target("alpha/large"), target("gamma/org/model-7b")
	edit := func(pairs ...string) map[string]string {
		text := strings.NewReplacer(pairs...).Replace(minimalYAML)
		if text == minimalYAML {
			t.Fatalf("%v changes nothing", pairs)
		}
		return map[string]string{"contract.yaml": text}
	}
	for _, row := range []struct {
		name         string
		changes      map[string]string
		alpha, gamma bool // whether the digest moves
	}{
		{"nothing", nil, false, false},
		{"comment and layout", map[string]string{"contract.yaml": "# a comment\n" + minimalYAML}, false, false},
		{"a file that no key names", map[string]string{"README.md": "x"}, false, false},
		{"messages", edit("Answer in JSON.", "Answer in JSON!"), true, false},
		{"the variant", edit("JSON only", "Only JSON"), false, true},
		{"another target's variant", edit("variants:\n", "variants:\n  beta/b: {messages: [{role: user, content: \"{{ .text }}\"}]}\n"), false, false},
		{"temperature", edit("temperature: 0.5", "temperature: 0"), true, true},
		{"samples", edit("samples: 3", "samples: 4"), true, true},
		{"tokens", edit("max_output_tokens: 64", "max_output_tokens: 65"), true, true},
		{"check", edit(`output.reply != ""`, `output.reply != "x"`), true, true},
		{"name of a check", edit("reply is polite", "reply is kind"), true, true},
		{"threshold", edit("business: 0.6", "business: 0.61"), true, true},
		{"validity", edit("24h", "25h"), true, true},
		{"effects alone", edit("valid_for", "effects: none\nrelease_after: 5s\nvalid_for"), false, false},
		{"what is required", edit("valid_for", "require: [tokens]\nvalid_for"), true, true},
		{"the usual floor, said", edit("valid_for", "mutation_floor: 0.8\nvalid_for"), false, false},
		{"another floor", edit("valid_for", "mutation_floor: 0\nvalid_for"), true, true},
		{"what has no order", edit("valid_for", "unordered: [/a]\nvalid_for"), true, true},
		{"what may be worded freely", edit("valid_for", "free_text: [/a]\nvalid_for"), true, true},
		{"nothing required, said", edit("valid_for", "require: []\nvalid_for"), false, false},
		{"a byte of the schema", map[string]string{"schema.json": minimal()["schema.json"] + " "}, true, true},
		{"input", map[string]string{"cases/2-two.yaml": "name: two\ninput: {text: shalom}\n"}, true, true},
		{"input beyond 2^53", map[string]string{"cases/1-one.yaml": strings.Replace(minimal()["cases/1-one.yaml"], "9007199254740993", "9007199254740992", 1)}, true, true},
		{"expected", map[string]string{"cases/1-one.yaml": strings.Replace(minimal()["cases/1-one.yaml"], "hi}", "ho}", 1)}, true, true},
		{"another order of cases", map[string]string{"cases/1-one.yaml": "", "cases/3-one.yaml": minimal()["cases/1-one.yaml"]}, true, true},
		{"expected taken away", map[string]string{"cases/1-one.yaml": strings.Replace(minimal()["cases/1-one.yaml"], "expected: {reply: hi}\n", "", 1)}, true, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			before, after := load(t, nil), load(t, row.changes)
			g.Expect(after.EffectiveDigest(alpha) != before.EffectiveDigest(alpha)).To(Equal(row.alpha), "alpha")
			g.Expect(after.EffectiveDigest(gamma) != before.EffectiveDigest(gamma)).To(Equal(row.gamma), "gamma")
			g.Expect(!reflect.DeepEqual(after.Parts(alpha), before.Parts(alpha))).To(Equal(row.alpha), "its parts tell what moved")
			g.Expect(!reflect.DeepEqual(after.Parts(gamma), before.Parts(gamma))).To(Equal(row.gamma), "gamma's do")
			profile := providers.Profile{Model: "m"}
			g.Expect(after.ProofDigest(alpha, profile) != before.ProofDigest(alpha, profile)).To(Equal(row.alpha))
		})
	}
	g := NewWithT(t)
	g.Expect(load(t, nil).EffectiveDigest(alpha)).NotTo(Equal(load(t, nil).EffectiveDigest(gamma)))
	g.Expect(load(t, nil).EffectiveDigest(alpha)).To(Equal(load(t, nil).EffectiveDigest(target("beta/b"))), "no variant, same contract")
}

func TestProofDigestMovesWithTheProfile(t *testing.T) {
	g := NewWithT(t)
	c, alpha := load(t, nil), target("alpha/large")
	seen := map[string]bool{}
	for _, profile := range []providers.Profile{
		{}, {BaseURL: "https://alpha.example"}, {Model: "large"}, {Source: providers.SourceLive}, {ContextWindow: 1}, {Tokenizer: "none"},
		{SystemRole: "merge"}, {Temperature: "omit"}, {MaxTokensField: "max_tokens"}, {StructuredOutput: "none"},
	} {
		seen[c.ProofDigest(alpha, profile)] = true
		g.Expect(c.ProofDigest(alpha, profile)).To(Equal(c.ProofDigest(alpha, profile)))
	}
	g.Expect(seen).To(HaveLen(10))
}
