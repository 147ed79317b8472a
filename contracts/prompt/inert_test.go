package prompt

import (
	"html"
	"testing"
	"text/template"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/providers"
)

// Rendering keeps inputs as they are by construction, so the probe is tried against a rendering that
// has been made to change them.
func TestTheProbeSeesInputsThatAreChanged(t *testing.T) {
	for _, message := range []string{"{{ .text }}", "x{{ $.text }}y"} {
		c := &contracts.Contract{
			Messages: []providers.Message{{Role: "user", Content: message}},
			Cases:    []contracts.Case{{Name: "one", Input: map[string]any{"text": "plain"}}},
		}
		templates, err := Parse(c, providers.Target{})
		if err != nil {
			t.Fatal(err)
		}
		judge := caseJudge{c: c, templates: templates, each: c.Cases[0]}
		if judge.inert(); len(judge.findings) != 0 {
			t.Fatalf("unchanged: %v", judge.findings)
		}
		templates.messages[0].template.Funcs(template.FuncMap{textFunction: html.EscapeString})
		if judge.inert(); len(judge.findings) != 1 || judge.findings[0].Reason != NotInert {
			t.Fatalf("escaped: %v", judge.findings)
		}
	}
}
