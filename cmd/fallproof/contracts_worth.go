package main

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/fallproof/fallproof/contracts/mutation"
	"github.com/fallproof/fallproof/contracts/value"
)

// mutationFigures is what a contract's checks are worth, as scripts read it.
type mutationFigures struct {
	Killed    int        `json:"killed"`
	Total     int        `json:"total"`
	ByRules   int        `json:"killed_by_rules"` // without an expected answer known
	Score     float64    `json:"score"`
	Floor     float64    `json:"floor"`
	Operators []tally    `json:"operators"`
	Pointers  []tally    `json:"pointers"`
	Survivors []survivor `json:"survivors"`
}

type tally struct {
	Name    string `json:"name"`
	Killed  int    `json:"killed"`
	ByRules int    `json:"killed_by_rules"`
	Total   int    `json:"total"`
}

// survivor is a wrong answer that passes the checks.
type survivor struct {
	Case     string         `json:"case"`
	File     string         `json:"file"`
	Operator string         `json:"operator"`
	Pointer  string         `json:"pointer"`
	Change   string         `json:"change"`
	Answer   jsontext.Value `json:"answer"`
}

func mutationOf(report *mutation.Report) *mutationFigures {
	if report == nil {
		return nil
	}
	figures := &mutationFigures{
		Killed: report.Killed, Total: report.Total, ByRules: report.ByRules, Score: report.Score, Floor: report.Floor,
		Operators: talliesOf(report.Operators), Pointers: talliesOf(report.Pointers), Survivors: []survivor{},
	}
	for _, m := range report.Survivors {
		figures.Survivors = append(figures.Survivors, survivor{m.Case, m.File, string(m.Operator), m.Pointer, m.Change, value.Encode(m.Answer)})
	}
	return figures
}

func talliesOf(tallies []mutation.Tally) []tally {
	list := []tally{}
	for _, t := range tallies {
		list = append(list, tally(t))
	}
	return list
}

// mostSurvivors is how many wrong answers people are shown; scripts get all.
const mostSurvivors = 5

func (p *program) printWorth(contract string, report mutation.Report) error {
	text := fmt.Sprintf("  %s", report)
	if report.Total > 0 {
		text += fmt.Sprintf(" (floor %v), %d of them by rules that need no expected answer", report.Floor, report.ByRules)
	}
	text += "\n"
	shown := distinct(report.Survivors)
	for i, m := range shown {
		if i == mostSurvivors {
			break
		}
		text += visible(fmt.Sprintf("    passes: %s/%s: %s at %s: %s", contract, m.File, m.Operator, m.Pointer, m.Change)) + "\n"
	}
	if left := len(report.Survivors) - min(len(shown), mostSurvivors); left > 0 && len(report.Survivors) > 0 {
		text += fmt.Sprintf("    and %d more; --json has all\n", left)
	}
	return p.print(text)
}

// distinct keeps the first survivor of each operator and place, whatever its index, since one tells as much
// as ten.
func distinct(survivors []mutation.Mutant) []mutation.Mutant {
	type kind struct {
		operator mutation.Operator
		place    string
	}
	seen := map[kind]bool{}
	var kept []mutation.Mutant
	for _, m := range survivors {
		is := kind{m.Operator, mutation.Place(m.Pointer)}
		if !seen[is] {
			seen[is] = true
			kept = append(kept, m)
		}
	}
	return kept
}
