package pgcluster

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/onsi/gomega"
)

func TestADatabaseIsFreshAndItsTestsOwn(t *testing.T) {
	g := gomega.NewWithT(t)
	first, second := connect(t, Database(t)), connect(t, Database(t))
	execute(t, first, "CREATE TABLE notes (body text)")
	exists := "SELECT to_regclass('notes') IS NOT NULL"
	g.Expect(query[bool](t, first, exists)).To(gomega.BeTrue())
	g.Expect(query[bool](t, second, exists)).To(gomega.BeFalse())
}

func TestADatabaseIsDroppedWithItsTestEvenWhileInUse(t *testing.T) {
	g := gomega.NewWithT(t)
	cluster, err := Shared()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	const prefix = "fallproof_testadatabaseisdropped"
	var leaked *pgx.Conn
	t.Run("inner", func(inner *testing.T) {
		leaked, err = pgx.Connect(t.Context(), Database(inner))
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(databases(t, cluster, prefix)).To(gomega.Equal(1))
	})
	g.Expect(databases(t, cluster, prefix)).To(gomega.Equal(0))
	_, err = leaked.Exec(t.Context(), "SELECT 1")
	g.Expect(err).To(gomega.HaveOccurred())
}

func TestManyDatabasesAtOnce(t *testing.T) {
	cluster, err := Shared()
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			_, drop, err := cluster.NewDatabase("many")
			if err == nil {
				err = drop()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestAnyTextMakesAName(t *testing.T) {
	for _, text := range []string{"", "TestX/sub case#01", `"; DROP DATABASE postgres; --`, "תשלום", strings.Repeat("long", 100), "nul\x00"} {
		t.Run(text, func(t *testing.T) {
			g := gomega.NewWithT(t)
			name := uniqueName(text)
			g.Expect(name).To(gomega.MatchRegexp(`^fallproof_[a-z0-9_]*$`))
			g.Expect(len(name)).To(gomega.BeNumerically("<=", longestName))
			g.Expect(uniqueName(text)).NotTo(gomega.Equal(name))
			connection := connect(t, Database(t)) // named after the sub-test, hence after the text
			g.Expect(query[int](t, connection, "SELECT 1")).To(gomega.Equal(1))
		})
	}
}

func TestATemplateIsMigratedOnceAndCopied(t *testing.T) {
	g := gomega.NewWithT(t)
	migrations := 0
	database := Template(func(url string) error {
		migrations++
		connection := connect(t, url) // stays open, as a pool that nobody closed would
		_, err := connection.Exec(t.Context(), "CREATE TABLE notes AS SELECT 'from the template' AS body")
		return err
	})
	first, second := connect(t, database(t)), connect(t, database(t))
	g.Expect(migrations).To(gomega.Equal(1))
	execute(t, first, "DELETE FROM notes")
	g.Expect(query[string](t, second, "SELECT body FROM notes")).To(gomega.Equal("from the template"))
}

func TestATemplateThatCannotBeMigratedFailsEachTestAndLeavesNothing(t *testing.T) {
	g := gomega.NewWithT(t)
	var half string
	broken := Template(func(url string) error {
		half = url
		return errors.New("no such file")
	})
	for range 2 {
		failure := failureOf(t, func(tb testing.TB) { broken(tb) })
		g.Expect(failure).To(gomega.Equal("migrating the template database: no such file"))
	}
	_, err := tryConnect(t, half)
	g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("does not exist")))
}

func TestWithoutAServerATestFailsAndIsNotSkipped(t *testing.T) {
	g := gomega.NewWithT(t)
	none := sharedCluster{opened: true, err: errNotInstalled}
	failure := failureOf(t, func(tb testing.TB) {
		none.database(tb, func(c *Cluster) (string, func() error, error) { return c.NewDatabase("none") })
	})
	g.Expect(failure).To(gomega.Equal(errNotInstalled.Error()))
	g.Expect(none.close()).To(gomega.Succeed())
}

// failureOf returns what a test of this body would die of.
func failureOf(t *testing.T, body func(testing.TB)) string {
	t.Helper()
	witness := &witness{TB: t}
	var group sync.WaitGroup
	group.Go(func() { body(witness) })
	group.Wait()
	return witness.failure
}
