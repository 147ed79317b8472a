package pgcluster

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// URLVariable names the environment variable that holds the URL of a server to use instead of a private cluster.
const URLVariable = "FALLPROOF_TEST_DATABASE_URL"

// ErrNotOwned is returned where a server that the tests were only lent would have to be stopped.
var ErrNotOwned = errors.New("the server that " + URLVariable + " names is not ours to stop: a test that stops its server takes one from pgcluster.Start")

// Cluster is a PostgreSQL server on which databases may be created: one of our own, or one that was lent.
// Its methods may be called at the same time.
type Cluster struct {
	base  url.URL // leads to the database from which others are created
	admin *admin

	// The rest is empty on a lent server.
	programs string
	folder   string
	as       account
	watchdog *watchdog

	mu     sync.Mutex
	server *server // nil while it is down
}

// Start starts a private cluster, whatever the environment says, for tests that stop or break their
// server. The caller ends it with [Cluster.Stop]; the end of the process ends it too.
func Start() (*Cluster, error) {
	programs, err := findServer(serverFolders())
	if err != nil {
		return nil, err
	}
	as, err := serverAccount()
	if err != nil {
		return nil, err
	}
	folder, err := newFolder(as)
	if err != nil {
		return nil, err
	}
	// From here on the watchdog sees to it that nothing is left behind.
	guard, err := startWatchdog(folder, as)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	c := newCluster(socketURL(folder))
	c.programs, c.folder, c.as, c.watchdog = programs, folder, as, guard
	if err := initialise(programs, folder, as); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	if c.server, err = launch(programs, folder, as); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// Check says in one line what is missing for [Open] to have a server, and starts nothing.
func Check() error {
	if os.Getenv(URLVariable) != "" {
		_, err := Open()
		return err
	}
	_, programs := findServer(serverFolders())
	_, as := serverAccount()
	return errors.Join(programs, as)
}

// Open returns the server that [URLVariable] names, or where it is not set a private cluster from [Start].
// A lent server is not contacted before it is used.
func Open() (*Cluster, error) {
	lent := os.Getenv(URLVariable)
	if lent == "" {
		return Start()
	}
	base, err := url.Parse(lent)
	if err != nil || (base.Scheme != "postgres" && base.Scheme != "postgresql") {
		// The URL may hold a password, so it is not repeated.
		return nil, errors.New(URLVariable + " must be a URL such as postgres://user@host/postgres")
	}
	return newCluster(*base), nil
}

func newCluster(base url.URL) *Cluster {
	return &Cluster{base: base, admin: &admin{url: base.String()}}
}

// socketURL leads to the cluster's socket, which stands in for host and port.
func socketURL(folder string) url.URL {
	return url.URL{
		Scheme: "postgres", User: url.User(superuser), Path: "/postgres",
		RawQuery: url.Values{"host": {folder}}.Encode(),
	}
}

// URL leads to the database that exists on the server from the start. Tests leave it alone.
func (c *Cluster) URL() string { return c.base.String() }

// Stop ends the server and removes all its data; a lent server is only let go. It may be repeated.
func (c *Cluster) Stop() error {
	err := c.admin.close()
	if !c.owned() {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err = c.halt(syscall.SIGINT)
	if c.watchdog != nil {
		c.watchdog.release()
		c.watchdog = nil
	}
	return errors.Join(err, os.RemoveAll(c.folder))
}

// StopImmediate ends the server as a crash would: connections break, nothing is written any more, and
// the next start recovers from the log. [Cluster.Restart] brings it back.
func (c *Cluster) StopImmediate() error {
	if !c.owned() {
		return ErrNotOwned
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.halt(syscall.SIGQUIT)
}

// Restart brings the server up again with the data it had and at the same URL, after a clean stop where
// it was still running. It returns when connections are accepted.
func (c *Cluster) Restart() error {
	if !c.owned() {
		return ErrNotOwned
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watchdog == nil {
		return errors.New("the cluster was stopped for good")
	}
	if err := c.halt(syscall.SIGINT); err != nil {
		return err
	}
	restarted, err := launch(c.programs, c.folder, c.as)
	if err != nil {
		return fmt.Errorf("restarting: %w", err)
	}
	c.server = restarted
	return nil
}

// urlOf leads to another database on the server.
func (c *Cluster) urlOf(database string) string {
	other := c.base
	other.Path = "/" + database
	return other.String()
}

func (c *Cluster) owned() bool { return c.folder != "" }

// halt stops the server if it is up. The caller holds the lock.
func (c *Cluster) halt(how os.Signal) error {
	if c.server == nil {
		return nil
	}
	err := c.server.stop(how)
	c.server = nil
	// A killed server leaves its pid file, and by the time that the watchdog reads it the number may
	// be somebody else's.
	if removal := os.Remove(filepath.Join(dataFolder(c.folder), "postmaster.pid")); !errors.Is(removal, os.ErrNotExist) {
		err = errors.Join(err, removal)
	}
	return err
}
