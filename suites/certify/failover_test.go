package certify_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers/simulator"
	"github.com/fallproof/fallproof/service/config"
	"github.com/fallproof/fallproof/service/dispatch"
	"github.com/fallproof/fallproof/service/job"
	"github.com/fallproof/fallproof/suites/certify"
)

// What failover sends is what was certified, byte for byte: the same input of the same contract at the same
// target, whether a certification asks or a job whose primary has failed.
func TestWhatFailoverSendsIsWhatWasCertified(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	cfg, err := config.Parse("fallproof.yaml", fmt.Appendf(nil, `
server: {accept_sources: [simulated]}
providers:
  down: {base_url: %[1]q, source: simulated, server_errors: failed, models: {large-overloaded: {}}}
  spare: {base_url: %[1]q, source: simulated, models: {small-faithful: {tokenizer: o200k_base, context_window: 128000, system_role: merge, max_tokens_field: max_tokens}}}
routes:
  support-triage: {primary: down/large-overloaded, fallbacks: [spare/small-faithful]}
`, w.simulator.BaseURL()), func(string) string { return "" })
	g.Expect(err).NotTo(HaveOccurred())
	pairs, release, err := certify.Pairs(cfg, certify.Selection{Provider: "spare"})
	g.Expect(err).NotTo(HaveOccurred())
	defer release()
	options := w.options()
	options.Pairs = pairs
	result, err := certify.Conclude(t.Context(), options)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.Certified).To(Equal(1))
	tested := pairs[0].Contract.Cases[3]
	certified := map[string]bool{}
	for _, entry := range w.simulator.Ledger() {
		certified[entry.Request] = true
	}

	w.simulator.ResetLedger()
	d, err := dispatch.New(dispatch.Options{Store: w.store, Config: cfg, Logger: slog.New(slog.DiscardHandler)})
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	g.Expect(d.Start(ctx)).To(Succeed())
	defer func() { g.Expect(d.Shutdown(ctx)).To(Succeed()) }()
	made, err := d.Submit(ctx, dispatch.Submission{
		Owner: "acme", IdempotencyKey: "a click", Contract: "support-triage",
		Input: tested.Input, InputText: string(value.Encode(tested.Input)),
	})
	g.Expect(err).NotTo(HaveOccurred())
	done, err := d.Wait(ctx, "acme", made.Job.ID)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(done.State).To(Equal(job.JobSucceeded))
	g.Expect(done.CompletedBy).To(Equal(2), "by the fallback")
	sent, err := w.simulator.WaitForRequests(ctx, 1, simulator.Filter{Model: "small-faithful"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sent).To(HaveLen(1))
	g.Expect(certified).To(HaveKey(sent[0].Request))
}
