package certify

import (
	"testing"

	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
)

// The report that a complete run of two pairs leaves, one of them rejected.
func completeRun() (types.Report, []judged) {
	report := types.Report{SuiteConfig: types.SuiteConfig{FailOnEmpty: true}, SuiteSucceeded: true}
	var all []judged
	for _, model := range []string{"good", "org/bad"} {
		record := certification.Record{Contract: "c", Target: providers.Target{Provider: "p", Model: model}}
		for _, name := range dimensions {
			d := certification.Dimension{Name: name, Status: certification.StatusPassed, Samples: 40}
			state := types.SpecStatePassed
			if model == "org/bad" && name == certification.DimensionBusiness {
				d.Status, state = certification.StatusFailed, types.SpecStateFailed
			}
			record.Dimensions = append(record.Dimensions, d)
			report.SpecReports = append(report.SpecReports, types.SpecReport{
				LeafNodeType: types.NodeTypeIt, LeafNodeText: name, State: state, NumAttempts: 1,
				ReportEntries: types.ReportEntries{{
					Name: entryName, Value: types.WrapEntryValue(specEntry{"c", record.Target.String(), name, d.Status, d.Samples}),
				}},
			})
		}
		all = append(all, judged{record: record})
	}
	report.SpecReports = append(report.SpecReports, types.SpecReport{LeafNodeType: types.NodeTypeReportAfterSuite, State: types.SpecStatePassed})
	return report, all
}

// Ginkgo calls most of these runs successful.
func TestOnlyACompleteRunCertifies(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*types.Report)
		why    string // "" = complete
	}{
		{name: "complete, with a rejection", change: func(*types.Report) {}},
		{"no specs", func(r *types.Report) { r.SpecReports = nil }, "0 specs were declared"},
		{"a spec too few", func(r *types.Report) { r.SpecReports = r.SpecReports[1:] }, "7 specs were declared and 8 are needed"},
		{"dry run", func(r *types.Report) { r.SuiteConfig.DryRun = true }, "dry run"},
		{"focus", func(r *types.Report) { r.SuiteConfig.FocusStrings = []string{"x"} }, "filtered"},
		{"skip", func(r *types.Report) { r.SuiteConfig.SkipStrings = []string{"x"} }, "filtered"},
		{"focus file", func(r *types.Report) { r.SuiteConfig.FocusFiles = []string{"x"} }, "filtered"},
		{"skip file", func(r *types.Report) { r.SuiteConfig.SkipFiles = []string{"x"} }, "filtered"},
		{"label filter", func(r *types.Report) { r.SuiteConfig.LabelFilter = "x" }, "filtered"},
		{"version filter", func(r *types.Report) { r.SuiteConfig.SemVerFilter = "x" }, "filtered"},
		{"flake attempts", func(r *types.Report) { r.SuiteConfig.FlakeAttempts = 2 }, "flake attempts"},
		{"an empty suite would pass", func(r *types.Report) { r.SuiteConfig.FailOnEmpty = false }, "empty suite"},
		{"focused in code", func(r *types.Report) { r.SuiteHasProgrammaticFocus = true }, "focused in code"},
		{"the suite failed", func(r *types.Report) { r.SpecialSuiteFailureReasons = []string{"timed out"} }, "timed out"},
		{"a skipped spec", func(r *types.Report) { r.SpecReports[2].State = types.SpecStateSkipped }, `"business" is skipped`},
		{"a pending spec", func(r *types.Report) { r.SpecReports[2].State = types.SpecStatePending }, "is pending"},
		{"a panicked spec", func(r *types.Report) { r.SpecReports[2].State = types.SpecStatePanicked }, "is panicked"},
		{"an interrupted spec", func(r *types.Report) { r.SpecReports[2].State = types.SpecStateInterrupted }, "is interrupted"},
		{"a repeated spec", func(r *types.Report) { r.SpecReports[2].NumAttempts = 2 }, "was repeated"},
		{"a spec that may be repeated", func(r *types.Report) { r.SpecReports[2].MaxFlakeAttempts = 3 }, "was repeated"},
		{"a spec without its body", func(r *types.Report) { r.SpecReports[2].ReportEntries = nil }, "did not run its body"},
		{"a spec that passed against its judgement", func(r *types.Report) { r.SpecReports[6].State = types.SpecStatePassed }, "is passed, its judgement is failed"},
		{"a dimension twice, another never", func(r *types.Report) { r.SpecReports[0] = r.SpecReports[1] }, "c at p/good: prompt was not judged"},
	} {
		t.Run(row.name, func(t *testing.T) {
			report, all := completeRun()
			row.change(&report)
			why := whyIncomplete(report, all)
			if row.why == "" {
				NewWithT(t).Expect(why).To(BeEmpty())
				return
			}
			NewWithT(t).Expect(why).To(ContainSubstring(row.why))
		})
	}
}

func TestExitCode(t *testing.T) {
	for _, row := range []struct {
		result Result
		code   int
	}{
		{Result{Certified: 2}, 0},
		{Result{Certified: 1, Rejected: 1, Inconclusive: 1}, 1},
		{Result{Certified: 1, Inconclusive: 1}, 3},
		{Result{Certified: 1, Lapsed: 1}, 3},
		{Result{Rejected: 1, Lapsed: 1}, 1},
		{Result{}, 3},
		{Result{Certified: 2, Incomplete: "it was a dry run"}, 3},
	} {
		if got := row.result.ExitCode(); got != row.code {
			t.Errorf("%+v: exit code %d, want %d", row.result, got, row.code)
		}
	}
}
