package chaos

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// The defaults are the short run.
var (
	jobs = flag.Int("chaos.jobs", 120, "how many jobs to submit")
	over = flag.Duration("chaos.time", 12*time.Second, "over what time they are submitted, if nothing slows that down")
	seed = flag.Uint64("chaos.seed", 0, "the script of the run; 0 draws one, which is printed")
	keep = flag.String("chaos.keep", "", "a folder in which the replicas' configurations and logs stay")
	race = flag.Bool("chaos.race", false, "build the binary with the race detector")
)

// TestChaos is one run, and one spec for each promise that is judged after it.
func TestChaos(t *testing.T) {
	RegisterFailHandler(Fail)
	drawn := *seed
	if drawn == 0 {
		drawn = rand.Uint64N(1_000_000) + 1 // easily typed
	}
	again := fmt.Sprintf("seed %d: go test ./suites/chaos -count=1 -args -chaos.seed=%d -chaos.jobs=%d -chaos.time=%s", drawn, drawn, *jobs, *over)
	t.Log(again)
	story(&world{seed: drawn, jobs: *jobs, over: *over, again: again, book: newBook()})
	RunSpecs(t, "chaos")
}

// story is the run and its judgement. The checks go on after one that failed: together they say more.
func story(w *world) {
	Describe("chaos", Ordered, ContinueOnFailure, func() {
		BeforeAll(w.prepare)
		AfterAll(func() { w.book.print(w.again, w.past) })

		It("answers every client in the end, and comes to rest", func(ctx context.Context) {
			By("having jobs flow while everything goes wrong")
			w.suffer(ctx)
			By("having everything back")
			w.recover(ctx)
			By("coming to rest")
			w.drain(ctx)
			w.past = w.read(ctx)
		})
		It("has one job for each key, and loses none", func() { w.expect(oneJobForEachKey) })
		It("sends nothing that it does not know of, and nothing twice", func() { w.expect(sendsAreKnown) })
		It("never has two blocking attempts of a job", func() { w.expect(movesAreLegal) })
		It("goes nowhere but to the intended target without a standing proof", func() { w.expect(proofsStood) })
		It("has one winner for each job that succeeded, with what its provider sent", func() { w.expect(winnersAreTrue) })
		It("supersedes and logs every loser", func() { w.expect(losersAreLogged) })
		It("leaves nothing under way, and no doubt without a reason", func() { w.expect(nothingIsLeft) })
		It("derives each job's state from its attempts", func() { w.expect(statesAreDerived) })
		It("leaks nothing, panics nowhere and ends in order", w.endsInOrder)
	})
}
