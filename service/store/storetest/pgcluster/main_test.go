package pgcluster

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/onsi/gomega"
)

// roleVariable makes the test binary play a part in a test about the end of a process.
const roleVariable = "PGCLUSTER_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "":
		Main(m)
	case "hold a cluster":
		holdCluster()
	case "run one test":
		os.Exit(run(oneTest{}))
	}
}

// holdCluster prints where the shared cluster is, and then waits to be killed.
func holdCluster() {
	cluster, err := Shared()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(cluster.folder)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// oneTest stands for the tests of a package: it prints where its cluster is, and fails with a code of its own.
type oneTest struct{}

func (oneTest) Run() int {
	cluster, err := Shared()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(cluster.folder)
	return 3
}

// play starts this test binary in a role, in a process group of its own, and returns it with the folder that it prints.
func play(t *testing.T, role string) (process *exec.Cmd, folder string) {
	t.Helper()
	process = exec.CommandContext(t.Context(), os.Args[0])
	process.Env = append(os.Environ(), roleVariable+"="+role, URLVariable+"=")
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var trouble bytes.Buffer
	process.Stderr = &trouble
	_, err := process.StdinPipe() // held open: the role waits for its end
	if err != nil {
		t.Fatal(err)
	}
	output, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	folder = strings.TrimSpace(line)
	if err != nil || !strings.HasPrefix(folder, "/") {
		_ = process.Process.Kill()
		_ = process.Wait()
		t.Fatalf("role %q said %q (%v): %s", role, line, err, trouble.String())
	}
	return process, folder
}

// start is a cluster of a test's own.
func start(t *testing.T) *Cluster {
	t.Helper()
	cluster, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	connection, err := tryConnect(t, url)
	if err != nil {
		t.Fatal(err)
	}
	return connection
}

func tryConnect(t *testing.T, url string) (*pgx.Conn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	connection, err := pgx.Connect(ctx, url)
	if err == nil {
		t.Cleanup(func() { _ = connection.Close(context.Background()) }) // it may be broken by then, on purpose
	}
	return connection, err
}

func query[T any](t *testing.T, connection *pgx.Conn, statement string, arguments ...any) T {
	t.Helper()
	var value T
	if err := connection.QueryRow(t.Context(), statement, arguments...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return value
}

func execute(t *testing.T, connection *pgx.Conn, statement string) {
	t.Helper()
	if _, err := connection.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// databases counts the databases of a server whose names begin so.
func databases(t *testing.T, cluster *Cluster, prefix string) int {
	t.Helper()
	connection := connect(t, cluster.URL())
	defer func() { _ = connection.Close(t.Context()) }()
	return query[int](t, connection, "SELECT count(*) FROM pg_database WHERE starts_with(datname, $1)", prefix)
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func beGone(g gomega.Gomega, folder string, pid int) {
	g.Expect(folder).NotTo(gomega.BeAnExistingFile())
	g.Expect(alive(pid)).To(gomega.BeFalse(), "the server still runs")
}
