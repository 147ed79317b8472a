package chaos

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

const (
	patience = 20 * time.Second       // what nothing takes unless it is broken
	poll     = 100 * time.Millisecond // how often something is looked at
	again    = 200 * time.Millisecond // after which an ended replica is started again
)

// binary is the built program.
var binary string

// build makes the binary once.
func build(ctx context.Context, withRace bool) {
	GinkgoHelper()
	binary = filepath.Join(GinkgoT().TempDir(), "fallproof")
	args := []string{"build", "-buildvcs=false", "-o", binary}
	command := exec.CommandContext(ctx, "go", append(args, "github.com/fallproof/fallproof/cmd/fallproof")...)
	if withRace {
		command = exec.CommandContext(ctx, "go", append(args, "-race", "github.com/fallproof/fallproof/cmd/fallproof")...)
		command.Env = append(os.Environ(), "CGO_ENABLED=1")
	}
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s", output)
}

// program prepares a run of the binary in a folder that holds its configuration.
func program(folder string, args ...string) *exec.Cmd {
	command := exec.CommandContext(context.Background(), binary, args...) // it outlives the spec that starts it
	command.Dir = folder
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "DATABASE_URL") && !strings.HasPrefix(entry, "FALLPROOF_") {
			command.Env = append(command.Env, entry)
		}
	}
	command.SysProcAttr = endsWithUs()
	return command
}

// replica is one of the equal processes, which is started again whenever it ends, as any supervisor would.
type replica struct {
	name     string
	folder   string
	flags    []string // of serve
	database *path

	mu      sync.Mutex
	process *os.Process // nil while it is down
	url     string      // "" while it does not serve
	retired bool        // it is not started again
	lives   []*life
	over    chan struct{} // closed when it is not started again and has ended
}

// life is one run of a replica's process.
type life struct {
	log   string // path of its stderr
	exit  string
	ended time.Time
	ours  bool // whether we ended it
}

// supervise starts the replica, and again whenever it ends.
func (r *replica) supervise() {
	r.over = make(chan struct{})
	go func() {
		defer close(r.over)
		for r.live() {
			rest(context.Background(), again)
		}
	}()
	DeferCleanup(func() {
		r.retire(syscall.SIGKILL)
		<-r.over
	})
}

// live is one life, and says whether another is wanted.
func (r *replica) live() bool {
	r.mu.Lock()
	if r.retired {
		r.mu.Unlock()
		return false
	}
	each := &life{log: filepath.Join(r.folder, fmt.Sprintf("serve-%d.log", len(r.lives)+1))}
	r.lives = append(r.lives, each)
	command := program(r.folder, append([]string{"serve"}, r.flags...)...)
	stdout, err := r.begin(command, each)
	r.mu.Unlock()
	if err != nil {
		each.exit = err.Error()
		return true
	}
	r.listen(stdout)
	ended := command.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process, r.url = nil, ""
	each.exit, each.ended = fmt.Sprint(ended), time.Now()
	return !r.retired
}

// begin starts the process, with its log in a file. The caller holds the lock.
func (r *replica) begin(command *exec.Cmd, each *life) (io.Reader, error) {
	file, err := os.Create(each.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // the process has its own
	command.Stderr = file
	stdout, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err == nil {
		r.process = command.Process
	}
	return stdout, err
}

// listen reads the address from the first line, and the rest until the process ends.
func (r *replica) listen(stdout io.Reader) {
	lines := bufio.NewReader(stdout)
	line, err := lines.ReadString('\n')
	if _, rest, found := strings.Cut(line, "http://"); found && err == nil {
		r.mu.Lock()
		r.url = "http://" + strings.TrimSpace(rest)
		r.mu.Unlock()
	}
	_, _ = io.Copy(io.Discard, lines) // it ends with the process
}

// address is the replica's URL; "" while it does not serve.
func (r *replica) address() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.url
}

// signal sends a signal to the process, if there is one. ours says that it is to end of it.
func (r *replica) signal(which os.Signal, ours bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process == nil {
		return os.ErrProcessDone
	}
	if ours {
		r.lives[len(r.lives)-1].ours = true
	}
	return r.process.Signal(which)
}

// retire ends the replica for good.
func (r *replica) retire(how os.Signal) {
	r.mu.Lock()
	r.retired = true
	r.mu.Unlock()
	if err := r.signal(how, true); err != nil && !errors.Is(err, os.ErrProcessDone) {
		AddReportEntry(r.name, err.Error())
	}
}

// pid is the process's number; 0 while it is down.
func (r *replica) pid() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process == nil {
		return 0
	}
	return r.process.Pid
}

// ready waits until the replica may be sent work.
func (r *replica) ready(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(ctx context.Context) (int, error) {
		got, err := call(ctx, http.MethodGet, r.address()+"/readyz", "", nil)
		return got.status, err
	}).WithContext(ctx).WithTimeout(patience).WithPolling(poll).Should(Equal(http.StatusOK), func() string { return r.name + "\n" + r.lastWords() })
}

// lastWords is the end of the latest log.
func (r *replica) lastWords() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.lives) == 0 {
		return "never started"
	}
	latest := r.lives[len(r.lives)-1]
	text, err := os.ReadFile(latest.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return latest.exit + "\n" + strings.Join(lines[max(0, len(lines)-10):], "\n")
}

// takes says whether serve knows a flag.
func takes(folder, flag string) bool {
	return program(folder, "serve", flag, "1s", "--help").Run() == nil
}
