package certify_test

import (
	"strconv"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/value"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/suites/certify"
)

// What is forecast is what a whole run sends: so many calls, and about as many tokens as the provider counted.
func TestForecast(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	pair := w.pair("support-triage", "faithful")
	options := w.options()
	options.Complete, options.Samples = true, 2
	_, evidence := w.certify(pair, options)
	forecast, err := certify.ForecastOf(pair, 2)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.simulator.Ledger()).To(HaveLen(forecast.Calls))
	g.Expect(forecast.Calls).To(Equal(2*8 + 3))
	g.Expect(forecast.OutputTokens).To(Equal(forecast.Calls * 1024))
	g.Expect(forecast.Counted).To(BeTrue())
	sent := 0
	for _, call := range append(w.samples(evidence), *evidence.Canary, *evidence.Probe, *evidence.Free) {
		answer, err := value.Decode([]byte(call.Seen.Answer))
		g.Expect(err).NotTo(HaveOccurred())
		counted, _ := value.At(answer, "/usage/prompt_tokens")
		n, err := strconv.Atoi(counted.(value.Number).String())
		g.Expect(err).NotTo(HaveOccurred())
		sent += n
	}
	g.Expect(forecast.InputTokens).To(BeNumerically("~", sent, sent/20), "as the provider counts, but for the nonces")

	least, err := certify.ForecastLeast(pair, 29)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(least.Calls).To(Equal(29 + 3))
	whole, err := certify.ForecastOf(pair, 0)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(least.InputTokens).To(BeNumerically("<", whole.InputTokens))

	pair.Profile.Tokenizer, pair.Profile.StructuredOutput = providers.TokenizerNone, providers.StructuredNone
	unknown, err := certify.ForecastOf(pair, 1)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(unknown).To(Equal(certify.Forecast{Calls: 9, OutputTokens: 9 * 1024}), "no probes where no schema is sent")
}
