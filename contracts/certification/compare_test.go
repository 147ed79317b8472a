package certification_test

import (
	"reflect"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
)

// yesterday is a record in which everything that is compared is set.
func yesterday() certification.Record {
	zero := 0.0
	return certification.Record{
		ID: "before", RunID: "r1", RunName: "monday", Contract: "invoices", Target: providers.Target{Provider: "p", Model: "m"},
		ContractDigest: "c1", EffectiveDigest: "e1", ProfileDigest: "f1", ProofDigest: "d1", Verdict: certification.Certified,
		Dimensions: []certification.Dimension{
			{Name: "prompt", Status: passed, Successes: 20, Samples: 20, LowerBound: 1, Threshold: 1, Census: true},
			{Name: "structure", Status: passed, Successes: 40, Samples: 40, LowerBound: 0.928, Threshold: 0.9},
			{
				Name: "business", Status: passed, Successes: 59, Samples: 60, LowerBound: 0.92, Threshold: 0.9,
				Findings: []certification.Finding{{Reason: "the total", Count: 1, Case: "a"}},
			},
		},
		Cases: []certification.CaseFigures{
			{Case: "a", Samples: 5, Usable: 5, Structure: 5, Business: 4}, {Case: "b", Samples: 5, Usable: 5, Structure: 5, Business: 5},
			{Case: "c", Samples: 5, Usable: 5, Structure: 5, Business: 5},
		},
		SamplesPerCase: 5, Enforcement: certification.Enforced, ServedModels: []string{"m-1"}, Fingerprints: []string{"x"},
		Parameters: certification.Parameters{Temperature: &zero, MaxTokensField: "max_tokens", MaxTokens: 64, ResponseFormat: "json_schema", SystemRole: "system", TokenChecks: "verified"},
		Parts:      map[string]string{"contract: a": "0.9", "profile: b": "x"}, Latency: &certification.Latency{P90MS: 400, DeadlineMS: 30000},
		Source: providers.SourceLive, HarnessVersion: "1", RunBy: "ci", RunOn: "one", IssuedAt: time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC),
	}
}

func TestCompareOfTheSame(t *testing.T) {
	g := NewWithT(t)
	after := yesterday()
	after.ID, after.RunID, after.RunName, after.IssuedAt, after.RunOn = "after", "r2", "tuesday", after.IssuedAt.Add(time.Hour), "another"
	after.Latency = &certification.Latency{P50MS: 3, P90MS: 300, DeadlineMS: 30000}
	c := certification.Compare(yesterday(), after)
	g.Expect(c.Empty()).To(BeTrue(), "%+v", c)
	g.Expect(c.Before.ID).To(Equal("before"))
	g.Expect(c.After.ID).To(Equal("after"))
}

func TestCompareNamesWhatChanged(t *testing.T) {
	half := 0.5
	change := func(name, before, after string) func(*certification.Comparison) {
		return func(c *certification.Comparison) {
			c.Settings = []certification.Change{{Name: name, Before: before, After: after}}
		}
	}
	served := func(name, before, after string) func(*certification.Comparison) {
		return func(c *certification.Comparison) {
			c.Served = []certification.Change{{Name: name, Before: before, After: after}}
		}
	}
	for _, row := range []struct {
		name   string
		change func(*certification.Record)
		want   func(*certification.Comparison)
	}{
		{"the contract's folder", func(r *certification.Record) { r.ContractDigest = "c2" }, change("contract folder", "c1", "c2")},
		{"the contract for this target", func(r *certification.Record) { r.EffectiveDigest = "e2" }, change("contract as far as it concerns the target", "e1", "e2")},
		{"the profile", func(r *certification.Record) { r.ProfileDigest = "f2" }, change("profile of the target", "f1", "f2")},
		{"the source", func(r *certification.Record) { r.Source = providers.SourceReplay }, change("source", "live", "replay")},
		{"the harness", func(r *certification.Record) { r.HarnessVersion = "2" }, change("harness", "1", "2")},
		{"the samples", func(r *certification.Record) { r.SamplesPerCase = 9 }, change("samples a case", "5", "9")},
		{"the checks", func(r *certification.Record) { r.Mutation = &certification.Mutation{Killed: 3, Total: 4} }, change("wrong answers that the checks refuse", "", "3 of 4")},
		{"the temperature", func(r *certification.Record) { r.Parameters.Temperature = &half }, change("temperature", "0", "0.5")},
		{"no temperature", func(r *certification.Record) { r.Parameters.Temperature = nil }, change("temperature", "0", "")},
		{"the limit", func(r *certification.Record) { r.Parameters.MaxTokens = 9 }, change("limit of the answer", "max_tokens 64", "max_tokens 9")},
		{"the format", func(r *certification.Record) { r.Parameters.ResponseFormat = "json_object" }, change("response format", "json_schema", "json_object")},
		{"the role", func(r *certification.Record) { r.Parameters.SystemRole = "developer" }, change("system role", "system", "developer")},
		{"the token checks", func(r *certification.Record) { r.Parameters.TokenChecks = "not_verified" }, change("token checks", "verified", "not_verified")},
		{"the soft deadline", func(r *certification.Record) { r.Latency = &certification.Latency{P90MS: 400, DeadlineMS: 3000} }, served("soft deadline", "30000 ms", "3000 ms")},
		{"slower", func(r *certification.Record) { r.Latency = &certification.Latency{P90MS: 800, DeadlineMS: 30000} }, served("nine of ten answers within", "400 ms", "800 ms")},
		{"faster", func(r *certification.Record) { r.Latency = &certification.Latency{P90MS: 150, DeadlineMS: 30000} }, served("nine of ten answers within", "400 ms", "150 ms")},
		{"hardly slower", func(r *certification.Record) { r.Latency = &certification.Latency{P90MS: 799, DeadlineMS: 30000} }, func(*certification.Comparison) {}},
		{"no latency", func(r *certification.Record) { r.Latency = nil }, func(*certification.Comparison) {}},
		{"a part", func(r *certification.Record) { r.Parts = map[string]string{"contract: a": "0.95", "profile: b": "x"} }, change("contract: a", "0.9", "0.95")},
		{"a part that is new", func(r *certification.Record) {
			r.Parts = map[string]string{"contract: a": "0.9", "profile: b": "x", "contract: c": "y"}
		}, change("contract: c", "", "y")},
		{"a part that is gone", func(r *certification.Record) { r.Parts = map[string]string{"contract: a": "0.9"} }, change("profile: b", "x", "")},
		{"parts that an older record does not know", func(r *certification.Record) { r.Parts = nil }, func(*certification.Comparison) {}},
		{"another model", func(r *certification.Record) { r.ServedModels = []string{"m-1", "m-2"} }, served("served models", "m-1", "m-1, m-2")},
		{"another fingerprint", func(r *certification.Record) { r.Fingerprints = []string{"y"} }, served("fingerprints", "x", "y")},
		{"the enforcement", func(r *certification.Record) { r.Enforcement = certification.Ignored }, served("schema", "enforced", "ignored")},
		{
			"a figure", func(r *certification.Record) { r.Dimensions[1].Successes, r.Dimensions[1].LowerBound = 39, 0.89 },
			func(c *certification.Comparison) {
				c.Dimensions = []certification.DimensionChange{{
					Name:   "structure",
					Before: &certification.Figure{Status: passed, Successes: 40, Samples: 40, LowerBound: 0.928, Threshold: 0.9},
					After:  &certification.Figure{Status: passed, Successes: 39, Samples: 40, LowerBound: 0.89, Threshold: 0.9},
				}}
			},
		},
		{
			"a dimension that is new", func(r *certification.Record) {
				r.Dimensions = append(r.Dimensions, certification.Dimension{Name: "round_trip", Status: failed})
			},
			func(c *certification.Comparison) {
				c.Dimensions = []certification.DimensionChange{{Name: "round_trip", After: &certification.Figure{Status: failed}}}
			},
		},
		{
			"another finding", func(r *certification.Record) {
				r.Dimensions[2].Findings = []certification.Finding{{Reason: "the tax", Count: 3, Case: "b"}}
			},
			func(c *certification.Comparison) {
				c.Came = []certification.Seen{{Dimension: "business", Finding: certification.Finding{Reason: "the tax", Count: 3, Case: "b"}}}
				c.Gone = []certification.Seen{{Dimension: "business", Finding: certification.Finding{Reason: "the total", Count: 1, Case: "a"}}}
			},
		},
		{
			"the same finding more often is no other one", func(r *certification.Record) { r.Dimensions[2].Findings[0].Count = 2 },
			func(*certification.Comparison) {},
		},
		{
			"a warning", func(r *certification.Record) { r.Warnings = []certification.Finding{{Reason: "model_alias", Count: 1}} },
			func(c *certification.Comparison) {
				c.Came = []certification.Seen{{Dimension: "warning", Finding: certification.Finding{Reason: "model_alias", Count: 1}}}
			},
		},
		{
			"cases", func(r *certification.Record) {
				r.Cases = []certification.CaseFigures{
					{Case: "d", Samples: 1, Usable: 1, Structure: 1, Business: 1}, {Case: "b", Samples: 5, Usable: 5, Structure: 5, Business: 4},
					{Case: "a", Samples: 5, Usable: 5, Structure: 5, Business: 5},
				}
			},
			func(c *certification.Comparison) {
				c.Flipped = []certification.Flip{
					{Case: "a", Before: certification.CaseFailed, After: certification.CasePassed},
					{Case: "b", Before: certification.CasePassed, After: certification.CaseFailed},
					{Case: "c", Before: certification.CasePassed, After: certification.CaseNotSeen},
					{Case: "d", Before: certification.CaseNotSeen, After: certification.CasePassed},
				}
			},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			after := yesterday()
			row.change(&after)
			want := certification.Compare(yesterday(), yesterday())
			row.want(&want)
			got := certification.Compare(yesterday(), after)
			g.Expect(got).To(Equal(want))
			g.Expect(got.Empty()).To(Equal(reflect.DeepEqual(want, certification.Compare(yesterday(), yesterday()))))
		})
	}
}

// What is counted and not drawn is exact.
func TestFigureInWords(t *testing.T) {
	g := NewWithT(t)
	f := certification.Figure{Status: certification.StatusNotJudged, Successes: 7, Samples: 8, LowerBound: 0.875, Threshold: 1}
	g.Expect(f.String()).To(Equal("not judged, 7 of 8, at least 0.875 of 1.00"))
	f.Census = true
	g.Expect(f.String()).To(Equal("not judged, 7 of 8, exactly 0.875 of 1.00"))
}
