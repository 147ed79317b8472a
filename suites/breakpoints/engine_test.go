package breakpoints

import (
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/store/storetest/pgcluster"
)

// engine is a kind of database.
type engine struct {
	name        string
	fresh       func(folder string) string // URL of an empty one
	unreachable func(folder string) string
	verify      bool // whether the suite in the binary is put to the test here: once is enough
}

var engines = []engine{
	{
		name:   "SQLite",
		fresh:  func(folder string) string { return "sqlite:" + filepath.Join(folder, "fallproof.db") },
		verify: true,
		unreachable: func(folder string) string {
			return "sqlite:" + filepath.Join(folder, "no", "such", "folder", "fallproof.db")
		},
	},
	{
		name: "PostgreSQL",
		fresh: func(string) string {
			cluster, err := pgcluster.Shared()
			Expect(err).NotTo(HaveOccurred())
			url, drop, err := cluster.NewDatabase("breakpoints")
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(func() { Expect(drop()).To(Succeed()) })
			return url
		},
		// Port 1 is nobody's.
		unreachable: func(string) string { return "postgres://127.0.0.1:1/fallproof?connect_timeout=5" },
	},
}
