package drift_test

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/drift"
)

func TestOneAnswerAlone(t *testing.T) {
	certified := drift.Certified{ServedModels: []string{"m-1", "m-2"}, Fingerprints: []string{"fp-1"}}
	model := drift.Finding{Cause: drift.CauseServedModel, Suspends: true, Detail: `"m-3" served an answer; certified was "m-1", "m-2"`}
	print := drift.Finding{Cause: drift.CauseFingerprint, Detail: `an answer has the fingerprint "fp-2"; certified was "fp-1"`}
	for name, row := range map[string]struct {
		certified drift.Certified
		answer    drift.Answer
		want      drift.Finding
	}{
		"as certified":                    {certified, drift.Answer{ServedModel: "m-2", SystemPrint: "fp-1"}, drift.Finding{}},
		"another model":                   {certified, drift.Answer{ServedModel: "m-3", SystemPrint: "fp-1"}, model},
		"another model and print":         {certified, drift.Answer{ServedModel: "m-3", SystemPrint: "fp-2"}, model},
		"another print":                   {certified, drift.Answer{ServedModel: "m-1", SystemPrint: "fp-2"}, print},
		"a failure, which says nothing":   {certified, drift.Answer{}, drift.Finding{}},
		"an answer that says nothing":     {certified, drift.Answer{Judged: true}, drift.Finding{Cause: model.Cause, Detail: `an answer does not say which model served it; certified was "m-1", "m-2"`}},
		"neither says anything":           {drift.Certified{}, drift.Answer{Judged: true}, drift.Finding{}},
		"a record that says nothing":      {drift.Certified{}, drift.Answer{SystemPrint: "fp-2"}, drift.Finding{}},
		"a name where there was none":     {drift.Certified{}, drift.Answer{ServedModel: "m-3", SystemPrint: "fp-2"}, drift.Finding{Cause: model.Cause, Detail: `"m-3" served an answer; no answer said which model it was of when it was certified`}},
		"a longer name is another model":  {certified, drift.Answer{ServedModel: "m-10"}, drift.Finding{Cause: model.Cause, Suspends: true, Detail: `"m-10" served an answer; certified was "m-1", "m-2"`}},
		"a record without a fingerprint":  {drift.Certified{ServedModels: []string{"m-1"}}, drift.Answer{ServedModel: "m-1", SystemPrint: "fp-2"}, drift.Finding{}},
		"an answer without a fingerprint": {certified, drift.Answer{ServedModel: "m-1"}, drift.Finding{}},
	} {
		t.Run(name, func(t *testing.T) {
			gomega.NewWithT(t).Expect(drift.Single(row.certified, row.answer)).To(gomega.Equal(row.want))
		})
	}
}

func TestTheRateHasToBeAboveTheDeclaredOne(t *testing.T) {
	of := func(rate float64, minimum int) drift.Settings {
		return drift.Settings{Violations: rate, Window: 200, Minimum: minimum}
	}
	for name, row := range map[string]struct {
		settings drift.Settings
		window   drift.Window
		suspends bool
	}{
		"nothing yet":                         {of(0, 1), drift.Window{}, false},
		"too few to say":                      {of(0.05, 20), drift.Window{Answers: 19, Violations: 19}, false},
		"as many as are enough":               {of(0.05, 20), drift.Window{Answers: 20, Violations: 2}, true},
		"exactly the rate":                    {of(0.05, 20), drift.Window{Answers: 20, Violations: 1}, false},
		"exactly, where a product is not":     {of(0.29, 20), drift.Window{Answers: 100, Violations: 29}, false},
		"one more":                            {of(0.29, 20), drift.Window{Answers: 100, Violations: 30}, true},
		"none are tolerable":                  {of(0, 20), drift.Window{Answers: 20, Violations: 1}, true},
		"none are tolerable and none is seen": {of(0, 20), drift.Window{Answers: 20}, false},
		"off":                                 {drift.Settings{Off: true}, drift.Window{Answers: 100, Violations: 100}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			found := row.settings.Judge(row.window)
			g.Expect(found.Suspends).To(gomega.Equal(row.suspends))
			if row.suspends {
				g.Expect(found.Cause).To(gomega.Equal(drift.CauseViolations))
			} else {
				g.Expect(found).To(gomega.Equal(drift.Finding{}))
			}
		})
	}
	g := gomega.NewWithT(t)
	g.Expect(drift.Defaults().Judge(drift.Window{Answers: 200, Violations: 11}).Detail).To(
		gomega.Equal("11 of the last 200 answers violate the contract; 5 % are declared as tolerable"))
}
