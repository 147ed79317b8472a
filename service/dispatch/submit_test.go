package dispatch_test

import (
	"context"
	"sync"
	"testing"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/service/dispatch"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
)

func TestAJobSucceeds(t *testing.T) {
	w := newWorld(t, settings{})
	made := w.submit()
	w.Expect(made.Created).To(gomega.BeTrue())
	j := w.outcome(made)
	w.Expect(j.State).To(gomega.Equal(job.JobSucceeded))
	w.Expect(j.CompletedBy).To(gomega.Equal(1))
	w.Expect(j.Result).To(gomega.ContainSubstring(`"SO-48213"`))
	attempt := w.attempts(made)[0]
	w.Expect(attempt.State).To(gomega.Equal(job.Succeeded))
	w.Expect(attempt.Role).To(gomega.Equal(job.RolePrimary))
	w.Expect(attempt.Target).To(gomega.Equal(alpha))
	w.Expect(attempt.ServedModel).NotTo(gomega.BeEmpty())
	w.Expect(attempt.Usage.TotalTokens).To(gomega.BeNumerically(">", 0))
	w.Expect(attempt.Latency).To(gomega.BeNumerically(">", 0))
	w.Expect(attempt.BootID).To(gomega.Equal(w.d.BootID()))
	w.ledgerMatches(made)
}

func TestHundredClicksAreOneCall(t *testing.T) {
	w := newWorld(t, settings{})
	submission := w.submission()
	made := make([]store.Made, 100)
	var clicks sync.WaitGroup
	for i := range made {
		clicks.Go(func() {
			var err error
			made[i], err = w.d.Submit(w.ctx, submission)
			if err != nil {
				t.Error(err)
			}
		})
	}
	clicks.Wait()
	created := 0
	for _, each := range made {
		w.Expect(each.Job.ID).To(gomega.Equal(made[0].Job.ID))
		if each.Created {
			created++
		}
	}
	w.Expect(created).To(gomega.Equal(1))
	w.Expect(w.outcome(made[0]).State).To(gomega.Equal(job.JobSucceeded))
	w.Expect(w.attempts(made[0])).To(gomega.HaveLen(1))
	w.ledgerMatches(made[0])
}

func TestSameKeyOtherIntentConflicts(t *testing.T) {
	w := newWorld(t, settings{})
	submission := w.submission()
	made, err := w.d.Submit(w.ctx, submission)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	other := submission
	other.Input, other.InputText, other.Target = map[string]any{"message": "hi"}, `{"message": "hi"}`, beta.String()
	_, err = w.d.Submit(w.ctx, other)
	w.Expect(is[*store.KeyConflict](w, err).Pointers).To(gomega.Equal([]string{"/input/message", "/target"}))
	w.Expect(w.outcome(made).State).To(gomega.Equal(job.JobSucceeded))
	w.ledgerMatches(made)
}

// What was deployed between two clicks changes nothing about them.
func TestReplayOutlivesTheConfiguration(t *testing.T) {
	w := newWorld(t, settings{})
	submission := w.submission()
	submission.Target = alpha.String()
	made, err := w.d.Submit(w.ctx, submission)
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.outcome(made)

	delete(w.config.Providers, "alpha")
	for _, change := range []func(){func() {}, func() { w.config.Catalog = &contracts.Catalog{} }} {
		change()
		later := w.replica(settings{Idle: true})
		again, err := later.Submit(w.ctx, submission)
		w.Expect(err).NotTo(gomega.HaveOccurred())
		w.Expect(again.Created).To(gomega.BeFalse())
		w.Expect(again.Job.ID).To(gomega.Equal(made.Job.ID))
		other := submission
		other.Target = ""
		_, err = later.Submit(w.ctx, other)
		w.Expect(is[*store.KeyConflict](w, err).Pointers).To(gomega.Equal([]string{"/target"}))
	}
	w.ledgerMatches(made)
}

func TestRefusedSubmissionsStoreNothing(t *testing.T) {
	w := newWorld(t, settings{})
	rows := []struct {
		name   string
		change func(*dispatch.Submission)
		want   error
	}{
		{"unknown contract", func(s *dispatch.Submission) { s.Contract = "nope" }, &dispatch.UnknownContract{}},
		{"unknown target", func(s *dispatch.Submission) { s.Target = "alpha/nope" }, &dispatch.UnknownTarget{}},
		{"no target at all", func(s *dispatch.Submission) { s.Target = "nope" }, &dispatch.UnknownTarget{}},
		{"no route and no target", func(s *dispatch.Submission) { s.Contract = "invoice-extraction" }, &dispatch.UnknownTarget{}},
		{"input that does not render", func(s *dispatch.Submission) {
			s.Input, s.InputText = map[string]any{"massage": "x"}, `{"massage": "x"}`
		}, &dispatch.InvalidInput{}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			submission := w.submission()
			row.change(&submission)
			_, err := w.d.Submit(w.ctx, submission)
			g.Expect(err).To(gomega.BeAssignableToTypeOf(row.want))
			g.Expect(err.Error()).NotTo(gomega.BeEmpty())
			_, err = w.store.JobByKey(w.ctx, owner, submission.IdempotencyKey)
			g.Expect(err).To(gomega.MatchError(store.ErrNotFound))
		})
	}
	w.ledgerMatches()
}

func TestAJobGoesOnWithoutItsClient(t *testing.T) {
	w := newWorld(t, settings{})
	w.behave(alpha, "hold")
	client, leave := context.WithCancel(w.ctx)
	made, err := w.d.Submit(client, w.submission())
	w.Expect(err).NotTo(gomega.HaveOccurred())
	w.heard(alpha, 1)
	leave()
	j, err := w.d.Wait(client, owner, made.Job.ID)
	w.Expect(err).NotTo(gomega.HaveOccurred(), "whoever leaves is told how it stands")
	w.Expect(j.State).To(gomega.Equal(job.JobRunning))
	w.release(alpha)
	w.Expect(w.outcome(made).State).To(gomega.Equal(job.JobSucceeded))

	gone, leave := context.WithCancel(w.ctx)
	leave()
	w.behave(alpha, "faithful")
	made, err = w.d.Submit(gone, w.submission())
	w.Expect(err).NotTo(gomega.HaveOccurred(), "a client that is gone when its job is stored")
	w.Expect(w.outcome(made).State).To(gomega.Equal(job.JobSucceeded))
}
