package dispatch_test

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers/simulator"
	"github.com/fallproof/fallproof/service/job"
)

// A proof that is revoked while a fallback waits for its slot stops the fallback: it is never sent.
func TestAFallbackWhoseProofIsRevokedWhileItWaitsIsNotSent(t *testing.T) {
	w := newWorld(t, settings{})
	w.certify(beta)
	w.behave(beta, "hold")
	w.behave(alpha, "unauthorized")
	first := w.submit() // takes beta's only slot
	w.heard(beta, 1)
	second := w.submit()
	waits := w.until(job.Ref{Owner: owner, JobID: second.Job.ID, Number: 2}, func(job.Attempt) bool { return true })
	w.Expect(waits.State).To(gomega.Equal(job.Starting))
	_, err := w.store.Revoke(w.ctx, waits.CertificationID, "drill", "ann")
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.sim.Release(simulator.Filter{Model: beta.Model})

	ended := w.becomes(waits.Ref, job.Failed)
	w.Expect(ended.Reason).To(gomega.Equal("not_certified"))
	w.Expect(ended.Sends).To(gomega.BeZero())
	w.Expect(w.outcome(second).State).To(gomega.Equal(job.JobFailed))
	w.Expect(w.outcome(first).State).To(gomega.Equal(job.JobSucceeded), "what was sent before may still win")
	w.ledgerMatches(first, second)
}
