package pgcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// errNoPooler is one line, as errNotInstalled is.
var errNoPooler = errors.New("PgBouncer is needed and not installed: install it (apt-get install pgbouncer, " +
	"dnf install pgbouncer or brew install pgbouncer)")

// The pooler ends with this process, by whatever death: see watchdogScript.
const poolerScript = `
"$0" "$1" >&2 &
cat >/dev/null
kill -KILL "$!"
wait "$!"
rm -rf "$2"
`

const poolerSettings = `[databases]
* = %s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 1000
max_db_connections = 20
`

// Pooler starts a real PgBouncer in transaction mode in front of the shared server, until the test ends, and
// returns what leads a database's URL through it.
func Pooler(tb testing.TB) (through func(url string) string) {
	tb.Helper()
	cluster, err := shared.open()
	if err != nil {
		tb.Fatal(err)
	}
	address, stop, err := cluster.startPooler()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(stop)
	return func(direct string) string {
		pooled, err := url.Parse(direct)
		if err != nil {
			tb.Fatal(err)
		}
		pooled.Host, pooled.RawQuery = address, "sslmode=disable"
		return pooled.String()
	}
}

func (c *Cluster) startPooler() (address string, stop func(), err error) {
	program, err := findPooler()
	if err != nil {
		return "", nil, err
	}
	as, err := serverAccount() // PgBouncer refuses to run as root, and the server's socket is its account's
	if err != nil {
		return "", nil, err
	}
	folder, err := newFolder(as)
	if err != nil {
		return "", nil, err
	}
	port, err := freePort()
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(folder))
	}
	settings := filepath.Join(folder, "pgbouncer.ini")
	if err := c.writePoolerSettings(settings, port, as); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(folder))
	}
	command := prepare(exec.CommandContext(context.Background(), "/bin/sh", "-c", poolerScript, program, settings, folder), as, folder)
	log := &poolerLog{}
	command.Stderr = log
	leash, err := command.StdinPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("starting PgBouncer: %w", err), os.RemoveAll(folder))
	}
	stop = func() {
		_ = leash.Close()
		_ = command.Wait() // it was killed, which is no news
		_ = os.RemoveAll(folder)
	}
	address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	if err := accepts(address); err != nil {
		stop()
		return "", nil, fmt.Errorf("PgBouncer does not accept connections: %w: %s", err, log.tail())
	}
	return address, stop, nil
}

// findPooler looks beyond the PATH of many users, as the server's package puts it beside daemons.
func findPooler() (string, error) {
	folders := append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin", "/usr/local/bin")
	for _, folder := range folders {
		if program := filepath.Join(folder, "pgbouncer"); isProgram(program) {
			return program, nil
		}
	}
	return "", errNoPooler
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}

// writePoolerSettings names the server as PgBouncer wants it: host, port, and whom to be there.
func (c *Cluster) writePoolerSettings(path string, port int, owner account) error {
	host, at := c.base.Hostname(), c.base.Port()
	if folder := c.base.Query().Get("host"); folder != "" {
		host = folder
	}
	if at == "" {
		at = "5432"
	}
	server := []string{"host=" + host, "port=" + at, "user=" + c.base.User.Username()}
	if password, ok := c.base.User.Password(); ok {
		server = append(server, "password='"+strings.ReplaceAll(password, "'", "''")+"'")
	}
	if err := os.WriteFile(path, fmt.Appendf(nil, poolerSettings, strings.Join(server, " "), port), 0o600); err != nil {
		return err
	}
	if owner == nil {
		return nil
	}
	return os.Chown(path, int(owner.Uid), int(owner.Gid))
}

// accepts waits until somebody listens at an address.
func accepts(address string) error {
	limit, tick := time.NewTimer(stopLimit), time.NewTicker(10*time.Millisecond)
	defer limit.Stop()
	defer tick.Stop()
	for {
		conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-tick.C:
		case <-limit.C:
			return err
		}
	}
}

// poolerLog keeps what PgBouncer says, for the reason of a failure.
type poolerLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *poolerLog) Write(piece []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text.Len() > keptLog {
		l.text.Reset()
	}
	return l.text.Write(piece)
}

func (l *poolerLog) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return lastLines(l.text.Bytes())
}
