package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/onsi/gomega"
)

// Two reports to one file leave one of them, by whatever names the file goes.
func TestReportsToOneFileAreRefused(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	g := gomega.NewWithT(t)
	write := func(name string) { g.Expect(os.WriteFile(name, nil, 0o600)).To(gomega.Succeed()) }
	write("there.html")
	write("other.html")
	g.Expect(os.Link("there.html", "hard.html")).To(gomega.Succeed())
	g.Expect(os.Symlink("there.html", "soft.html")).To(gomega.Succeed())
	g.Expect(os.Mkdir("in", 0o700)).To(gomega.Succeed())
	g.Expect(os.Symlink("in", "by")).To(gomega.Succeed())
	for _, row := range []struct {
		one, other string
		same       bool
	}{
		{"", "", false},
		{"there.html", "", false},
		{"there.html", "other.html", false},
		{"there.html", "there.html", true},
		{"there.html", "in/../there.html", true},
		{"there.html", filepath.Join(folder, "there.html"), true},
		{"there.html", "hard.html", true},
		{"there.html", "soft.html", true},
		{"there.html", "new.html", false},
		{"new.html", "there.html", false},
		{"new.html", "./new.html", true},
		{"in/new.html", "by/new.html", true},
		{"in/new.html", "new.html", false},
		{"absent/new.html", "absent/./new.html", true},
		{os.DevNull, os.DevNull, false},
	} {
		err := distinctFiles(reportFile{"html", row.one}, reportFile{"json", ""}, reportFile{"markdown", row.other})
		if row.same {
			g.Expect(err).To(gomega.MatchError(gomega.HavePrefix("--html and --markdown name the same file, "+row.other)), row.one)
		} else {
			g.Expect(err).NotTo(gomega.HaveOccurred(), row.one+" "+row.other)
		}
	}
}
