package report

import (
	"fmt"

	"github.com/fallproof/fallproof/contracts/certification"
)

// chart is one dimension drawn: from 0 to 1 a bar up to the proven bound, a thinner one up to what was
// counted, and a line at the threshold. The numbers are written out for who cannot see it.
type chart struct {
	Name, Status, Text         string
	Bound, Counted, Threshold  string // x positions
	Width, Height              string
	BarY, BarHeight, ThinY     string
	ThinHeight, LineY, LineEnd string
}

const chartWidth = 220

func chartOf(d certification.Dimension) chart {
	at := func(share float64) string { return fmt.Sprintf("%.1f", min(max(share, 0), 1)*chartWidth) }
	counted := 0.0
	if d.Samples > 0 {
		counted = float64(d.Successes) / float64(d.Samples)
	}
	return chart{
		Name: words(d.Name), Status: statusClass(d.Status), Text: spoken(d),
		Bound: at(d.LowerBound), Counted: at(counted), Threshold: at(d.Threshold),
		Width: number(chartWidth), Height: "22", BarY: "5", BarHeight: "12", ThinY: "9", ThinHeight: "4", LineY: "1", LineEnd: "21",
	}
}

// statusClass is one of a fixed few, as classOf.
func statusClass(status string) string {
	switch status {
	case certification.StatusPassed, certification.StatusFailed:
		return status
	}
	return certification.StatusNotJudged
}
