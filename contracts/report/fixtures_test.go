package report_test

import (
	"fmt"
	"time"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/evidence"
	"github.com/fallproof/fallproof/contracts/report"
	"github.com/fallproof/fallproof/providers"
)

// entry is a rejected record of one case whose one answer has these findings, with all that a record can say.
func entry(content string, findings ...evidence.Finding) report.Entry {
	if findings == nil {
		findings = []evidence.Finding{}
	}
	seen := []certification.Finding{{Reason: "the total", Count: 2, Case: "חשבונית", Sample: 1, Detail: `סה"כ does not hold`}}
	return report.Entry{
		Record: certification.Record{
			ID: "rec-1", RunName: "tonight", Contract: "invoices", Target: providers.Target{Provider: "p", Model: "org/m"},
			Verdict: certification.Rejected, Source: providers.SourceLive, Planned: 40, Taken: 12, SamplesPerCase: 5,
			Dimensions: []certification.Dimension{
				{Name: "prompt", Status: "passed", Successes: 20, Samples: 20, LowerBound: 1, Threshold: 1, Census: true},
				{Name: "business", Status: "failed", Successes: 30, Samples: 40, LowerBound: 0.614, Threshold: 0.9, Findings: seen},
				{Name: "round_trip", Status: "not_judged", Threshold: 0.9},
			},
			HarnessVersion: "v1.2", ProfileDigest: "pro",
			Parameters: certification.Parameters{
				Temperature: new(float64), MaxTokensField: "max_tokens", MaxTokens: 1024, ResponseFormat: "json_schema", SystemRole: "developer", Unavailable: []string{"reasoning"},
			},
			PassAll: []float64{0.9, 0.8}, Enforcement: certification.NotSent, ServedModels: []string{"m-2026"},
			Latency:  &certification.Latency{Samples: 40, P50MS: 210, P90MS: 320, P99MS: 450, MaxMS: 460, DeadlineMS: 30000},
			Mutation: &certification.Mutation{Killed: 9, Total: 10, Score: 0.9, Floor: 0.8},
			Warnings: []certification.Finding{{Reason: "model_alias", Count: 1, Detail: "m is served by m-2026"}},
			Cases:    []certification.CaseFigures{{Case: "חשבונית", Samples: 5, Trouble: 1, Usable: 5, Structure: 5, Business: 3, Findings: seen}},
			Evidence: &certification.EvidenceRef{Digest: "abc", Samples: 1},
			IssuedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		},
		Evidence: &evidence.Document{
			Cases: []evidence.Case{{
				Name: "חשבונית", Rendered: "<s>[INST] חשבונית [/INST]", Expected: []byte(`{"total":12.50}`),
				Messages: []evidence.Message{{Role: "system", Content: "Answer with one object."}, {Role: "user", Content: "חשבונית מס 7 של ספרים בע\"מ\nסה\"כ: 12.50"}},
			}},
			Samples: []evidence.Sample{{Case: "חשבונית", Kind: certification.Answered, Content: content, Business: findings}},
		},
	}
}

func finding(reason string, pointers ...string) evidence.Finding {
	return evidence.Finding{Reason: reason, Detail: "detail of " + reason, Pointers: pointers}
}

// certified is an entry in which all is well.
func certified(contract, model string) report.Entry {
	return report.Entry{Record: certification.Record{
		ID: "rec-" + contract + "-" + model, Contract: contract, Target: providers.Target{Provider: "p", Model: model}, Verdict: certification.Certified,
		Dimensions: []certification.Dimension{{Name: "structure", Status: "passed", Successes: 40, Samples: 40, LowerBound: 0.928, Threshold: 0.9}},
	}}
}

func whole() report.Report {
	return report.Report{Title: "certification run tonight", Entries: []report.Entry{
		certified("invoices", "good"), certified("triage", "good"), entry(`{"vendor": "אבג בע\"מ", "total": 99, "items": [1, {"sum": 2}]}`, finding("the total", "/total", "/items/1/sum")),
	}}
}

// many is a report that has no room for all it knows.
func many(cases int) report.Report {
	r := report.Report{Title: "large"}
	for i := range 30 {
		e := entry(`{}`)
		e.Record.Target.Model = fmt.Sprintf("m%d", i)
		e.Record.Cases, e.Evidence.Cases, e.Evidence.Samples = nil, nil, nil
		for c := range cases {
			name := fmt.Sprintf("case %d", c)
			e.Record.Cases = append(e.Record.Cases, certification.CaseFigures{Case: name, Samples: 1, Usable: 1})
			e.Evidence.Cases = append(e.Evidence.Cases, evidence.Case{Name: name, Messages: []evidence.Message{{Role: "user", Content: long}}})
			e.Evidence.Samples = append(e.Evidence.Samples, evidence.Sample{
				Case: name, Kind: certification.Answered, Content: long, Structure: []evidence.Finding{finding("not_json")},
			})
		}
		r.Entries = append(r.Entries, e)
	}
	return r
}

var long = fmt.Sprintf("%060000d", 7)
