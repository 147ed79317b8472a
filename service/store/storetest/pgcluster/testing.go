package pgcluster

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
)

// Database returns the URL of a fresh, empty database on the shared server; it is dropped when the test ends.
func Database(tb testing.TB) string {
	tb.Helper()
	return shared.database(tb, func(c *Cluster) (string, func() error, error) { return c.NewDatabase(tb.Name()) })
}

// Template returns a source of databases that were migrated already: migrate runs once, on first use,
// and each database is a copy of the outcome, which costs a fraction of migrating it. It is meant for a
// package-level variable of a test:
//
//	var database = pgcluster.Template(migrations.Apply)
//
// On a lent server the one copied from is dropped by [Main].
func Template(migrate func(url string) error) func(tb testing.TB) string {
	prepared := sync.OnceValues(func() (string, error) { return shared.template(migrate) })
	return func(tb testing.TB) string {
		tb.Helper()
		return shared.database(tb, func(c *Cluster) (string, func() error, error) {
			name, err := prepared()
			if err != nil {
				return "", nil, err
			}
			return c.copyDatabase(tb.Name(), name)
		})
	}
}

// Shared returns the server that the tests of this process share, and starts it where that has not happened yet.
// Ginkgo suites, which have no testing.TB of each spec, create their databases on it; nobody stops it.
func Shared() (*Cluster, error) { return shared.open() }

// Main runs the tests of a package and then stops the shared server, in place of a package's TestMain:
//
//	func TestMain(m *testing.M) { pgcluster.Main(m) }
//
// A package without it leaves that to the watchdog, which does the same a moment after the process.
func Main(m *testing.M) { os.Exit(run(m)) }

func run(m interface{ Run() int }) int {
	code := m.Run()
	if err := shared.close(); err != nil {
		fmt.Fprintln(os.Stderr, "pgcluster:", err)
		return max(code, 1)
	}
	return code
}

// sharedCluster is the one server of a process, opened by whoever needs it first.
type sharedCluster struct {
	mu        sync.Mutex
	opened    bool
	cluster   *Cluster
	err       error // kept: each test says why it failed, and none waits for a second try
	templates []string
}

var shared sharedCluster

func (s *sharedCluster) open() (*Cluster, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.opened {
		s.opened = true
		s.cluster, s.err = Open()
	}
	return s.cluster, s.err
}

func (s *sharedCluster) database(tb testing.TB, create func(*Cluster) (string, func() error, error)) string {
	tb.Helper()
	cluster, err := s.open()
	if err != nil {
		tb.Fatal(err)
	}
	url, drop, err := create(cluster)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := drop(); err != nil {
			tb.Error(err)
		}
	})
	return url
}

func (s *sharedCluster) template(migrate func(url string) error) (string, error) {
	cluster, err := s.open()
	if err != nil {
		return "", err
	}
	name, err := cluster.makeTemplate(migrate)
	if err == nil {
		s.mu.Lock()
		s.templates = append(s.templates, name)
		s.mu.Unlock()
	}
	return name, err
}

func (s *sharedCluster) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster == nil {
		return nil
	}
	var errs []error
	if !s.cluster.owned() {
		for _, name := range s.templates {
			errs = append(errs, s.cluster.dropDatabase(name))
		}
	}
	return errors.Join(append(errs, s.cluster.Stop())...)
}
