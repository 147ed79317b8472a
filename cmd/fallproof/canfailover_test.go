package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
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

// Every reason is said in words, with what would take it away; what looks like a command is one.
func TestEveryReasonHasARemedy(t *testing.T) {
	const certify, id = "fallproof certify --contract support-triage --target sim/org/m", "0197b1c4-0000-7000-8000-000000000000"
	const show = "fallproof certifications show " + id + "   # says why; once that is mended: " + certify
	const diff = certify + "   # then fallproof certifications diff --contract support-triage --target sim/org/m says what changed"
	remedies := map[certification.Reason]string{
		certification.NoCertification:   certify,
		certification.ReasonRejected:    show,
		certification.ReasonInconcl:     certify + "   # when the provider answers again",
		certification.Expired:           certify,
		certification.Revoked:           show,
		certification.ContractChanged:   diff,
		certification.SourceNotAccepted: certify + "   # against a provider of a source that server.accept_sources lists",
		certification.Suspended:         show,
		certification.ProfileChanged:    diff,
		certification.NotInRoute:        "add sim/org/m to routes.support-triage.fallbacks in the configuration",
		certification.ContextTooSmall:   "correct context_window of sim/org/m in the configuration, or choose another target",
		certification.CircuitOpen:       "wait: it is tried again after providers.sim.circuit.cool_down",
	}
	record := id
	v := verdict{Contract: "support-triage", Target: providers.Target{Provider: "sim", Model: "org/m"}, CertificationID: &record}
	s := newTerminal(t)
	reasons := declaredReasons(t)
	s.Expect(reasons).To(gomega.HaveLen(len(remedies)))
	for reason := range reasons {
		s.Expect(remedies).To(gomega.HaveKey(reason))
		s.Expect(meanings[reason]).NotTo(gomega.BeEmpty(), string(reason))
		s.Expect(fixFor(reason, v)).To(gomega.Equal(remedies[reason]), string(reason))
		for _, command := range regexp.MustCompile(`fallproof [a-z].*?(?: says|$|   #)`).FindAllString(fixFor(reason, v), -1) {
			args := strings.Fields(strings.TrimSuffix(strings.TrimSuffix(command, " says"), "   #"))[1:]
			p := &program{stdin: strings.NewReader(""), stdout: t.Output(), stderr: t.Output(), getenv: s.getenv}
			verb, rest, err := p.root().Find(args)
			s.Expect(err).NotTo(gomega.HaveOccurred(), command)
			s.Expect(verb.ParseFlags(rest)).To(gomega.Succeed(), command)
			s.Expect(verb.ValidateArgs(verb.Flags().Args())).To(gomega.Succeed(), command)
			s.Expect(verb.RunE).NotTo(gomega.BeNil(), command)
		}
	}
	v.CertificationID = nil
	s.Expect(fixFor(certification.ReasonRejected, v)).To(gomega.Equal(certify))
}

func TestCanFailoverSaysWhyAndWhatWouldHelp(t *testing.T) {
	s := newShelf(t)
	record := s.put("two", certification.Certified, time.Hour, nil)
	_, err := s.store.Revoke(t.Context(), record.ID, "a test", "tester")
	s.Expect(err).NotTo(gomega.HaveOccurred())
	no := s.run("can-failover", "--contract", "support-triage", "--to", "sim/two")
	s.Expect(no.code).To(gomega.Equal(exitNo))
	s.Expect(no.stdout).To(gomega.MatchRegexp(`^no: sim/two may not stand in under support-triage\n  revoked: its certification was revoked\n` +
		`    20[-0-9T:]+Z: a test\n    fallproof certifications show ` + record.ID + `   # says why`))
	var answer verdict
	s.Expect(json.Unmarshal([]byte(s.run("can-failover", "--contract", "support-triage", "--to", "sim/two", "--json").stdout), &answer)).To(gomega.Succeed())
	s.Expect(answer.Details).To(gomega.Equal([]remedy{{certification.Revoked, "its certification was revoked", answer.Fixes[0]}}))

	s.put("two", certification.Certified, time.Hour, nil)
	yes := s.must("can-failover", "--contract", "support-triage", "--to", "sim/two", "--json")
	s.Expect(json.Unmarshal([]byte(yes), &answer)).To(gomega.Succeed())
	s.Expect(answer.Eligible).To(gomega.BeTrue())
	s.Expect(answer.Details).To(gomega.BeEmpty())
}
