package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/user"
	"strings"

	"github.com/fallproof/fallproof/migrations"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/store"
	"github.com/fallproof/fallproof/service/store/postgres"
	"github.com/fallproof/fallproof/service/store/sqlite"
)

// load reads the configuration. Whatever is wrong with it, or with a contract folder, is exit 2.
func (p *program) load() (*config.Config, error) {
	c, err := config.Load(p.configPath, p.getenv)
	if err != nil {
		return nil, usage(err)
	}
	return c, nil
}

// openStore opens and migrates the store that the configuration names.
func openStore(ctx context.Context, c *config.Config) (store.Store, error) {
	opened, err := openURL(ctx, c.Store.URL)
	if err != nil {
		return nil, usage(errors.Join(errors.New("the store cannot be opened:"), err))
	}
	return opened, nil
}

func openURL(ctx context.Context, url string) (store.Store, error) {
	if isPostgres(url) {
		return postgres.Open(ctx, url)
	}
	return sqlite.Open(ctx, url)
}

// migrationStatus reads what was applied without applying anything.
func migrationStatus(ctx context.Context, url string) ([]migrations.Status, error) {
	if isPostgres(url) {
		return postgres.Status(ctx, url)
	}
	return sqlite.Status(ctx, url)
}

func isPostgres(url string) bool {
	return strings.HasPrefix(url, "postgres://") || strings.HasPrefix(url, "postgresql://")
}

// withStore runs a verb that needs configuration and store, and closes the store after it. check sees the
// configuration first: a request that cannot be served opens, migrates and creates nothing.
func (p *program) withStore(ctx context.Context, check func(*config.Config) error, do func(*config.Config, store.Store) error) (err error) {
	c, err := p.load()
	if err != nil {
		return err
	}
	if check != nil {
		if err := check(c); err != nil {
			return err
		}
	}
	opened, err := openStore(ctx, c)
	if err != nil {
		return err
	}
	defer closing(opened, &err)
	return do(c, opened)
}

func closing(closer io.Closer, err *error) {
	if closeErr := closer.Close(); closeErr != nil && *err == nil {
		*err = failed(closeErr)
	}
}

// operator names whoever runs this command, for records and histories.
func operator() (who, where string) {
	who = "unknown"
	if current, err := user.Current(); err == nil {
		who = current.Username
	}
	where, err := os.Hostname()
	if err != nil {
		where = "unknown"
	}
	return who, where
}
