package job_test

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/service/job"
)

func intent(t *testing.T, contract, input, target string) job.Intent {
	t.Helper()
	decoded, err := value.Decode([]byte(input))
	if err != nil {
		t.Fatal(err)
	}
	return job.Intent{Contract: contract, Input: decoded, Target: target}
}

func TestFingerprintOfIntent(t *testing.T) {
	const contract, target = "invoice-extraction", "alpha/large"
	rows := []struct {
		name        string
		a, b        string // inputs
		contract    string // of b
		target      string // of b
		differences []string
	}{
		{"the same bytes", `{"a": 1}`, `{"a": 1}`, contract, target, nil},
		{"keys in another order", `{"a": 1, "b": {"c": 2, "d": 3}}`, `{"b": {"d": 3, "c": 2}, "a": 1}`, contract, target, nil},
		{"white space", `{"a":[1,2]}`, "{ \"a\" :\n\t[ 1 , 2 ] }", contract, target, nil},
		{"escapes", `{"é": "caf\u00e9 \/ \u263A"}`, `{"\u00e9": "café / ☺"}`, contract, target, nil},
		{"spellings of one number", `{"a": [1, 100, 0.5]}`, `{"a": [1.0, 1e2, 5E-1]}`, contract, target, nil},
		{"beyond 2^53", `{"a": 9007199254740992}`, `{"a": 9007199254740993}`, contract, target, []string{"/input/a"}},
		{"beyond doubles", `{"a": 1e131071}`, `{"a": 1e131072}`, contract, target, []string{"/input/a"}},
		{"array order", `{"a": [1, 2]}`, `{"a": [2, 1]}`, contract, target, []string{"/input/a/0", "/input/a/1"}},
		{"null is not absent", `{"a": null}`, `{}`, contract, target, []string{"/input/a"}},
		{"a number is not its text", `{"a": 1}`, `{"a": "1"}`, contract, target, []string{"/input/a"}},
		{"composed is not decomposed", `{"a": "é"}`, `{"a": "e\u0301"}`, contract, target, []string{"/input/a"}},
		{"another contract", `{}`, `{}`, "support-triage", target, []string{"/contract"}},
		{"another target", `{}`, `{}`, contract, "beta/large", []string{"/target"}},
		{"no target sent", `{}`, `{}`, contract, "", []string{"/target"}},
		{"a key that needs escaping", `{"a/b~c": 1}`, `{"a/b~c": 2}`, contract, target, []string{"/input/a~1b~0c"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			a, b := intent(t, contract, row.a, target), intent(t, row.contract, row.b, row.target)
			g.Expect(a.Fingerprint() == b.Fingerprint()).To(gomega.Equal(row.differences == nil))
			g.Expect(a.Differences(b)).To(gomega.Equal(row.differences))
			g.Expect(b.Differences(a)).To(gomega.Equal(row.differences))
		})
	}
}

// A fingerprint is stored for as long as its key lives: its spelling may never drift between versions.
func TestFingerprintStaysWhatItWas(t *testing.T) {
	g := gomega.NewWithT(t)
	g.Expect(intent(t, "c", `{"b": 1.50, "a": "é"}`, "p/m").Fingerprint()).To(gomega.Equal(
		"6f74a6b76906c5be643cea4b8c90f1fb36895c2769e4cb6fa27f9978d5501f1c"))
	g.Expect(job.AttemptRequest{}.Fingerprint()).To(gomega.Equal(
		"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"))
}

func TestFingerprintOfAttemptRequest(t *testing.T) {
	g := gomega.NewWithT(t)
	g.Expect(job.AttemptRequest{Target: "a/b"}.Fingerprint()).NotTo(gomega.Equal(job.AttemptRequest{}.Fingerprint()))
	g.Expect(job.AttemptRequest{Target: "a/b"}.Fingerprint()).To(gomega.Equal(job.AttemptRequest{Target: "a/b"}.Fingerprint()))
}
