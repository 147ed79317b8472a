package sqlite_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/service/store"
	"github.com/fallproof/fallproof/service/store/sqlite"
)

// TestTwoStoresWithEightWritersOnOneFile: nobody ever sees that the file was busy. Each store has
// connections of its own, as another process would; SQLite locks between connections, not processes.
func TestTwoStoresWithEightWritersOnOneFile(t *testing.T) {
	g := gomega.NewWithT(t)
	path := filepath.Join(t.TempDir(), "store.db")
	target := providers.Target{Provider: "alpha", Model: "large"}
	const writers, jobs = 8, 12
	var all sync.WaitGroup
	failures := make(chan error, 2*writers*jobs)
	for each := range 2 {
		opened, err := sqlite.Open(t.Context(), path)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		t.Cleanup(func() { g.Expect(opened.Close()).To(gomega.Succeed()) })
		for writer := range writers {
			all.Go(func() {
				for n := range jobs {
					id := fmt.Sprintf("%d-%d-%d", each, writer, n)
					failures <- createAndComplete(t, opened, target, id)
				}
			})
		}
	}
	all.Wait()
	close(failures)
	for err := range failures {
		g.Expect(err).NotTo(gomega.HaveOccurred())
	}
}

func createAndComplete(t *testing.T, s store.Store, target providers.Target, id string) error {
	made, err := s.CreateJob(t.Context(), store.CreateJob{
		Job: job.Job{
			ID: "job-" + id, Owner: "acme", IdempotencyKey: id, Fingerprint: id, Contract: "greeting", ContractDigest: "digest",
			Input: `{}`, Target: target, Plan: job.Plan{Primary: target, MaxAttempts: 1},
		},
		ContractContent: []byte(`{}`),
		Decision: store.Decision{Decide: func(store.View) store.Step {
			return store.Step{Attempt: &store.NewAttempt{
				ID: "att-" + id, IdempotencyKey: id, Role: job.RolePrimary, Target: target, BootID: "boot", Lease: time.Minute,
			}}
		}},
	})
	if err != nil {
		return err
	}
	_, err = s.Apply(t.Context(), store.Change{Ref: made.Attempt.Ref, Event: job.EventAnswer, Answer: &store.Answer{Result: `1`}})
	return err
}
