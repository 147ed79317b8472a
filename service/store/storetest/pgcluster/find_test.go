package pgcluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onsi/gomega"
)

func TestOnlyAFolderWithAllProgramsWillDo(t *testing.T) {
	g := gomega.NewWithT(t)
	folder := func(programs map[string]os.FileMode) string {
		at := t.TempDir()
		for name, mode := range programs {
			g.Expect(os.WriteFile(filepath.Join(at, name), nil, mode)).To(gomega.Succeed())
		}
		return at
	}
	clientOnly := folder(map[string]os.FileMode{"psql": 0o755})
	half := folder(map[string]os.FileMode{"postgres": 0o755})
	notPrograms := folder(map[string]os.FileMode{"postgres": 0o644, "initdb": 0o755})
	whole := folder(map[string]os.FileMode{"postgres": 0o755, "initdb": 0o755})
	other := folder(map[string]os.FileMode{"postgres": 0o755, "initdb": 0o755})

	found, err := findServer([]string{"/nonexistent", clientOnly, half, notPrograms, whole, other})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(found).To(gomega.Equal(whole))

	_, err = findServer([]string{clientOnly, half})
	g.Expect(err).To(gomega.MatchError(errNotInstalled))
}

func TestWhatIsMissingIsSaidInOneLine(t *testing.T) {
	g := gomega.NewWithT(t)
	message := errNotInstalled.Error()
	g.Expect(strings.Split(message, "\n")).To(gomega.HaveLen(1))
	g.Expect(message).To(gomega.And(gomega.ContainSubstring("apt-get install postgresql"), gomega.ContainSubstring(URLVariable)))
}

func TestNewestVersionFirst(t *testing.T) {
	g := gomega.NewWithT(t)
	g.Expect(newestFirst([]string{"/usr/lib/postgresql/9.6/bin", "/usr/lib/postgresql/15/bin", "/opt/postgresql/bin", "/usr/lib/postgresql/16/bin"})).
		To(gomega.Equal([]string{"/usr/lib/postgresql/16/bin", "/usr/lib/postgresql/15/bin", "/usr/lib/postgresql/9.6/bin", "/opt/postgresql/bin"}))
}

func TestThePathComesFirst(t *testing.T) {
	g := gomega.NewWithT(t)
	t.Setenv("PATH", "/chosen/bin:/second/bin")
	g.Expect(serverFolders()[:2]).To(gomega.Equal([]string{"/chosen/bin", "/second/bin"}))
}
