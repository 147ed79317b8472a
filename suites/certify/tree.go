package certify

import (
	"fmt"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/report"
)

// dimensions are judged in this order, one spec each.
var dimensions = []string{
	certification.DimensionPrompt, certification.DimensionStructure, certification.DimensionBusiness, certification.DimensionRoundTrip,
}

// entryName marks the report entry by which a spec is known. Labels would not do: they refuse / and
// other characters that targets are made of.
const entryName = "certification"

// specEntry says exactly which spec ran, and on how much.
type specEntry struct {
	Contract  string
	Target    string
	Dimension string
	Status    string
	Samples   int
}

// String is how Ginkgo prints the entry.
func (e specEntry) String() string {
	return fmt.Sprintf("%s at %s: %s %s, %d samples", e.Contract, e.Target, e.Dimension, e.Status, e.Samples)
}

// buildTree declares one spec per contract × target × dimension. It is called once, right before
// RunSpecs: nothing in this package is declared when it is merely imported.
func buildTree(all []judged, keep func(types.Report)) {
	for _, j := range all {
		ginkgo.Describe(j.record.Contract, func() {
			ginkgo.Describe("at "+j.record.Target.String(), func() {
				for _, name := range dimensions {
					ginkgo.It(name, func() { judgeSpec(j, name) })
				}
			})
		})
	}
	ginkgo.ReportAfterSuite("keep the report", keep)
}

// judgeSpec is thin on purpose: the judgement was made without Ginkgo, the spec reports it.
func judgeSpec(j judged, name string) {
	d := certification.Judgement{Dimensions: j.record.Dimensions}.Dimension(name)
	ginkgo.AddReportEntry(entryName, specEntry{
		j.record.Contract, j.record.Target.String(), name, d.Status, d.Samples,
	}, ginkgo.ReportEntryVisibilityFailureOrVerbose)
	if d.Status != certification.StatusPassed {
		ginkgo.Fail(strings.Join(append([]string{figure(d)}, reasons(d, report.Plain)...), "\n"))
	}
}
