package dispatch_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/service/dispatch"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store/sqlite"
)

// TestARestoredCopyGoesOn: a replica over a backup that was taken in the middle of work sends what had not
// been sent, and nothing that may have been.
func TestARestoredCopyGoesOn(t *testing.T) {
	paces := dispatch.Options{Lease: time.Second, Renew: 200 * time.Millisecond, Sweep: 50 * time.Millisecond}
	w := newWorld(t, settings{Concurrency: 1, Idle: true, Options: paces}) // nobody renews: it is gone when the copy is used
	won := w.submit()
	w.Expect(w.outcome(won).State).To(gomega.Equal(job.JobSucceeded))
	w.behave(alpha, "hold")
	running := w.submit()
	w.heard(alpha, 2)
	waiting := w.submit()
	w.Expect(waiting.Attempt.State).To(gomega.Equal(job.Starting))

	raw, err := sql.Open("sqlite", "file:"+w.file)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	t.Cleanup(func() { w.Expect(raw.Close()).To(gomega.Succeed()) })
	copied := filepath.Join(t.TempDir(), "copy.db")
	_, err = raw.ExecContext(w.ctx, "VACUUM INTO ?", copied)
	w.Expect(err).NotTo(gomega.HaveOccurred())

	original := w.store
	restored, err := sqlite.Open(w.ctx, copied)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	t.Cleanup(func() { w.Expect(restored.Close()).To(gomega.Succeed()) })
	w.store = restored
	w.behave(alpha, "faithful")
	w.d = w.replica(settings{Options: paces})
	lost := w.becomes(running.Attempt.Ref, job.Unknown)
	w.Expect(lost.Reason).To(gomega.Equal("worker_lost"))
	w.Expect(w.outcome(waiting).State).To(gomega.Equal(job.JobSucceeded))
	w.Expect(w.job(won).Result).To(gomega.Equal(w.outcome(won).Result))
	w.ledgerMatches(won, running, waiting)

	w.store = original // what the copy was made of still hears its own answer
	w.release(alpha)
	w.becomes(running.Attempt.Ref, job.Succeeded)
}
