package certify

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/prompt"
	"github.com/fallproof/fallproof/contracts/report"
)

// writeSummary prints the matrix of targets × contracts, then each pair's figures with the reasons for
// what did not pass.
func writeSummary(options Options, result Result) error {
	var text strings.Builder
	how := ""
	if options.Replay != "" {
		how = ", a replay of recorded answers: nobody was called"
	}
	fmt.Fprintf(&text, "\ncertification run %s%s\n", result.RunName, how)
	if result.Incomplete != "" {
		fmt.Fprintf(&text, "not complete, nothing was written: %s\n", result.Incomplete)
	} else {
		matrix(&text, result)
		show := report.Plain
		if options.Terminal {
			show = isolated
		}
		for _, record := range result.Records {
			figures(&text, record, result.remark(record.ID).line(), show)
		}
		fmt.Fprintf(&text, "%d certified, %d rejected, %d inconclusive", result.Certified, result.Rejected, result.Inconclusive)
		if result.Lapsed > 0 {
			fmt.Fprintf(&text, ", %d no longer certified", result.Lapsed)
		}
		if left := result.notRun(); left > 0 {
			fmt.Fprintf(&text, ", %d not run", left)
		}
		text.WriteString("\n")
	}
	for _, unfit := range result.Unfit {
		fmt.Fprintf(&text, "%s\n", report.Plain(unfit.notRun()))
	}
	_, err := io.WriteString(options.Out, text.String())
	return err
}

// lapsed stands in the matrix for a certified record that stands no longer.
const lapsed certification.Verdict = "no longer certified"

func matrix(text io.Writer, result Result) {
	var contracts, targets []string
	verdicts := map[[2]string]certification.Verdict{}
	for _, r := range result.Records {
		target := r.Target.String()
		verdict := r.Verdict
		if len(result.remark(r.ID).Reasons) > 0 {
			verdict = lapsed
		}
		verdicts[[2]string{target, r.Contract}] = verdict
		if !slices.Contains(contracts, r.Contract) {
			contracts = append(contracts, r.Contract)
		}
		if !slices.Contains(targets, target) {
			targets = append(targets, target)
		}
	}
	table := tabwriter.NewWriter(text, 0, 0, 3, ' ', 0)
	fmt.Fprintf(table, "\n\t%s\n", strings.Join(contracts, "\t"))
	for _, target := range targets {
		row := []string{target}
		for _, contract := range contracts {
			verdict, ok := verdicts[[2]string{target, contract}]
			if !ok {
				verdict = "-"
			}
			row = append(row, string(verdict))
		}
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	_ = table.Flush() // into memory
}

func figures(text io.Writer, record certification.Record, remark string, show func(string) string) {
	fmt.Fprintf(text, "\n%s at %s: %s (record %s)\n", record.Contract, record.Target, record.Verdict, record.ID)
	if remark != "" {
		fmt.Fprintf(text, "  %s\n", remark)
	}
	for _, d := range record.Dimensions {
		if d.Status == certification.StatusPassed {
			fmt.Fprintf(text, "  %s%s\n", figure(d), notVerified(d, show))
			continue
		}
		fmt.Fprintf(text, "  %s\n", figure(d))
		for _, line := range reasons(d, show) {
			fmt.Fprintf(text, "    %s\n", line)
		}
	}
	if record.Latency != nil {
		fmt.Fprintf(text, "  latency     %s\n", record.Latency)
	}
	for _, f := range record.Warnings {
		fmt.Fprintf(text, "  %s\n", warning(f, show))
	}
}

// notVerified says of a dimension that passed which of its checks could not be made; "" where all were.
func notVerified(d certification.Dimension, show func(string) string) string {
	for _, f := range d.Findings {
		if f.Reason != string(prompt.NotVerified) {
			continue
		}
		said := "; 1 check not verified"
		if f.Count > 1 {
			said = fmt.Sprintf("; %d checks not verified", f.Count)
		}
		if f.Detail != "" {
			said += ": " + show(f.Detail)
		}
		return said
	}
	return ""
}

// warning is what is worth knowing of a record, also of a certified one, in one line.
func warning(f certification.Finding, show func(string) string) string {
	line := "warning: " + show(f.Reason)
	if f.Count > 1 {
		line += fmt.Sprintf(" × %d", f.Count)
	}
	if f.Case != "" {
		line += fmt.Sprintf(", first in case %s, sample %d", show(f.Case), f.Sample)
	}
	if f.Detail != "" {
		line += ": " + show(f.Detail)
	}
	return line
}

// notes are what fails nothing and is to be known all the same, one line each.
func notes(record certification.Record, show func(string) string) []string {
	var lines []string
	for _, d := range record.Dimensions {
		if not := notVerified(d, show); not != "" && d.Status == certification.StatusPassed {
			lines = append(lines, d.Name+" "+d.Status+not)
		}
	}
	for _, f := range record.Warnings {
		lines = append(lines, warning(f, show))
	}
	return lines
}

// figure is a dimension in one line.
func figure(d certification.Dimension) string {
	status := strings.ReplaceAll(d.Status, "_", " ")
	if d.Samples == 0 {
		return fmt.Sprintf("%-11s %-10s nothing that could be judged was seen", d.Name, status)
	}
	line := fmt.Sprintf("%-11s %-10s %d of %d, %s; %s is asked", d.Name, status, d.Successes, d.Samples, d.Bound(), certification.Asked(d.Threshold))
	if vetoed := d.Vetoed(); vetoed != "" {
		line += "; " + vetoed
	}
	if borne := d.Borne(); borne != "" {
		line += "; " + borne
	}
	if unseen := d.Unseen(); unseen != "" {
		line += "; could not be seen: " + report.Plain(unseen)
	}
	return line
}

// reasons are a dimension's findings, one line each.
func reasons(d certification.Dimension, show func(string) string) []string {
	var lines []string
	for _, f := range d.Findings {
		line := fmt.Sprintf("%s × %d", show(f.Reason), f.Count)
		if f.Case != "" {
			line += fmt.Sprintf(", first in case %s, sample %d", show(f.Case), f.Sample)
		}
		if f.Detail != "" {
			line += ": " + show(f.Detail)
		}
		lines = append(lines, line)
	}
	return lines
}

// isolated keeps right-to-left text from reordering the line that it stands in. Only terminals get the
// marks: in a file they are noise that searches stumble over.
func isolated(text string) string {
	const firstStrong, pop = "\u2068", "\u2069"
	return firstStrong + report.Plain(text) + pop
}
