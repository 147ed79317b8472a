package certify_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/lint"
	"github.com/fallproof/fallproof/providers/simulator"
	"github.com/fallproof/fallproof/suites/certify"
)

// A record says what the checks were worth that the target passed, as lint says it.
func TestRecordSaysWhatTheChecksAreWorth(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	pair := w.pair("invoice-extraction", "faithful")
	options := w.options()
	options.Samples = 1
	record, _ := w.certify(pair, options)
	report := lint.Examine(pair.Contract).Mutation
	g.Expect(record.Mutation).To(Equal(&certification.Mutation{
		Killed: report.Killed, Total: report.Total, Score: report.Score, Floor: 0.8,
	}))
	g.Expect(report.Killed).To(BeNumerically("<", report.Total), "the checks do not look at descriptions")
	g.Expect(string(jsonOf(t, record))).To(ContainSubstring(`"mutation":{"killed":`))
}

// What makes the business figure prove less than it seems to stands in the record.
func TestRecordSaysWhatTheChecksWereNotHeldAgainst(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	pair := w.pair("invoice-extraction", "faithful")
	options := w.options()
	options.Samples = 2
	record, _ := w.certify(pair, options)
	reasons := HaveField("Reason", BeElementOf("judged_by_rules_alone", "mutation_floor_off"))
	g.Expect(record.Warnings).NotTo(ContainElement(reasons))

	loose := *w.changed("invoice-extraction", `sampling: `, `mutation_floor: 0\nsampling: `)
	loose.Cases = slices.Clone(loose.Cases)
	loose.Cases[1].Expected, loose.Cases[2].Expected = nil, nil
	pair.Contract = &loose
	options.RunName = "loose"
	options.Complete = true
	record, _ = w.certify(pair, options)
	g.Expect(record.Warnings).To(ContainElement(And(
		HaveField("Reason", "judged_by_rules_alone"), HaveField("Count", 4), HaveField("Case", loose.Cases[1].Name))))
	g.Expect(record.Warnings).To(ContainElement(HaveField("Reason", "mutation_floor_off")))
}

// Calls that were made again are a figure of the record, and an answer that never came is no fast one.
func TestRecordCountsTheCallsThatWereMadeAgain(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	pair := w.pair("invoice-extraction", "hesitating:30")
	pair.Timeout = 2 * time.Second
	options := w.options()
	options.Complete = true
	record, _ := w.certify(pair, options)
	late := 0
	for _, entry := range w.simulator.Ledger() {
		if entry.Answered.Outcome == simulator.OutcomeUnanswered {
			late++
		}
	}
	counted := record.Latency.Late // of samples; the canary or a probe may have met the other one
	g.Expect(late).To(Equal(2), "the first call and the thirtieth")
	g.Expect(counted).To(BeElementOf(1, 2))
	g.Expect(record.Latency.Samples).To(Equal(record.Planned + counted))
	g.Expect(record.Retried).To(HaveExactElements(And(HaveField("Reason", "timeout"), HaveField("Count", counted))))
	g.Expect(record.Latency.MaxMS).To(BeNumerically(">=", 2000))
	g.Expect(string(jsonOf(t, record))).To(ContainSubstring(`"retried":[{"reason":"timeout","count":`))
}

// A contract by which nothing can be certified stops no other: those are judged, and every report names it.
func TestAContractBelowItsFloorStopsNoOther(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	weak := w.changed("support-triage", `output.category == expected.category`, "true")
	first, second := w.pair("support-triage", "faithful"), w.pair("support-triage", "plausible")
	first.Contract, second.Contract = weak, weak
	options, folder, out := w.options(), t.TempDir(), &strings.Builder{}
	options.Pairs = []certify.Pair{first, w.pair("meeting-actions", "faithful"), second}
	options.JSON, options.HTML = filepath.Join(folder, "r.json"), filepath.Join(folder, "r.html")
	options.Markdown, options.JUnit, options.Out = filepath.Join(folder, "r.md"), filepath.Join(folder, "r.xml"), out
	result, err := certify.Conclude(t.Context(), options)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect([]int{result.Certified, result.Rejected, result.Inconclusive}).To(Equal([]int{1, 0, 0}))
	g.Expect(result.Unfit).To(HaveLen(1), "once for both targets")
	g.Expect(result.Unfit[0].Targets).To(Equal([]string{"sim/faithful", "sim/plausible"}))
	g.Expect(result.Unfit[0].Why).To(HaveSuffix("below its mutation_floor 0.8; `fallproof contracts lint support-triage` lists those that pass"))
	g.Expect(result.ExitCode()).To(Equal(2), "the contract is wrong")
	g.Expect(w.simulator.Ledger()).To(HaveEach(HaveField("Model", "faithful")), "nobody is paid for it")

	const said = "not run at sim/faithful, sim/plausible: contract support-triage can certify nothing: mutation score 0."
	for _, text := range []string{out.String(), string(read(t, options.HTML)), string(read(t, options.Markdown))} {
		g.Expect(text).To(ContainSubstring(said))
		g.Expect(text).To(ContainSubstring(", 2 not run"), "the totals count both targets")
	}
	text := read(t, options.JSON)
	g.Expect(meets(t, "certify.schema.json", text)).To(Succeed())
	g.Expect(string(text)).To(ContainSubstring(`"unfit": [`))
	g.Expect(string(read(t, options.JUnit))).To(And(ContainSubstring(`errors="2"`), ContainSubstring(`classname="support-triage at sim/plausible" name="contract"`)))

	options.RunName, options.Pairs = "again", append(options.Pairs, w.pair("meeting-actions", "footnote"))
	result, err = certify.Conclude(t.Context(), options)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.ExitCode()).To(Equal(1), "some are rejected")
}

// Where nothing is left to certify, the files say so, in the place of those of an earlier run.
func TestReportsOfNothingToCertify(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	pair := w.pair("support-triage", "faithful")
	pair.Contract = w.changed("support-triage", `output.category == expected.category`, "true")
	options, folder := w.options(), t.TempDir()
	options.Pairs = []certify.Pair{pair}
	options.JSON, options.HTML = filepath.Join(folder, "r.json"), filepath.Join(folder, "r.html")
	options.Markdown, options.JUnit = filepath.Join(folder, "r.md"), filepath.Join(folder, "r.xml")
	files := []string{options.JSON, options.HTML, options.Markdown, options.JUnit}
	for _, name := range files {
		g.Expect(os.WriteFile(name, []byte("of an earlier run"), 0o600)).To(Succeed())
	}
	_, err := certify.Run(t.Context(), options)
	var unfit *certify.UnfitError
	g.Expect(errors.As(err, &unfit)).To(BeTrue(), "%v", err)
	for _, name := range files {
		g.Expect(string(read(t, name))).To(ContainSubstring("below its mutation_floor 0.8"), name)
		g.Expect(string(read(t, name))).NotTo(ContainSubstring("of an earlier run"))
	}
	g.Expect(meets(t, "certify.schema.json", read(t, options.JSON))).To(Succeed())
}

// So few samples that nothing can be certified are told before they are paid for.
func TestWhatIsOutOfReachIsToldBefore(t *testing.T) {
	for _, row := range []struct {
		samples int
		change  string // of the thresholds
		says    string
	}{
		{0, "", ""},
		{4, "", ""},
		{3, "", "cases × samples, 8 × 3, are 24 perfect answers at most, which prove 0.882; structure asks for 0.9, and that takes 29; the 5 of the contract would do\n"},
		{0, "0.98", "cases × samples, 8 × 5, are 40 perfect answers at most, which prove 0.927; business asks for 0.98, and that takes 149; --samples 19 would do\n"},
	} {
		g, w := NewWithT(t), newWorld(t)
		pair := w.pair("support-triage", "overloaded")
		if row.change != "" {
			pair.Contract = w.changed("support-triage", `business: [0-9.]+`, "business: "+row.change)
		}
		options, out := w.options(), &strings.Builder{}
		options.Pairs, options.Samples, options.Out = []certify.Pair{pair, pair}, row.samples, out
		options.Pairs[1].Target.Model = "faithful"
		_, err := certify.Conclude(t.Context(), options)
		g.Expect(err).NotTo(HaveOccurred())
		if row.says == "" {
			g.Expect(out.String()).NotTo(ContainSubstring("warning: nothing can be certified"))
			continue
		}
		g.Expect(out.String()).To(HavePrefix("warning: nothing can be certified by support-triage in this run: " + row.says))
		g.Expect(strings.Count(out.String(), "warning: nothing can be certified")).To(Equal(1), "once for all targets")
	}
}

// What a contract is worth is found anew where it was edited, whatever was found of it before.
func TestAnEditedContractIsTriedAnew(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	sound := w.contract("support-triage")
	command := func(rest string) string { return rest }
	g.Expect(certify.WhyUnfit(sound, command)).To(BeEmpty())
	edited := *sound
	edited.Cases = slices.Clone(edited.Cases)
	edited.Cases[0].Expected = map[string]any{"category": "nonsense"}
	g.Expect(certify.WhyUnfit(&edited, command)).To(ContainSubstring("expected answer"))
	g.Expect(certify.WhyUnfit(sound, command)).To(BeEmpty())
}
