package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/contracts/statistics"
)

// factsOf are what is known of a record beside its figures, each where it is known.
func factsOf(r certification.Record) []fact {
	var facts []fact
	add := func(name, text string) {
		if text != "" {
			facts = append(facts, fact{name, text})
		}
	}
	add("record", r.ID)
	add("run", strings.Join(nonEmpty(r.RunName, r.RunBy, r.RunOn), ", "))
	add("harness", r.HarnessVersion)
	add("source", string(r.Source))
	add("issued", moment(r.IssuedAt))
	add("expires", moment(r.ExpiresAt))
	add("served by", strings.Join(r.ServedModels, ", "))
	add("fingerprints", strings.Join(r.Fingerprints, ", "))
	add("schema", words(string(r.Enforcement)))
	if r.Planned > 0 {
		add("samples", fmt.Sprintf("%d of %d planned, %d a case", r.Taken, r.Planned, r.SamplesPerCase))
	}
	if l := r.Latency; l != nil {
		add("latency", l.String())
	}
	if len(r.PassAll) > 0 {
		add("chance that k answers to one case are all good", "k = "+r.PassAllWords())
	}
	if m := r.Mutation; m != nil {
		add("checks", fmt.Sprintf("refuse %d of %d wrong answers (%s; %s is asked)", m.Killed, m.Total, statistics.Shown(m.Score), certification.Asked(m.Floor)))
	}
	add("sent", parametersOf(r.Parameters))
	add("not available there", strings.Join(r.Parameters.Unavailable, ", "))
	add("token checks", words(r.Parameters.TokenChecks))
	add("contract digest", r.ContractDigest)
	add("profile digest", r.ProfileDigest)
	add("proof digest", r.ProofDigest)
	if r.Evidence != nil {
		add("evidence", fmt.Sprintf("%s, SHA-256 %s", counted(r.Evidence.Samples, "sample", "samples"), r.Evidence.Digest))
	}
	return facts
}

// parametersOf are the parameters that really left the machine; "" where none was read.
func parametersOf(p certification.Parameters) string {
	if p.MaxTokensField == "" {
		return ""
	}
	temperature, format := "no temperature", "no response format"
	if p.Temperature != nil {
		temperature = "temperature " + strconv.FormatFloat(*p.Temperature, 'g', -1, 64)
	}
	if p.ResponseFormat != "" {
		format = "response format " + p.ResponseFormat
	}
	role := ""
	if p.SystemRole != "" {
		role = "system prompt as " + p.SystemRole
	}
	return strings.Join(nonEmpty(temperature, fmt.Sprintf("%s %d", p.MaxTokensField, p.MaxTokens), format, role), ", ")
}

func nonEmpty(texts ...string) []string {
	var kept []string
	for _, text := range texts {
		if text != "" {
			kept = append(kept, text)
		}
	}
	return kept
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
