package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/failover"
)

// declaredReasons are read off the source, so that a new one cannot be forgotten here.
func declaredReasons(t *testing.T) map[certification.Reason]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(sources, "contracts", "certification", "standing.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[certification.Reason]bool{}
	for _, declaration := range file.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			constant := spec.(*ast.ValueSpec)
			if kind, ok := constant.Type.(*ast.Ident); ok && kind.Name == "Reason" {
				text, err := strconv.Unquote(constant.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				reasons[certification.Reason(text)] = true
			}
		}
	}
	return reasons
}

const (
	certifyPair = "fallproof certify --contract support-triage --target sim/org/m"
	shownID     = "0197b1c4-0000-7000-8000-000000000000"
	showRecord  = "fallproof certifications show " + shownID
	enough      = ", where such proofs are enough"
)

// remedyRows are every reason with what is done about it, and first what is done where a target of a route
// has a record.
var remedyRows = []struct {
	reason certification.Reason
	name   string
	change func(*patient)
	want   remedy
}{
	{reason: certification.NoCertification, change: func(of *patient) { of.record = nil }, want: remedy{Fix: certifyPair}},
	{reason: certification.ReasonRejected, change: func(of *patient) {
		of.record.Dimensions = []certification.Dimension{
			{Name: "structure", Status: certification.StatusPassed, Successes: 40, Samples: 40},
			{Name: "business", Status: certification.StatusFailed, Samples: 40, Findings: []certification.Finding{{Reason: "the urgency", Count: 30, Detail: "expected high"}, {Reason: "another", Count: 10}}},
			{Name: "round_trip", Status: certification.StatusFailed, Successes: 9, Samples: 40},
			{Name: "prompt", Status: certification.StatusFailed, Successes: 1, Samples: 2, Findings: []certification.Finding{{Reason: "not_verified", Count: 5}, {Reason: "system_prompt_ignored", Count: 1}}},
		}
	}, want: remedy{
		Fix:  "mend what failed, in the contract, in the target's profile or at the target: business, 0 of 40 (the urgency, expected high); round trip, 9 of 40; prompt, 1 of 2 (system_prompt_ignored)",
		Then: certifyPair, See: showRecord}},
	{reason: certification.ReasonInconcl, change: func(of *patient) { of.record = nil },
		want: remedy{Fix: certifyPair, See: "fallproof certifications list --contract support-triage --target sim/org/m"}},
	{reason: certification.ReasonInconcl, name: "the account was turned away", change: func(of *patient) {
		of.unjudged = &certification.Record{ID: shownID}
		turnedAway(of.unjudged)
	}, want: remedy{
		Meaning: "no run of it could be judged: unauthorized, status 401: no",
		Fix:     "mend the key that providers.sim is called with, or its account there", Then: certifyPair, See: showRecord,
	}},
	{reason: certification.ReasonInconcl, name: "another run would only be the same", change: unseen(certification.Finding{Reason: "canary_unanswered", Count: 1, Cause: "refused", Detail: "refused: status 400: filtered"}), want: remedy{
		Meaning: "no run of it could be judged: canary_unanswered, refused: status 400: filtered",
		Fix:     "have the content filter of sim/org/m let the call through: refused again, it can be judged no more than now", Then: certifyPair, See: showRecord,
	}},
	{reason: certification.ReasonInconcl, name: "an account behind the canary", change: unseen(certification.Finding{Reason: "canary_unanswered", Count: 1, Cause: "unauthorized"}), want: remedy{
		Meaning: "no run of it could be judged: canary_unanswered", Fix: "mend the key that providers.sim is called with, or its account there", Then: certifyPair, See: showRecord,
	}},
	{reason: certification.ReasonInconcl, name: "a quota", change: unseen(certification.Finding{Reason: "provider_trouble", Count: 9, Cause: "rate_limited"}), want: remedy{
		Meaning: "no run of it could be judged: provider_trouble",
		Fix:     "in fallproof.yaml: a lower concurrency under providers.sim, or wait; and where the account's quota is used up, have it raised", Then: certifyPair, See: showRecord,
	}},
	{reason: certification.ReasonInconcl, name: "too slow", change: unseen(certification.Finding{Reason: "provider_trouble", Count: 9, Cause: "timeout"}), want: remedy{
		Meaning: "no run of it could be judged: provider_trouble",
		Fix:     "in fallproof.yaml: a longer timeout under providers.sim, where its answers take so long", Then: certifyPair, See: showRecord,
	}},
	{reason: certification.ReasonInconcl, name: "the provider's day", change: unseen(certification.Finding{Reason: "provider_trouble", Count: 9, Cause: "server_error"}), want: remedy{
		Meaning: "no run of it could be judged: provider_trouble", Fix: certifyPair, See: showRecord,
	}},
	{reason: certification.ReasonInconcl, name: "no model answered", change: unseen(certification.Finding{Reason: "provider_trouble", Count: 9, Cause: "malformed"}), want: remedy{
		Meaning: "no run of it could be judged: provider_trouble",
		Fix:     "in fallproof.yaml: see what answered: the base_url under providers.sim may lead elsewhere, something in front of the model may have answered, or the account lacks a right", Then: certifyPair, See: showRecord,
	}},
	{reason: certification.ReasonInconcl, name: "a redirect", change: unseen(certification.Finding{Reason: "provider_trouble", Count: 9, Cause: "redirect"}), want: remedy{
		Meaning: "no run of it could be judged: provider_trouble",
		Fix:     "in fallproof.yaml: a base_url under providers.sim that answers by itself: a redirect is never followed", Then: certifyPair, See: showRecord,
	}},
	{reason: certification.ReasonInconcl, name: "a server that answers no questions", change: unseen(certification.Finding{Reason: "server_unanswered", Count: 8, Cause: "redirect"}), want: remedy{
		Meaning: "no run of it could be judged: server_unanswered",
		Fix:     "in fallproof.yaml: a base_url under providers.sim that answers by itself: a redirect is never followed", Then: certifyPair,
		Or: "in fallproof.yaml: take native out of the profile of sim/org/m: then its server is asked nothing", See: showRecord,
	}},
	{reason: certification.ReasonInconcl, name: "a probe that shows nothing", change: unseen(certification.Finding{Reason: "not_probed", Count: 1, Cause: "unclear"}), want: remedy{
		Meaning: "no run of it could be judged: not_probed",
		Fix:     "take enforcement out of what support-triage requires, where it need not be shown: what sim/org/m answers does not show it", Then: certifyPair, See: showRecord,
	}},
	{reason: certification.ReasonInconcl, name: "several models", change: unseen(certification.Finding{Reason: "several_models", Count: 2, Detail: "two"}), want: remedy{
		Meaning: "no run of it could be judged: several_models, two",
		Fix:     "name one model that stays, instead of sim/org/m, where its name stands for several; or take more samples, so that the one that answers most proves it alone",
		Then:    certifyPair, See: showRecord,
	}},
	{reason: certification.ReasonInconcl, name: "a case that was lost", change: func(of *patient) {
		unseen(certification.Finding{Reason: "server_error", Count: 9, Detail: "status 503", Cause: "server_error"})(of)
		of.unjudged.Dimensions[0].Findings = append(of.unjudged.Dimensions[0].Findings, certification.Finding{Reason: "case_unanswered", Count: 1, Case: "one"})
	}, want: remedy{
		Meaning: `no run of it could be judged: server_error, status 503; of case "one" no sample was answered`, Fix: certifyPair, See: showRecord,
	}},
	{reason: certification.ReasonInconcl, name: "too few samples", change: func(of *patient) {
		of.samples = 4
		of.unjudged = &certification.Record{ID: shownID, Planned: 8, SamplesPerCase: 1, Dimensions: []certification.Dimension{
			{Name: "prompt", Status: certification.StatusPassed, Threshold: 1, Census: true, Successes: 9, Samples: 9},
			{Name: "structure", Status: certification.StatusNotJudged, Threshold: 0.9, Successes: 8, Samples: 8, Findings: []certification.Finding{{Reason: "too_few_samples", Count: 8}}},
		}}
	}, want: remedy{
		Meaning: "no run of it could be judged: too_few_samples", Fix: certifyPair + " --samples 4", See: showRecord,
	}},
	{reason: certification.ReasonInconcl, name: "fewer samples than the contract asks for", change: func(of *patient) {
		of.unjudged = &certification.Record{ID: shownID, Planned: 8, SamplesPerCase: 1, Dimensions: []certification.Dimension{
			{Name: "structure", Status: certification.StatusNotJudged, Threshold: 0.9, Successes: 8, Samples: 8, Findings: []certification.Finding{{Reason: "too_few_samples", Count: 8}}},
		}}
	}, want: remedy{Meaning: "no run of it could be judged: too_few_samples", Fix: certifyPair, See: showRecord}},
	{reason: certification.NoCertification, name: "by a contract below its floor", change: func(of *patient) {
		of.record, of.unfit = nil, "mutation score 0.5, …"
	}, want: remedy{First: "mend the contract support-triage, by which nothing can be certified as it is: mutation score 0.5, …", Fix: certifyPair}},
	{reason: certification.Suspended, name: "by a contract below its floor", change: func(of *patient) { of.unfit = "…" }, want: remedy{
		First: "mend the contract support-triage, by which nothing can be certified as it is: …", Fix: certifyPair, See: showRecord,
	}},
	{reason: certification.NotInRoute, name: "whatever the contract is worth", change: func(of *patient) { of.unfit = "…" }, want: remedy{
		Fix: "in fallproof.yaml: add sim/org/m to routes.support-triage.fallbacks",
	}},
	{reason: certification.ReasonInconcl, name: "with wrong answers among what was seen", change: func(of *patient) {
		unseen(certification.Finding{Reason: "provider_trouble", Count: 9, Cause: "server_error"})(of)
		of.unjudged.Dimensions[0].Successes, of.unjudged.Dimensions[0].Samples = 20, 31
	}, want: remedy{
		Meaning: "no run of it could be judged: provider_trouble; not everything was good that was seen: structure, 20 of 31", Fix: certifyPair, See: showRecord,
	}},
	{reason: certification.Expired, want: remedy{Fix: certifyPair, Or: "fallproof certify --requested", See: showRecord}},
	{reason: certification.Revoked, want: remedy{Fix: certifyPair, See: showRecord}},
	{reason: certification.Revoked, name: "and the provider was live then", change: func(of *patient) {
		of.record.Source, of.declared, of.accepted = providers.SourceLive, providers.SourceSimulated, []providers.Source{providers.SourceSimulated}
	}, want: remedy{
		First: "in fallproof.yaml: a base_url that leads to a live provider, and source: live, under providers.sim: its proof is live, which only a live record displaces",
		Fix:   certifyPair, See: showRecord,
	}},
	{reason: certification.ReasonRejected, name: "where recorded answers alone are accepted", change: func(of *patient) {
		of.record.Source, of.declared, of.accepted = providers.SourceReplay, providers.SourceLive, []providers.Source{providers.SourceReplay}
	}, want: remedy{First: "in fallproof.yaml: server.accept_sources: [replay, live]", Fix: certifyPair, See: showRecord}},
	{reason: certification.Revoked, name: "where recorded answers alone are accepted, and the provider is simulated", change: func(of *patient) {
		of.record.Source, of.accepted = providers.SourceReplay, []providers.Source{providers.SourceReplay}
	}, want: remedy{Fix: certifyPair + " --record cassettes", Then: certifyPair + " --replay cassettes", See: showRecord}},
	{reason: certification.NoCertification, name: "of a simulator, where live proofs alone are accepted", change: func(of *patient) {
		of.record, of.accepted = nil, []providers.Source{providers.SourceLive}
	}, want: remedy{
		First: "in fallproof.yaml: a base_url that leads to a live provider, and source: live, under providers.sim; or server.accept_sources: [live, simulated], where such proofs are enough",
		Fix:   certifyPair,
	}},
	{reason: certification.ProfileChanged, name: "to one that cannot pass", change: func(of *patient) { of.doomed = "at sim/org/m: …" }, want: remedy{
		First: "mend the profile of sim/org/m, or the contract support-triage, which can only be rejected together: at sim/org/m: …",
		Fix:   certifyPair, See: showRecord,
	}},
	{reason: certification.SourceNotAccepted, name: "where recorded answers alone are accepted", change: func(of *patient) {
		of.accepted = []providers.Source{providers.SourceReplay}
	}, want: remedy{
		Fix: certifyPair + " --record cassettes", Then: certifyPair + " --replay cassettes",
		Or: "in fallproof.yaml: server.accept_sources: [replay, simulated]" + enough, See: showRecord,
	}},
	{reason: certification.ContractChanged, name: "to what its samples do not prove", change: func(of *patient) { of.samples = 38 },
		want: remedy{Fix: certifyPair + " --samples 38", See: showRecord}},
	{reason: certification.Expired, name: "of a contract whose samples do not prove it", change: func(of *patient) { of.samples = 38 },
		want: remedy{Fix: certifyPair + " --samples 38", Or: "fallproof certify --requested --samples 38", See: showRecord}},
	{reason: certification.ContractChanged, want: remedy{Fix: certifyPair, See: showRecord}},
	{reason: certification.ProfileChanged, name: "without a record of this proof", change: func(of *patient) { of.record = nil },
		want: remedy{Fix: certifyPair, See: "fallproof certifications list --contract support-triage --target sim/org/m"}},
	{reason: certification.ProfileChanged, want: remedy{Fix: certifyPair, See: showRecord}},
	{reason: certification.Suspended, want: remedy{Fix: certifyPair, Or: "fallproof certify --requested", See: showRecord}},
	{reason: certification.Expired, name: "and nobody has asked for a new one", change: func(of *patient) { of.asked = false }, want: remedy{Fix: certifyPair, See: showRecord}},
	{reason: certification.Suspended, name: "outside the routes, where --requested does not look", change: func(of *patient) { of.role = failover.RoleOther },
		want: remedy{Fix: certifyPair, See: showRecord}},
	{reason: certification.SourceNotAccepted, name: "declared as simulated", want: remedy{
		Fix:  "in fallproof.yaml: a base_url that leads to a live provider, and source: live, under providers.sim",
		Then: certifyPair, Or: "in fallproof.yaml: server.accept_sources: [live, simulated]" + enough, See: showRecord}},
	{reason: certification.SourceNotAccepted, name: "a simulator elsewhere answered", change: warned("a simulator answered"), want: remedy{
		Fix:  "in fallproof.yaml: a base_url that leads to a live provider, and source: live, under providers.sim",
		Then: certifyPair, Or: "in fallproof.yaml: server.accept_sources: [live, simulated]" + enough, See: showRecord}},
	{reason: certification.SourceNotAccepted, name: "this machine answered", change: warned("127.0.0.1 is this machine; where …"), want: remedy{
		Fix:  "in fallproof.yaml: live_on_loopback: true under providers.sim, where a real model listens on this machine",
		Then: certifyPair, Or: "in fallproof.yaml: server.accept_sources: [live, simulated]" + enough, See: showRecord}},
	{reason: certification.SourceNotAccepted, name: "a replay", change: func(of *patient) {
		of.record.Source, of.declared = providers.SourceReplay, providers.SourceLive
	}, want: remedy{
		Fix: certifyPair, Or: "in fallproof.yaml: server.accept_sources: [live, replay]" + enough, See: showRecord}},
	{reason: certification.SourceNotAccepted, name: "a replay of what this machine had answered", change: func(of *patient) {
		of.record.Source, of.declared = providers.SourceReplay, providers.SourceLive
		of.record.Warnings = []certification.Finding{
			{Reason: "not_live", Count: 1, Detail: "127.0.0.1 is this machine; where …"}, {Reason: "replayed", Count: 1}, {Reason: "recorded_simulated", Count: 1, Detail: "127.0.0.1 is this machine; where …"},
		}
	}, want: remedy{
		Fix: certifyPair, Or: "in fallproof.yaml: server.accept_sources: [live, replay], where even a recording of no live provider is enough", See: showRecord}},
	{reason: certification.SourceNotAccepted, name: "a replay, and the provider is a simulated one", change: func(of *patient) {
		of.record.Source, of.declared = providers.SourceReplay, providers.SourceSimulated
		of.record.Warnings = []certification.Finding{{Reason: "replayed", Count: 1}, {Reason: "recorded_simulated", Count: 1, Detail: "a simulator answered"}}
	}, want: remedy{
		Fix:  "in fallproof.yaml: a base_url that leads to a live provider, and source: live, under providers.sim",
		Then: certifyPair, Or: "in fallproof.yaml: server.accept_sources: [live, replay], where even a recording of no live provider is enough", See: showRecord}},
	{reason: certification.SourceNotAccepted, name: "a replay, where a run at the simulated provider would do", change: func(of *patient) {
		of.record.Source, of.declared, of.accepted = providers.SourceReplay, providers.SourceSimulated, []providers.Source{providers.SourceSimulated}
	}, want: remedy{
		Fix: certifyPair, Or: "in fallproof.yaml: server.accept_sources: [simulated, replay]" + enough, See: showRecord}},
	{reason: certification.SourceNotAccepted, name: "live, where simulations alone count",
		change: func(of *patient) {
			of.record.Source, of.accepted = providers.SourceLive, []providers.Source{providers.SourceSimulated}
		},
		want: remedy{Fix: "in fallproof.yaml: server.accept_sources: [simulated, live]", See: showRecord}},
	{reason: certification.NotInRoute, want: remedy{Fix: "in fallproof.yaml: add sim/org/m to routes.support-triage.fallbacks"}},
	{reason: certification.NotInRoute, name: "no route at all", change: func(of *patient) { of.routed = false },
		want: remedy{Fix: "in fallproof.yaml: add under routes support-triage: {primary: PROVIDER/MODEL, fallbacks: [sim/org/m]}"}},
	{reason: certification.ContextTooSmall,
		want: remedy{Fix: "in fallproof.yaml: correct context_window of sim/org/m, or name another target in routes.support-triage.fallbacks"}},
	{reason: certification.CircuitOpen, want: remedy{Fix: "wait: it is tried again after providers.sim.circuit.cool_down"}},
	{reason: certification.Expired, name: "another configuration, and words that a shell would split",
		change: func(of *patient) { of.file, of.target.Model = "my nights/b.yaml", "it's (q4)" },
		want: remedy{
			Fix: `fallproof certify --contract support-triage --target 'sim/it'\''s (q4)' --config 'my nights/b.yaml'`,
			Or:  "fallproof certify --requested --config 'my nights/b.yaml'",
			See: showRecord + " --config 'my nights/b.yaml'"}},
}

// unseen is a run that was not judged for a finding.
func unseen(why certification.Finding) func(*patient) {
	return func(of *patient) {
		of.unjudged = &certification.Record{ID: shownID, Dimensions: []certification.Dimension{
			{Name: "structure", Status: certification.StatusNotJudged, Findings: []certification.Finding{why}},
		}}
	}
}

func warned(detail string) func(*patient) {
	return func(of *patient) {
		of.record.Warnings = []certification.Finding{{Reason: "not_live", Count: 1, Detail: detail}}
	}
}

// Every reason is said in words, with what takes it away; what looks like a command is one.
func TestEveryReasonHasARemedy(t *testing.T) {
	missing := declaredReasons(t)
	for _, row := range remedyRows {
		delete(missing, row.reason)
		t.Run(string(row.reason)+" "+row.name, func(t *testing.T) {
			s := newTerminal(t)
			of := patient{
				contract: "support-triage", target: providers.Target{Provider: "sim", Model: "org/m"}, role: failover.RoleFallback, routed: true,
				record:   &certification.Record{ID: shownID, Source: providers.SourceSimulated},
				accepted: []providers.Source{providers.SourceSimulated}, declared: providers.SourceSimulated, asked: true,
			}
			if row.reason == certification.SourceNotAccepted {
				of.accepted = []providers.Source{providers.SourceLive}
			}
			if row.change != nil {
				row.change(&of)
			}
			got := remedyFor(row.reason, of)
			s.Expect(got.Reason).To(gomega.Equal(row.reason))
			s.Expect(got.Meaning).NotTo(gomega.BeEmpty())
			row.want.Reason, row.want.Meaning = got.Reason, got.Meaning
			s.Expect(got).To(gomega.Equal(row.want))
			for _, line := range []string{got.Fix, got.Then, got.Or, got.See} {
				if strings.HasPrefix(line, "fallproof ") {
					s.canType(line)
				} else {
					s.Expect(line).NotTo(gomega.ContainSubstring("fallproof "), "a command stands on a line of its own")
				}
			}
		})
	}
	gomega.NewWithT(t).Expect(missing).To(gomega.BeEmpty(), "every reason has a row")
}

// Together the remedies ask for each thing once, in the order in which it helps.
func TestFixesBeginWithTheConfiguration(t *testing.T) {
	const local = "in fallproof.yaml: live_on_loopback: true under providers.sim"
	got := fixes([]remedy{
		{Reason: certification.ReasonRejected, Fix: certifyPair, See: showRecord},
		{Reason: certification.SourceNotAccepted, Fix: local, Then: certifyPair, Or: "in fallproof.yaml: …", See: showRecord},
		{Reason: certification.NotInRoute, Fix: "in fallproof.yaml: add sim/org/m to routes.support-triage.fallbacks"},
	})
	gomega.NewWithT(t).Expect(got).To(gomega.Equal([]string{local, "in fallproof.yaml: add sim/org/m to routes.support-triage.fallbacks", certifyPair}))
}

// canType has a shell split a line, and asks the verbs whether they would take it.
func (s *terminal) canType(line string) {
	s.t.Helper()
	split, err := exec.CommandContext(s.t.Context(), "sh", "-c", `set -f; for word in `+strings.TrimPrefix(line, "fallproof ")+`; do printf '%s\0' "$word"; done`).Output()
	s.Expect(err).NotTo(gomega.HaveOccurred(), line)
	args := strings.Split(strings.TrimSuffix(string(split), "\x00"), "\x00")
	p := &program{stdin: strings.NewReader(""), stdout: s.t.Output(), stderr: s.t.Output(), getenv: s.getenv}
	verb, rest, err := p.root().Find(args)
	s.Expect(err).NotTo(gomega.HaveOccurred(), line)
	s.Expect(verb.HasSubCommands()).To(gomega.BeFalse(), line)
	s.Expect(verb.ParseFlags(rest)).To(gomega.Succeed(), line)
	s.Expect(verb.ValidateArgs(verb.Flags().Args())).To(gomega.Succeed(), line)
}

func TestCanFailoverSaysWhyAndWhatWouldHelp(t *testing.T) {
	s := newShelf(t)
	record := s.put("two", certification.Certified, time.Hour, nil)
	_, err := s.store.Revoke(t.Context(), record.ID, "a test", "tester")
	s.Expect(err).NotTo(gomega.HaveOccurred())
	ask := []string{"can-failover", "--contract", "support-triage", "--to", "sim/two"}
	no := s.run(ask...)
	s.Expect(no.code).To(gomega.Equal(exitNo))
	s.Expect(no.stdout).To(gomega.MatchRegexp(`^no: sim/two may not stand in under support-triage\n  revoked: its certification was revoked\n` +
		`    20[-0-9T:]+Z: a test\n    fix:  fallproof certify --contract support-triage --target sim/two\n` +
		`    see:  fallproof certifications show ` + record.ID + `\n$`))
	var answer verdict
	s.Expect(json.Unmarshal([]byte(s.run(append(ask, "--json")...).stdout), &answer)).To(gomega.Succeed())
	s.Expect(answer.Details).To(gomega.Equal([]remedy{{
		Reason: certification.Revoked, Meaning: "its certification was revoked",
		Fix: "fallproof certify --contract support-triage --target sim/two", See: "fallproof certifications show " + record.ID,
	}}))
	s.Expect(answer.Fixes).To(gomega.Equal([]string{answer.Details[0].Fix}))

	s.put("two", certification.Certified, time.Hour, nil)
	yes := s.must(append(ask, "--json")...)
	s.Expect(json.Unmarshal([]byte(yes), &answer)).To(gomega.Succeed())
	s.Expect(answer.Eligible).To(gomega.BeTrue())
	s.Expect(answer.Details).To(gomega.BeEmpty())
	s.Expect(answer.RecordWarnings).To(gomega.BeEmpty())
	s.Expect(yes).To(gomega.ContainSubstring(`"record_warnings": []`))
}

// A yes at 3 a.m. says what its record warns of, and how long it holds.
func TestCanFailoverSaysWhatACarefulPersonWantsToKnow(t *testing.T) {
	s := newShelf(t)
	found := []certification.Finding{
		{Reason: "schema_not_enforced", Count: 1, Detail: "ordered to break the schema that it was sent, the target did"},
		{Reason: "model_alias", Count: 1, Detail: "two is served by one-2026, and may be served by another one tomorrow"},
	}
	record := s.put("two", certification.Certified, 100*time.Hour, func(r *certification.Record) { r.Warnings = found })
	ask := []string{"can-failover", "--contract", "support-triage", "--to", "sim/two"}
	s.Expect(s.must(ask...)).To(gomega.Equal("yes: sim/two may stand in under support-triage until " + stamp(record.ExpiresAt) +
		" (4 days left; certification " + record.ID + ", live)\n" +
		"  schema_not_enforced: " + found[0].Detail + "\n  model_alias: " + found[1].Detail + "\n"))
	var answer verdict
	s.Expect(json.Unmarshal([]byte(s.must(append(ask, "--json")...)), &answer)).To(gomega.Succeed())
	s.Expect(answer.RecordWarnings).To(gomega.Equal(found))
	s.Expect(*answer.ExpiresAt).To(gomega.BeTemporally("==", record.ExpiresAt))
	s.Expect(*answer.IssuedAt).To(gomega.BeTemporally("==", record.IssuedAt))
	s.Expect(*answer.Source).To(gomega.Equal(providers.SourceLive))
}

// A record of a source that is not accepted is mended where its source comes from.
func TestCanFailoverTellsThisMachineFromAnother(t *testing.T) {
	s := newTerminal(t)
	base, _ := s.background("simulate", "--listen", "127.0.0.1:0")
	s.write("local.yaml", fmt.Sprintf(recordedConfig, base, "", "live"))
	pair := []string{"--contract", "support-triage", "--target", "sim/faithful", "--config", "local.yaml"}
	code, output := s.certify(pair...)
	s.Expect(code).To(gomega.Equal(exitOK), output)
	ask := []string{"can-failover", "--contract", "support-triage", "--to", "sim/faithful", "--config", "local.yaml"}
	no := s.run(ask...)
	s.Expect(no.code).To(gomega.Equal(exitNo))
	s.Expect(no.stdout).To(gomega.MatchRegexp(`(?m)^  source_not_accepted: .*\n` +
		`    fix:  in local.yaml: live_on_loopback: true under providers.sim, where a real model listens on this machine\n` +
		`    then: fallproof certify --contract support-triage --target sim/faithful --config local.yaml\n` +
		`    or:   in local.yaml: server.accept_sources: \[live, simulated\], where such proofs are enough\n` +
		`    see:  fallproof certifications show [-0-9a-f]+ --config local.yaml\n`))

	s.write("local.yaml", fmt.Sprintf(recordedConfig, base, "live_on_loopback: true,", "live"))
	code, output = s.certify(pair...)
	s.Expect(code).To(gomega.Equal(exitOK), output)
	s.Expect(s.must(ask...)).To(gomega.HavePrefix("yes: "), "the remedy is one")
}

// Whoever is told that something changed since a target was certified is told what, so far as records know.
func TestCanFailoverNamesWhatChanged(t *testing.T) {
	s := newTerminal(t)
	base, _ := s.background("simulate", "--listen", "127.0.0.1:0")
	settings := func(more string) {
		s.write("fallproof.yaml", fmt.Sprintf("server: {accept_sources: [simulated]}\nproviders:\n  sim: {base_url: %s, source: simulated, models: {faithful: {%s}}}\n"+
			"routes:\n  support-triage: {primary: sim/faithful}\n", base, more))
	}
	settings("")
	code, output := s.certify("--target", "sim/faithful", "--contract", "support-triage")
	s.Expect(code).To(gomega.Equal(exitOK), output)
	ask := []string{"can-failover", "--contract", "support-triage", "--to", "sim/faithful"}
	s.must(ask...)
	settings("system_role: merge, context_window: 9000, tokenizer: o200k_base, temperature: omit, max_tokens_field: max_tokens")
	no := s.run(ask...)
	s.Expect(no.code).To(gomega.Equal(exitNo))
	s.Expect(no.stdout).To(gomega.ContainSubstring("  profile_changed: its profile has changed since it was certified: " +
		`context_window 0 → 9000; max_tokens_field "max_completion_tokens" → "max_tokens"; system_role "system" → "merge"; and 2 more` + "\n"))
}
