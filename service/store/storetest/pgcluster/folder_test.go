package pgcluster

import (
	"os"
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
			outer, err := os.MkdirTemp("/tmp", "t") //nolint:usetesting // a test's own folder has a long name and lies in a private one
			g.Expect(err).NotTo(gomega.HaveOccurred())
			t.Cleanup(func() { _ = os.RemoveAll(outer) })
			g.Expect(os.Chmod(outer, c.mode)).To(gomega.Succeed())
			temporary := filepath.Join(outer, c.name)
			g.Expect(os.Mkdir(temporary, 0o755)).To(gomega.Succeed())
			t.Setenv("TMPDIR", temporary)

			folder, err := newFolder(somebody)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			t.Cleanup(func() { _ = os.RemoveAll(folder) })
			if c.used {
				g.Expect(filepath.Dir(folder)).To(gomega.Equal(temporary))
			} else {
				g.Expect(filepath.Dir(folder)).To(gomega.Equal("/tmp"))
			}
		})
	}
}

func TestWithoutAWishTheFolderIsOneOfTheSystems(t *testing.T) {
	g := gomega.NewWithT(t)
	t.Setenv("TMPDIR", "")
	g.Expect(temporaryFolder()).To(gomega.BeElementOf(memoryFolder, "/tmp"))
	t.Setenv("TMPDIR", "/wished")
	g.Expect(temporaryFolder()).To(gomega.Equal("/wished"))
}
