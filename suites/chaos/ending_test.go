package chaos

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers/openai"
)

var (
	bootID = regexp.MustCompile(`boot_id=([0-9a-f-]{36})`)
	// alarms are what no log may hold.
	alarms = regexp.MustCompile(`(?i)\bpanic\b|DATA RACE|goroutine leak|fatal error|concurrent map`)
	// complaint is what a replica says last that ends by itself.
	complaint = regexp.MustCompile(`^fallproof: .`)
	goroutine = regexp.MustCompile(`(?m)^goroutine \d+ `)
)

// homes says on which replica each boot id was.
func (w *world) homes() map[string]string {
	found := map[string]string{}
	for _, r := range w.replicas {
		for _, text := range r.logs() {
			for _, match := range bootID.FindAllStringSubmatch(text, -1) {
				found[match[1]] = r.name
			}
		}
	}
	return found
}

// logs are what the replica's processes wrote, in order.
func (r *replica) logs() []string {
	GinkgoHelper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var texts []string
	for _, each := range r.lives {
		text, err := os.ReadFile(each.log)
		Expect(err).NotTo(HaveOccurred())
		texts = append(texts, string(text))
	}
	return texts
}

// dump ends the replica's process with a dump of its goroutines, and counts them.
func (r *replica) dump() int {
	GinkgoHelper()
	r.retire(syscall.SIGQUIT)
	Eventually(r.over).WithTimeout(patience).Should(BeClosed())
	texts := r.logs()
	return len(goroutine.FindAllString(texts[len(texts)-1], -1))
}

// endsInOrder looks at what the replicas hold when all is done, and ends them: one with a dump of its
// goroutines, the others as an operator would.
func (w *world) endsInOrder(ctx context.Context) {
	By("having no connections but those of the pools")
	most := max(8, 6*runtime.GOMAXPROCS(0)) + 2 // what the store opens, and those that only listen
	// A question that a provider left without an answer ends by its own limit, whatever became of the doubt.
	Eventually(w.provider.open.Load).WithTimeout(openai.DefaultLookTimeout+patience).WithPolling(poll).Should(BeZero(), "connections to providers")
	clients.CloseIdleConnections()
	Eventually(func(g Gomega, ctx context.Context) {
		var backends int
		g.Expect(w.db.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'fallproof'`).Scan(&backends)).To(Succeed())
		g.Expect(backends).To(BeNumerically("<=", replicas*most))
		for _, r := range w.replicas {
			files, err := filesOf(r.pid())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(files).To(BeNumerically("<=", w.idle.files+most), r.name)
		}
	}).WithContext(ctx).WithTimeout(patience).WithPolling(poll).Should(Succeed(), w.again)

	By("having said nothing alarming, and ended only where there is a reason")
	for _, r := range w.replicas {
		for i, text := range r.logs() {
			Expect(alarms.FindString(text)).To(BeEmpty(), "%s of %s\n%s", r.lives[i].log, r.name, around(text))
		}
		Expect(r.unexplained(w.book.troubled)).To(BeEmpty(), w.again)
	}

	By("holding little more than a replica that had nothing to do")
	first := w.measure(ctx, w.replicas[0])
	w.book.count("goroutines of an untouched replica", w.idle.goroutines)
	w.book.count("goroutines of a replica after the run", first.goroutines)
	Expect(first.goroutines).To(BeNumerically("<=", w.idle.goroutines+2*most), w.again)

	By("ending when asked to")
	for _, r := range w.replicas[1:] {
		r.retire(syscall.SIGTERM)
		Eventually(r.over).WithTimeout(patience).Should(BeClosed(), r.name)
		Expect(r.lives[len(r.lives)-1].exit).To(Equal("<nil>"), "%s\n%s", r.name, r.lastWords())
	}
}

// unexplained are the lives that ended although nobody ended them, without saying why in one line, or while
// nothing was wrong with the database or the way to it.
func (r *replica) unexplained(troubled func(from, to time.Time, where ...string) bool) (found []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, each := range r.lives[:len(r.lives)-1] {
		text, err := os.ReadFile(each.log)
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		last := lines[len(lines)-1]
		explained := complaint.MatchString(last) && troubled(each.ended.Add(-patience), each.ended, "database", r.name)
		if err != nil || !each.ours && !explained {
			found = append(found, fmt.Sprintf("%s ended (%s): %s", each.log, each.exit, last))
		}
	}
	return found
}

// around is what stands next to the first alarm of a log.
func around(text string) string {
	at := alarms.FindStringIndex(text)
	if at == nil {
		return ""
	}
	return text[max(0, at[0]-500):min(len(text), at[1]+2000)]
}
