package structure_test

import (
	"testing"

	"github.com/fallproof/fallproof/contracts/value"
	. "github.com/onsi/gomega"
)

// Whatever a provider answers is judged without a panic, the same way twice, and passes only where it
// is one JSON value.
func FuzzJudge(f *testing.F) {
	for _, seed := range []string{
		`{"id": 1}`, `{"id": 1e999999999}`, "```json\n{\"id\": 1}\n```", `Sure: {"id": 1}!`, `{"id": 1, "id": 2}`, `{"id": 1, "level": "LOW"}`,
		`{"id": 1, "a/b": 2, "%41": 3, "~": 4}`, "{\"id\": \"\x00\"}", `{"id":1,"tags":[{"x":1,"y":2}]}`, `[`, "`````",
	} {
		f.Add(seed)
	}
	checker := compile(f, schema)
	f.Fuzz(func(t *testing.T, content string) {
		g := NewWithT(t)
		answer, findings := checker.Judge(content)
		_, again := checker.Judge(content)
		g.Expect(again).To(Equal(findings))
		if len(findings) == 0 {
			decoded, err := value.DecodeLenientNUL([]byte(content))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(value.Equal(decoded, answer)).To(BeTrue())
		}
		for _, finding := range findings {
			g.Expect(finding.Reason).NotTo(BeEmpty())
			g.Expect(finding.Detail).NotTo(BeEmpty())
			if answer != nil && finding.Reason == "schema_violation" {
				_, exists := value.At(answer, finding.InstancePath)
				g.Expect(exists).To(BeTrue(), "%q points nowhere", finding.InstancePath)
			}
		}
	})
}
