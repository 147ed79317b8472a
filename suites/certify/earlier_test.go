package certify_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/service/store"
	"github.com/fallproof/fallproof/suites/certify"
)

// concluded runs pairs under a name and returns what was concluded and printed.
func (w *world) concluded(name string, samples int, pairs ...certify.Pair) (certify.Result, string, error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	options := w.options()
	options.RunName, options.Samples, options.Pairs, options.Out = name, samples, pairs, &out
	options.JSON = filepath.Join(w.t.TempDir(), "records.json")
	result, err := certify.Conclude(ctx, options)
	if err == nil {
		document, err := os.ReadFile(options.JSON)
		NewWithT(w.t).Expect(err).NotTo(HaveOccurred())
		for _, e := range result.Remarks {
			NewWithT(w.t).Expect(string(document)).To(ContainSubstring(`"certification_id": "` + e.CertificationID + `"`))
		}
	}
	return result, out.String(), err
}

// A finished run is shown without a call, says so, and counts for what its record is worth now.
func TestFinishedRunIsShownForWhatItIsWorth(t *testing.T) {
	for _, row := range []struct {
		name     string
		meantime func(*WithT, *world, certify.Pair, certification.Record)
		why      string // "" = it still stands
	}{
		{"nothing happened", func(*WithT, *world, certify.Pair, certification.Record) {}, ""},
		{"revoked", func(g *WithT, w *world, _ certify.Pair, record certification.Record) {
			_, err := w.store.Revoke(w.t.Context(), record.ID, "a test", "somebody")
			g.Expect(err).NotTo(HaveOccurred())
		}, "revoked"},
		{"displaced", func(g *WithT, w *world, pair certify.Pair, _ certification.Record) {
			newer, _, err := w.concluded("tomorrow", 0, pair)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(newer.Remarks).To(BeEmpty())
		}, "displaced by record "},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, w := NewWithT(t), newWorld(t)
			pair := w.pair("support-triage", "faithful")
			first, text, err := w.concluded("tonight", 0, pair)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(first.ExitCode()).To(Equal(0))
			g.Expect(text).NotTo(ContainSubstring("was finished at"))
			row.meantime(g, w, pair, first.Records[0])
			before := len(w.simulator.Ledger())

			again, text, err := w.concluded("tonight", 0, pair)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(w.simulator.Ledger()).To(HaveLen(before), "nothing is called")
			g.Expect(again.Records).To(Equal(first.Records))
			g.Expect(text).To(ContainSubstring("the run was finished at " + first.Records[0].IssuedAt.UTC().Format(time.RFC3339) +
				"; nothing was called now, use another --run name for a new measurement"))
			if row.why == "" {
				g.Expect(again.ExitCode()).To(Equal(0))
				g.Expect(text).To(HaveSuffix("\n1 certified, 0 rejected, 0 inconclusive\n"))
				return
			}
			g.Expect(again.ExitCode()).To(Equal(3))
			g.Expect(text).To(ContainSubstring("does not count as certified: " + row.why))
			g.Expect(text).To(MatchRegexp(`sim/faithful +no longer certified\n`))
			g.Expect(text).To(HaveSuffix("\n0 certified, 0 rejected, 0 inconclusive, 1 no longer certified\n"))
		})
	}
}

// A record that does not count is not announced as if it did, by the run that writes it no more than by a later look at it.
func TestRecordThatDoesNotCountSaysSo(t *testing.T) {
	for _, row := range []struct {
		name      string
		meantime  func(*WithT, *world, certify.Pair) // after the run was opened
		accepted  []providers.Source
		exit      int
		said, sum string
	}{
		{"its run had begun before the proof was revoked", func(g *WithT, w *world, pair certify.Pair) {
			first, _, err := w.concluded("last night", 0, pair)
			g.Expect(err).NotTo(HaveOccurred())
			_, err = w.store.Revoke(w.t.Context(), first.Records[0].ID, "a test", "somebody")
			g.Expect(err).NotTo(HaveOccurred())
		}, nil, 3, `it does not count as certified: its run had begun before certification \S+ was revoked; only a run that begins after it ends that`,
			"0 certified, 0 rejected, 0 inconclusive, 1 no longer certified"},
		{"a live record counts", func(g *WithT, w *world, pair certify.Pair) {
			record, evidence := w.certify(pair, w.options())
			record.Source = providers.SourceLive
			_, _, err := w.store.FinishRun(w.t.Context(), evidence.Run.ID, record, time.Hour)
			g.Expect(err).NotTo(HaveOccurred())
		}, nil, 0, `it decides no fallback: record \S+ counts, which is live, and only a live record displaces that`,
			"1 certified, 0 rejected, 0 inconclusive"},
		{"its source is not accepted", func(*WithT, *world, certify.Pair) {}, []providers.Source{providers.SourceLive, providers.SourceReplay},
			0, `it opens no fallback: it is simulated, which server.accept_sources does not list`, "1 certified, 0 rejected, 0 inconclusive"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, w := NewWithT(t), newWorld(t)
			pair := w.pair("support-triage", "faithful")
			w.opened(pair, "tonight")
			row.meantime(g, w, pair)
			for range 2 {
				options := w.options()
				options.RunName, options.Pairs, options.AcceptSources = "tonight", []certify.Pair{pair}, row.accepted
				var out bytes.Buffer
				options.Out = &out
				folder := t.TempDir()
				for name, path := range map[string]*string{"run.json": &options.JSON, "run.xml": &options.JUnit, "run.html": &options.HTML, "run.md": &options.Markdown} {
					*path = filepath.Join(folder, name)
				}
				result, err := certify.Conclude(t.Context(), options)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(result.ExitCode()).To(Equal(row.exit))
				g.Expect(out.String()).To(MatchRegexp(row.said))
				g.Expect(out.String()).To(HaveSuffix("\n" + row.sum + "\n"))
				for _, path := range []string{options.JUnit, options.HTML, options.Markdown} {
					g.Expect(string(read(t, path))).To(MatchRegexp(row.said), path)
				}
				g.Expect(string(read(t, options.JSON))).To(MatchRegexp(`"outranked_by": "\S+"|its run had begun before|"not_accepted": "simulated"`))
			}
		})
	}
}

func TestExpiredRunIsNoProof(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	options := w.options()
	options.RunName = "tonight"
	pair := w.pair("support-triage", "faithful")
	record, evidence := w.certify(pair, options)
	_, _, err := w.store.FinishRun(t.Context(), evidence.Run.ID, record, -time.Second)
	g.Expect(err).NotTo(HaveOccurred())
	again, text, err := w.concluded("tonight", 0, pair)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.ExitCode()).To(Equal(3))
	g.Expect(text).To(ContainSubstring("certified: expired\n"))
}

// A run keeps to the number of samples that it was started with; another one is refused before any pair
// is called.
func TestOtherSamplesAreRefused(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	pair, other := w.pair("support-triage", "faithful"), w.pair("invoice-extraction", "faithful")
	_, _, err := w.concluded("tonight", 5, pair)
	g.Expect(err).NotTo(HaveOccurred())
	for asked, refused := range map[int]bool{3: true, 7: true, 5: false, 0: false} {
		pairs := []certify.Pair{pair}
		if refused {
			pairs = []certify.Pair{other, pair}
		}
		_, _, err := w.concluded("tonight", asked, pairs...)
		g.Expect(w.simulator.Ledger()).To(HaveLen(calls), "asked for %d", asked)
		if !refused {
			g.Expect(err).NotTo(HaveOccurred())
			continue
		}
		var samples *certify.SamplesError
		g.Expect(errors.As(err, &samples)).To(BeTrue(), "asked for %d: %v", asked, err)
		g.Expect(*samples).To(Equal(certify.SamplesError{Run: "tonight", Taken: 5, Asked: asked, Finished: true}))
	}

	// Unfinished: all is collected, and no record is written yet.
	options := w.options()
	options.RunName, options.Samples = "half", 3
	_, _ = w.certify(pair, options)
	_, _, err = w.concluded("half", 2, pair)
	g.Expect(err).To(MatchError(ContainSubstring(`run "half" has 3 samples a case already, and 2 are asked for`)))
	before := len(w.simulator.Ledger())
	_, _, err = w.concluded("half", 4, pair)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.simulator.Ledger()).To(HaveLen(before+8), "fewer than planned are resumed")
}

// A run that trouble ended has fewer samples than were planned, and is shown all the same.
func TestRunThatTroubleEndedIsShown(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	pair := w.pair("support-triage", "rate-limited")
	first, _, err := w.concluded("tonight", 5, pair)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(first.Inconclusive).To(Equal(1))
	again, text, err := w.concluded("tonight", 5, pair)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.Records).To(Equal(first.Records))
	g.Expect(text).To(ContainSubstring("nothing was called now"))
	g.Expect(text).NotTo(ContainSubstring("does not count"))
}

// hearing calls heard when the text is written.
type hearing struct {
	mu    sync.Mutex
	all   strings.Builder
	text  string
	heard func()
}

func (h *hearing) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if strings.Contains(string(p), h.text) {
		h.heard()
	}
	return h.all.Write(p)
}

// Whoever waits for another runner says so, once, and goes on when that one is done.
func TestWaitingForAnotherRunnerIsSaid(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	pair := w.pair("support-triage", "faithful")
	id := w.opened(pair, "tonight")
	held := store.SampleStep{RunID: id, Place: store.Place{Case: pair.Contract.Cases[2].Name, Index: 3}, By: "another", Lease: time.Hour}
	claimed, err := w.store.StepSamples(t.Context(), []store.SampleStep{held})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(claimed).To(Equal([]bool{true}))

	// The other runner answers only when it has been said that it is waited for.
	out := &hearing{text: "claimed by another runner", heard: func() {
		samples := w.stored(id)
		for _, s := range samples {
			if s.Case == held.Case && s.Index == 2 {
				held.Evidence = s.Evidence
				if done, err := w.store.StepSamples(t.Context(), []store.SampleStep{held}); err != nil || !done[0] {
					t.Errorf("the other runner's sample: %t, %v", done, err)
				}
			}
		}
	}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	options := w.options()
	options.RunName, options.Pairs, options.Out = "tonight", []certify.Pair{pair}, out
	_, err = certify.Conclude(ctx, options)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.simulator.Ledger()).To(HaveLen(calls - 1))
	g.Expect(strings.Count(out.all.String(), out.text)).To(Equal(1))
	g.Expect(out.all.String()).To(ContainSubstring("\n1 sample of support-triage at sim/faithful is claimed by another runner; " +
		"waiting for it, at most until its claim runs out (about 55s)\n"))
}

// An unfinished run is not taken up again when its answers are older than a record may be.
func TestAStaleRunIsNotTakenUp(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	pair, options := w.pair("support-triage", "faithful"), w.options()
	brief := *pair.Contract
	brief.ValidFor = time.Millisecond
	pair.Contract = &brief
	options.Pairs, options.RunName = []certify.Pair{pair}, "tonight"
	run, err := w.store.OpenRun(t.Context(), store.Run{
		ID: "run-before", Name: options.RunName, Contract: brief.Name, ProofDigest: brief.ProofDigest(pair.Target, pair.Profile), Target: pair.Target,
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() time.Duration { return time.Since(run.StartedAt) }).Should(BeNumerically(">", brief.ValidFor))
	_, err = certify.Conclude(t.Context(), options)
	var stale *certify.StaleError
	g.Expect(errors.As(err, &stale)).To(BeTrue(), "%v", err)
	g.Expect(stale.Error()).To(HaveSuffix("longer ago than valid_for 1ms: what it has would prove nothing any more; use another --run name"))
	g.Expect(w.simulator.Ledger()).To(BeEmpty(), "nobody is called")
}
