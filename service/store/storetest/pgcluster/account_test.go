package pgcluster

import (
	"os/exec"
	"testing"

	"github.com/onsi/gomega"
)

func TestTheServerIsNotSwayedByTheCallersEnvironment(t *testing.T) {
	g := gomega.NewWithT(t)
	t.Setenv("PGDATA", "/elsewhere")
	t.Setenv("PGOPTIONS", "-c synchronous_commit=off")
	t.Setenv("LC_ALL", "de_DE.UTF-8")
	t.Setenv("LANGUAGE", "de")
	t.Setenv("FALLPROOF_KEPT", "yes")
	command := prepare(exec.CommandContext(t.Context(), "true"), nil, "/folder")
	g.Expect(command.Env).To(gomega.ContainElements("FALLPROOF_KEPT=yes", "LC_ALL=C", "HOME=/folder"))
	g.Expect(command.Env).NotTo(gomega.ContainElement(gomega.MatchRegexp("^(PG|LANGUAGE|LC_ALL=de)")))
}
