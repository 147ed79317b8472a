package deployment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
)

// shipped is what users take over.
const shipped = "../../deploy/nginx"

// Where the configuration that is shipped differs from place to place.
const (
	shippedListen = "127.0.0.1:8000"
	shippedLog    = "/var/log/nginx/fallproof.log"
)

var shippedReplicas = []string{"127.0.0.1:8081", "127.0.0.1:8082", "127.0.0.1:8083"}

// workers are so many processes of nginx that share what they know.
const workers = 2

// mainConfiguration is the part that a distribution brings: it includes ours as Debian's does, and keeps
// every file below the prefix.
var mainConfiguration = fmt.Sprintf(`
worker_processes %d;
pid nginx.pid;
error_log stderr notice;
daemon off;
events { worker_connections 256; }
http {
	access_log off;
	client_body_temp_path body;
	proxy_temp_path proxy;
	fastcgi_temp_path fastcgi;
	uwsgi_temp_path uwsgi;
	scgi_temp_path scgi;
	include conf.d/*.conf;
}
`, workers)

// edit changes one text of a shipped file, which must be there.
type edit struct{ file, before, after string }

// balancer is an nginx of its own, with the shipped configuration.
type balancer struct {
	client
	folder   string
	replicas []string // addresses, each in place of a shipped one
	process  *exec.Cmd
	said     *gbytes.Buffer // the error log
	ended    chan error
}

// nginxProgram finds nginx, which stands outside the PATH of many users.
func nginxProgram() string {
	GinkgoHelper()
	for _, name := range []string{"nginx", "/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/local/bin/nginx", "/opt/homebrew/bin/nginx"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Fail("nginx is needed and not installed: install it (apt-get install nginx, dnf install nginx or brew install nginx)")
	return ""
}

// newBalancer lays the shipped files out with the log moved and these edits, and starts nothing.
func newBalancer(edits ...edit) *balancer {
	GinkgoHelper()
	b := &balancer{folder: GinkgoT().TempDir(), replicas: shippedReplicas}
	Expect(os.CopyFS(b.folder, os.DirFS(shipped))).To(Succeed())
	text := mainConfiguration
	if os.Geteuid() == 0 {
		text = "user root;" + text // else workers could not enter the folder
	}
	Expect(os.WriteFile(filepath.Join(b.folder, "nginx.conf"), []byte(text), 0o600)).To(Succeed())
	b.edit(edit{"fallproof/listen.conf", shippedLog, b.logFile()})
	b.edit(edits...)
	return b
}

// startBalancer runs nginx before three replicas, and returns when it answers.
func startBalancer(ctx context.Context, replicas []string, edits ...edit) *balancer {
	GinkgoHelper()
	b := newBalancer(edits...)
	b.place(replicas)
	socket := filepath.Join(b.folder, "socket") // no port that somebody else may take first
	b.edit(edit{"fallproof/listen.conf", shippedListen, "unix:" + socket})
	b.client = newClient("http://fallproof.example", socket)

	b.process = b.command()
	b.said = gbytes.NewBuffer()
	b.process.Stdout, b.process.Stderr = GinkgoWriter, io.MultiWriter(GinkgoWriter, b.said)
	// Not SIGKILL: the master would leave its workers behind.
	b.process.SysProcAttr = endsWithUs(syscall.SIGTERM)
	Expect(b.process.Start()).To(Succeed())
	b.ended = make(chan error, 1)
	go func() { b.ended <- b.process.Wait() }()
	DeferCleanup(b.stop)
	Eventually(func(ctx context.Context) (int, error) {
		got, err := b.call(ctx, http.MethodGet, "/problems/no-answer", "")
		return got.Status, err
	}).WithContext(ctx).WithTimeout(patience).WithPolling(poll).Should(Equal(http.StatusOK))
	return b
}

func (b *balancer) command(arguments ...string) *exec.Cmd {
	GinkgoHelper()
	arguments = append([]string{"-p", b.folder + "/", "-c", filepath.Join(b.folder, "nginx.conf")}, arguments...)
	return exec.CommandContext(context.Background(), nginxProgram(), arguments...) // it outlives the spec that starts it
}

func (b *balancer) stop() {
	GinkgoHelper()
	err := b.process.Process.Signal(syscall.SIGTERM)
	Expect(errors.Is(err, os.ErrProcessDone)).To(BeFalse(), "nginx ended by itself")
	Eventually(b.ended).WithTimeout(patience).Should(Receive(BeNil()))
}

// reload is what nginx -s reload does, and returns when the workers of before are gone: until then they accept requests
// as well, and hand them out by the files of before.
func (b *balancer) reload() {
	GinkgoHelper()
	gone := func() int { return bytes.Count(b.said.Contents(), []byte(" exited with code 0\n")) }
	before := gone()
	output, err := b.command("-s", "reload").CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s", output)
	Eventually(gone).WithTimeout(patience).WithPolling(poll).Should(Equal(before + workers))
}

// place puts replicas where the shipped ones stand, with the parameters that are shipped.
func (b *balancer) place(replicas []string) {
	GinkgoHelper()
	Expect(replicas).To(HaveLen(len(shippedReplicas)))
	for i, address := range replicas {
		b.edit(edit{"fallproof/replicas.conf", "server " + shippedReplicas[i] + " ", "server " + address + " "})
	}
	b.replicas = replicas
}

func (b *balancer) edit(edits ...edit) {
	GinkgoHelper()
	for _, e := range edits {
		at := filepath.Join(b.folder, e.file)
		content, err := os.ReadFile(at)
		Expect(err).NotTo(HaveOccurred())
		Expect(strings.Count(string(content), e.before)).To(Equal(1), "%q in %s", e.before, e.file)
		Expect(os.WriteFile(at, []byte(strings.Replace(string(content), e.before, e.after, 1)), 0o600)).To(Succeed())
	}
}
