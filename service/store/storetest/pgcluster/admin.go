package pgcluster

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const statementLimit = time.Minute

// admin creates and drops databases over one connection, which it keeps: where tests are short, connecting
// anew for each would cost as much as they do.
type admin struct {
	url string

	mu         sync.Mutex
	connection *pgx.Conn
}

func (a *admin) createDatabase(name, template string) error {
	return a.do(func(ctx context.Context, connection *pgx.Conn) error {
		statement := "CREATE DATABASE " + quoted(name) + " TEMPLATE " + quoted(template)
		if serverVersion(connection) >= 15 {
			// What was the only way before 15, and without fsync is the faster one.
			statement += " STRATEGY file_copy"
		}
		_, err := connection.Exec(ctx, statement)
		return err
	})
}

func (a *admin) execute(statements ...string) error {
	return a.do(func(ctx context.Context, connection *pgx.Conn) error {
		for _, statement := range statements {
			if _, err := connection.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// do hands over a connection that works: the one that was kept may have died with the server that it led to.
func (a *admin) do(work func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), statementLimit)
	defer cancel()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.connection != nil && a.connection.Ping(ctx) != nil {
		_ = a.connection.Close(ctx)
		a.connection = nil
	}
	if a.connection == nil {
		connection, err := pgx.Connect(ctx, a.url)
		if err != nil {
			return err
		}
		a.connection = connection
	}
	return work(ctx, a.connection)
}

func (a *admin) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), statementLimit)
	defer cancel()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.connection == nil {
		return nil
	}
	connection := a.connection
	a.connection = nil
	if connection.IsClosed() {
		return nil
	}
	return connection.Close(ctx)
}

// serverVersion is the major version of the server; 0 where it reports none that can be read.
func serverVersion(connection *pgx.Conn) int {
	major, _, _ := strings.Cut(connection.PgConn().ParameterStatus("server_version"), ".")
	number, err := strconv.Atoi(major)
	if err != nil {
		return 0
	}
	return number
}
