package pgcluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/onsi/gomega"
)

func TestAFolderThatTheServerCannotUseIsNotUsed(t *testing.T) {
	cases := map[string]struct {
		mode os.FileMode
		name string
		used bool
	}{
		"open":                  {0o755, "tmp", true},
		"closed to others":      {0o700, "tmp", false},
		"too long for a socket": {0o755, strings.Repeat("x", 90), false},
	}
	somebody := &syscall.Credential{Uid: uint32(os.Geteuid()), Gid: uint32(os.Getegid())}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			outer, err := os.MkdirTemp("/tmp", "t") // short, and not inside a private folder
			g.Expect(err).NotTo(gomega.HaveOccurred())
			t.Cleanup(func() { _ = os.RemoveAll(outer) })
			g.Expect(os.Chmod(outer, c.mode)).To(gomega.Succeed())
			temporary := filepath.Join(outer, c.name)
			g.Expect(os.Mkdir(temporary, 0o755)).To(gomega.Succeed())
			t.Setenv("TMPDIR", temporary)

			folder, err := newFolder(somebody)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			t.Cleanup(func() { _ = os.RemoveAll(folder) })
			g.Expect(filepath.Dir(folder) == temporary).To(gomega.Equal(c.used), folder)
		})
	}
}

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
