package pgcluster

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// emptyDatabase is the template that nobody can be connected to, so that copying it never has to wait.
const emptyDatabase = "template0"

// NewDatabase creates an empty database and returns its URL and what drops it, connections or no connections.
// The name need not be unique or well formed: it is there for whoever reads a list of databases or a log.
func (c *Cluster) NewDatabase(name string) (url string, drop func() error, err error) {
	return c.copyDatabase(name, emptyDatabase)
}

func (c *Cluster) copyDatabase(name, template string) (url string, drop func() error, err error) {
	unique := uniqueName(name)
	if err := c.admin.createDatabase(unique, template); err != nil {
		return "", nil, fmt.Errorf("creating a test database: %w", err)
	}
	return c.urlOf(unique), func() error { return c.dropDatabase(unique) }, nil
}

func (c *Cluster) dropDatabase(name string) error {
	if err := c.admin.execute("DROP DATABASE IF EXISTS " + quoted(name) + " WITH (FORCE)"); err != nil {
		return fmt.Errorf("dropping a test database: %w", err)
	}
	return nil
}

// makeTemplate creates a database, has it migrated, and closes it to connections, because a database
// in use cannot be copied.
func (c *Cluster) makeTemplate(migrate func(url string) error) (name string, err error) {
	name = uniqueName("template")
	if err := c.admin.createDatabase(name, emptyDatabase); err != nil {
		return "", fmt.Errorf("creating the template database: %w", err)
	}
	if err := migrate(c.urlOf(name)); err != nil {
		return "", errors.Join(fmt.Errorf("migrating the template database: %w", err), c.dropDatabase(name))
	}
	if err := c.admin.execute(
		"ALTER DATABASE "+quoted(name)+" WITH ALLOW_CONNECTIONS false",
		"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '"+name+"'",
	); err != nil {
		return "", errors.Join(fmt.Errorf("closing the template database: %w", err), c.dropDatabase(name))
	}
	return name, nil
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

const (
	namePrefix  = "fallproof_"
	longestName = 63 // bytes; PostgreSQL cuts what is longer, and with it what makes the name unique
)

// uniqueName turns any text into the name of a database that needs no quoting and that nobody else has.
func uniqueName(text string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		default:
			return '_'
		}
	}, text)
	random := make([]byte, 6)
	_, _ = rand.Read(random) // documented never to fail
	suffix := "_" + hex.EncodeToString(random)
	return namePrefix + plain[:min(len(plain), longestName-len(namePrefix)-len(suffix))] + suffix
}
