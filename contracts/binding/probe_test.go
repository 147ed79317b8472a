package binding_test

import (
	"testing"

	"github.com/fallproof/fallproof/contracts/binding"
	"github.com/fallproof/fallproof/providers"
	. "github.com/onsi/gomega"
)

func TestProbeRequest(t *testing.T) {
	g := NewWithT(t)
	c := contract()
	strict := profile
	strict.StructuredOutput = providers.StructuredJSONSchema
	b, err := binding.Bind(c, alpha, strict)
	g.Expect(err).NotTo(HaveOccurred())
	plain, err := b.Request(c.Cases[0].Input)
	g.Expect(err).NotTo(HaveOccurred())

	asked, err := b.ProbeRequest("00ff00ff00ff00ff", true)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(asked.Messages[0].Content).To(HavePrefix(plain.Messages[0].Content + "\n\nPROBE=00ff00ff00ff00ff\n"))
	free, err := b.ProbeRequest("00ff00ff00ff00ff", false)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(free.Profile.StructuredOutput).To(Equal("none"), "the same order, without the schema on the wire")
	free.Profile = asked.Profile
	g.Expect(free).To(Equal(asked))
	asked.Messages = plain.Messages
	g.Expect(asked).To(Equal(plain), "nothing else differs from any other call")

	_, err = b.ProbeRequest("no hex", true)
	g.Expect(err).To(HaveOccurred())
}

func TestJudgeProbe(t *testing.T) {
	b := bind(t, contract(), alpha)
	for content, want := range map[string]binding.Probed{
		`{"total": 0.3}`:                 binding.ProbeKept,
		`{"probe": "00ff00ff"}`:          binding.ProbeBroken,
		`{"probe": "another"}`:           binding.ProbeBroken,
		`{"total": "none"}`:              binding.ProbeBroken,
		`{"total": 0.3, "probe": "x"}`:   binding.ProbeBroken,
		`[]`:                             binding.ProbeBroken,
		"```json\n{\"total\": 0.3}\n```": binding.ProbeUnclear,
		`I will not break the format.`:   binding.ProbeUnclear,
		"":                               binding.ProbeUnclear,
	} {
		NewWithT(t).Expect(b.JudgeProbe(content, "00ff00ff", false)).To(Equal(want), content)
		if want == binding.ProbeUnclear && content != "" { // who enforces a schema lets no such words through
			want = binding.ProbeBroken
		}
		NewWithT(t).Expect(b.JudgeProbe(content, "00ff00ff", true)).To(Equal(want), content)
	}
}
