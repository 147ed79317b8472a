package postgres

import (
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"
)

// awayCodes are the SQLSTATEs of a server that is leaving, starting, full, or a standby after a failover.
// Class 08 is a connection's own trouble.
// Source: PostgreSQL documentation, appendix A, "PostgreSQL Error Codes".
var awayCodes = map[string]bool{
	"57P01": true, // admin_shutdown, also by pg_terminate_backend
	"57P02": true, // crash_shutdown
	"57P03": true, // cannot_connect_now
	"57P05": true, // idle_session_timeout
	"53300": true, // too_many_connections
	"25006": true, // read_only_sql_transaction
}

// isUnavailable tells the failure of a connection from what PostgreSQL, or the caller, said about a statement.
func isUnavailable(err error) bool {
	var said *pgconn.PgError
	if errors.As(err, &said) {
		return awayCodes[said.Code] || strings.HasPrefix(said.Code, "08")
	}
	var (
		refused *pgconn.ConnectError
		network net.Error
	)
	switch {
	case err == nil || pgconn.Timeout(err): // whose patience ended is told by the context
		return false
	case errors.As(err, &refused), errors.As(err, &network), pgconn.SafeToRetry(err):
		return true
	default:
		return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
			errors.Is(err, puddle.ErrClosedPool)
	}
}
