package certify_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/cassettes"
	"github.com/fallproof/fallproof/providers/simulator"
	"github.com/fallproof/fallproof/service/store/sqlite"
	"github.com/fallproof/fallproof/suites/certify"
)

// unreachable fails the test of whoever calls it.
type unreachable struct{ t testing.TB }

func (u unreachable) Send(context.Context, providers.Request) providers.Exchange {
	u.t.Error("a replay called the provider")
	return providers.Exchange{Unbuildable: true}
}

// noting is a client that knows of every attempt before it is sent. What a provider sees later than that, such as a call
// that was hung up at once, is told apart by it from what nobody sent.
type noting struct {
	providers.Provider
	attempts *sync.Map
}

func (n noting) Send(ctx context.Context, request providers.Request) providers.Exchange {
	n.attempts.Store(request.AttemptID, true)
	return n.Provider.Send(ctx, request)
}

// replayed is the pair with nobody to call.
func replayed(t testing.TB, pair certify.Pair) certify.Pair {
	pair.Client = unreachable{t}
	return pair
}

// another is the world with a store of its own, as another machine has it.
func (w *world) another(t *testing.T) *world {
	t.Helper()
	kept, err := sqlite.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "another.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	})
	other := *w
	other.t, other.store = t, kept
	return &other
}

// conclude is a run with its records and cassettes.
func (w *world) conclude(options certify.Options, pairs ...certify.Pair) certify.Result {
	w.t.Helper()
	options.Pairs = pairs
	result, err := certify.Conclude(w.t.Context(), options)
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

// sameJudgement: all that a record says of the target is the same in both.
func sameJudgement(t *testing.T, g *WithT, got, want certification.Record) {
	for _, r := range []*certification.Record{&got, &want} {
		r.ID, r.RunID, r.RunName, r.Source = "", "", "", ""
		r.IssuedAt, r.ExpiresAt = time.Time{}, time.Time{}
		var others []certification.Finding
		for _, warning := range r.Warnings {
			if !strings.HasPrefix(warning.Reason, "replayed") && !strings.HasPrefix(warning.Reason, "recorded_") {
				others = append(others, warning)
			}
		}
		r.Warnings, r.Evidence = others, nil
	}
	g.Expect(string(jsonOf(t, got))).To(Equal(string(jsonOf(t, want))))
}

// Whatever a target did, its recording is judged as it was itself: same figures, same findings, same
// latencies; only worth less.
func TestAReplayIsJudgedAsItsRun(t *testing.T) {
	w := newWorld(t)
	var attempts sync.Map // of all first runs
	row := func(name string, pair certify.Pair, complete bool) {
		t.Run(name, func(t *testing.T) {
			g, folder := NewWithT(t), t.TempDir()
			options := w.options()
			options.Record, options.Complete = folder, complete
			pair.Client = noting{pair.Client, &attempts}
			first := w.in(t).conclude(options, pair)
			g.Expect(first.Records).To(HaveLen(1))

			options.Record, options.Replay = "", folder
			elsewhere := w.another(t)
			options.Store = elsewhere.store
			second := elsewhere.conclude(options, replayed(t, pair))
			g.Expect(second.Records).To(HaveLen(1))
			for _, seen := range w.simulator.Ledger() {
				_, sent := attempts.Load(seen.AttemptID)
				g.Expect(sent).To(BeTrue(), "nobody is called")
			}
			g.Expect(second.ExitCode()).To(Equal(first.ExitCode()))
			g.Expect(second.Records[0].Source).To(Equal(providers.SourceReplay))
			g.Expect(second.Records[0].Warnings).To(ContainElement(HaveField("Reason", "replayed")))
			g.Expect(second.Records[0].Warnings).To(ContainElement(HaveField("Reason", "recorded_simulated")))
			sameJudgement(t, g, second.Records[0], first.Records[0])
		})
	}
	keyed := w.pair("support-triage", "faithful") // a key in a prompt, and one in the address, are in no cassette
	prompted := fmt.Sprint(keyed.Contract.Cases[1].Input["message"])[:20]
	inPath := proxy{}.start(t, http.StripPrefix("/a-key-in-the-path", w.simulator.Simulator))
	row("keys in prompt and address", at(t, keyed, strings.Replace(inPath, "/v1", "/a-key-in-the-path/v1", 1), "", "a-key-in-the-path", prompted), true)
	for _, name := range providers.CacheHeaders { // else what a cache gave would be replayed as fresh
		row(name, w.through(t, w.pair("support-triage", "faithful"), proxy{header: http.Header{name: {"HIT"}}}), true)
	}
	for _, kind := range []simulator.Kind{ // one for each shape that an exchange can have
		simulator.Faithful, simulator.Plausible, simulator.Chatty, simulator.Truncating, simulator.Flaky, simulator.Silent, simulator.Dropping,
		simulator.HalfBody, simulator.RateLimited, simulator.Error200, simulator.Redirecting, simulator.Unauthorized, simulator.Looping,
		simulator.LoneSurrogate, simulator.RawNewline, simulator.Cached, simulator.Portal, simulator.Mute,
	} {
		pair := w.pair("support-triage", string(kind))
		pair.Timeout = 400 * time.Millisecond
		row(string(kind), pair, false)
	}
	row("complete", w.pair("support-triage", "plausible"), true)
	row("invoices", w.pair("invoice-extraction", "flaky"), false)
	for _, model := range []string{"hosted-faithful", "hosted-doubling", "hosted-obeying"} {
		pair := w.pair("support-triage", model)
		w.simulator.Host(model, llama.over(t, &pair))
		row(model, pair, false)
	}
	row("background responses", asResponses(w.pair("support-triage", "faithful")), false)
	stored := w.pair("support-triage", "faithful")
	stored.Profile.Reconcile = providers.ReconcileStoredCompletions
	row("stored completions", stored, false)
	again := w.through(t, stored, refuseFirst(t))
	row("stored completions, each sent again", again, false)
	unrenderable := w.pair("support-triage", "faithful")
	edited := *unrenderable.Contract
	edited.Cases = append([]contracts.Case{}, edited.Cases...)
	edited.Cases[2].Input, edited.Cases[2].Expected = map[string]any{}, nil
	unrenderable.Contract = &edited
	row("a case that cannot be rendered", unrenderable, true) // else nobody would be called
}

// refuseFirst refuses every call once.
func refuseFirst(t *testing.T) proxy {
	var mu sync.Mutex
	calls := 0
	return proxy{refuse: func(map[string]any) (int, string) {
		mu.Lock()
		defer mu.Unlock()
		if calls++; calls%9 == 1 {
			return 429, "slow down"
		}
		return 0, ""
	}}
}

// A cassette is whole though the run was cut, and one can be had of a run that was finished without it.
func TestRecordingIsOfTheRun(t *testing.T) {
	g, w, folder := NewWithT(t), newWorld(t), t.TempDir()
	options := w.options()
	options.RunName, options.Record, options.Complete = "tonight", folder, true
	pair := w.pair("support-triage", "faithful")
	path := cassettes.Path(folder, pair.Contract.Name, pair.Target.String())

	ctx, cancel := context.WithCancelCause(t.Context())
	cut := pair
	cut.Concurrency, cut.Client = 1, &interrupting{pair.Client, 10, cancel}
	options.Pairs = []certify.Pair{cut}
	_, err := certify.Conclude(ctx, options)
	g.Expect(err).To(MatchError(errInterrupted))
	g.Expect(path).NotTo(BeAnExistingFile(), "nothing that is not whole")

	w.conclude(options, pair)
	g.Expect(w.simulator.Ledger()).To(HaveLen(calls))
	whole, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(strings.Count(string(whole), "X-Fallproof-Sample:")).To(Equal(calls))

	g.Expect(os.Remove(path)).To(Succeed())
	w.conclude(options, pair)
	g.Expect(w.simulator.Ledger()).To(HaveLen(calls), "nothing is called for it")
	again, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(again)).To(Equal(string(whole)))
}

// What the recording says nothing about is inconclusive, with the reason and what to do.
func TestWhatWasNotRecorded(t *testing.T) {
	w := newWorld(t)
	recorded := t.TempDir()
	recording := w.options()
	recording.Record = recorded
	w.conclude(recording, w.pair("support-triage", "faithful"), w.pair("support-triage", "plausible"))
	record := func(t *testing.T) string {
		folder := t.TempDir()
		if err := os.CopyFS(folder, os.DirFS(recorded)); err != nil {
			t.Fatal(err)
		}
		return folder
	}
	change := func(edit func(*contracts.Contract)) func(*certify.Pair) {
		return func(pair *certify.Pair) {
			edited := *pair.Contract
			edited.Cases = append([]contracts.Case{}, edited.Cases...)
			edited.Messages = append([]providers.Message{}, edited.Messages...)
			edit(&edited)
			pair.Contract = &edited
		}
	}
	for _, row := range []struct {
		name         string
		change       func(*certify.Pair)
		samples      int
		edit         func(t *testing.T, path string)
		reason, told string
		count        int
		where        string
	}{
		{
			name: "another prompt", reason: "recorded_differently", told: "record again", where: "(canary)", count: 43,
			change: change(func(c *contracts.Contract) { c.Messages[0].Content += " " }),
		},
		{
			name: "another schema", reason: "recorded_differently", told: "the contract changed since it was recorded", where: "(canary)", count: 42,
			change: change(func(c *contracts.Contract) {
				c.Schema = []byte(strings.Replace(string(c.Schema), "ISO 639-1 code", "ISO 639-1", 1))
			}),
		},
		{
			name: "another limit", reason: "recorded_differently", told: "or the target's profile", where: "(canary)", count: 43,
			change: change(func(c *contracts.Contract) { c.Sampling.MaxOutputTokens++ }),
		},
		{
			name: "another profile", reason: "recorded_differently", told: "another request would be sent now", where: "(canary)", count: 43,
			change: func(p *certify.Pair) { p.Profile.Temperature = providers.TemperatureOmit },
		},
		{
			name: "another endpoint", reason: "recorded_differently", told: "record again", where: "(canary)", count: 43,
			change: func(p *certify.Pair) { p.Profile.BaseURL = "https://elsewhere.example/v1" },
		},
		{
			name: "another input", reason: "recorded_differently", told: "record again", where: "French, a business that stands still", count: 5,
			change: change(func(c *contracts.Contract) {
				c.Cases[3].Input = map[string]any{"message": "Bonjour, ticket 90417"}
			}),
		},
		{
			name: "more samples", samples: 6, reason: "not_recorded", told: "the cassette lacks this call", where: "charged twice", count: 8,
		},
		{
			name: "an interaction taken out", reason: "not_recorded", told: "record again", count: 1, where: "Hebrew, a charger that smokes",
			edit: func(t *testing.T, path string) {
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				entries := strings.Split(string(text), "    - id: ")
				kept := entries[:0:0]
				for _, entry := range entries {
					if !strings.Contains(entry, `"case":"Hebrew, a charger that smokes","sample":3`) {
						kept = append(kept, entry)
					}
				}
				if err := os.WriteFile(path, []byte(strings.Join(kept, "    - id: ")), 0o600); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "no cassette", reason: "not_recorded", told: "nothing was recorded of this contract at this target", count: 1,
			edit: func(t *testing.T, path string) {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, folder := NewWithT(t), record(t)
			pair := w.pair("support-triage", "faithful")
			if row.edit != nil {
				row.edit(t, cassettes.Path(folder, pair.Contract.Name, pair.Target.String()))
			}
			if row.change != nil {
				row.change(&pair)
			}
			options := w.options()
			options.Replay, options.Samples = folder, row.samples
			if strings.Contains(row.name, "taken out") {
				options.Complete = true // as the contract's threshold would do without that one
			}
			var out strings.Builder
			options.Out = &out
			result := w.in(t).conclude(options, replayed(t, pair))
			g.Expect(result.ExitCode()).To(Equal(3), out.String())
			record := result.Records[0]
			g.Expect(record.Verdict).To(Equal(certification.Inconclusive))
			g.Expect(record.Source).To(Equal(providers.SourceReplay))
			d := dimension(record, certification.DimensionPrompt)
			g.Expect(d.Findings).To(HaveLen(1))
			g.Expect(d.Findings[0].Reason).To(Equal(row.reason))
			g.Expect(d.Findings[0].Count).To(Equal(row.count))
			g.Expect(d.Findings[0].Detail).To(ContainSubstring(row.told))
			g.Expect(d.Findings[0].Case).To(Equal(row.where))
			g.Expect(out.String()).To(ContainSubstring(row.told), "people are told too")
			for _, d := range record.Dimensions {
				g.Expect(d.Status).To(Equal(certification.StatusNotJudged))
			}
		})
	}

	// The other pairs of the run are judged all the same, and a rejection among them decides the exit code.
	g := NewWithT(t)
	changed := w.pair("support-triage", "faithful")
	changed.Profile.Temperature = providers.TemperatureOmit
	options := w.options()
	options.Replay = record(t)
	result := w.conclude(options, replayed(t, changed), replayed(t, w.pair("support-triage", "plausible")))
	g.Expect([]int{result.Certified, result.Rejected, result.Inconclusive}).To(Equal([]int{0, 1, 1}))
	g.Expect(result.ExitCode()).To(Equal(1))
}

// What judges may change: recorded answers are judged by the checks and expectations of today.
func TestRecordedAnswersAreJudgedAnew(t *testing.T) {
	g, w, folder := NewWithT(t), newWorld(t), t.TempDir()
	options := w.options()
	options.Record = folder
	g.Expect(w.conclude(options, w.pair("support-triage", "faithful")).Certified).To(Equal(1))
	pair := w.pair("support-triage", "faithful")
	edited := *pair.Contract
	edited.Cases = slices.Clone(edited.Cases)
	for i, each := range edited.Cases {
		edited.Cases[i].Expected = maps.Clone(each.Expected)
		edited.Cases[i].Expected["language"] = "eo"
	}
	pair.Contract = &edited
	options.Record, options.Replay = "", folder
	record := w.conclude(options, replayed(t, pair)).Records[0]
	g.Expect(record.Verdict).To(Equal(certification.Rejected))
	g.Expect(reasonsOf(dimension(record, certification.DimensionBusiness))).To(ContainElement("category, urgency and language are the expected ones"))
}

// No configuration makes a replay live, and no run is partly one.
func TestAReplayIsNeverLive(t *testing.T) {
	g, w, folder := NewWithT(t), newWorld(t), t.TempDir()
	pair := w.pair("support-triage", "faithful")
	pair.Profile.Source, pair.LiveOnLoopback = providers.SourceLive, true
	options := w.options()
	options.Record, options.RunName = folder, "live"
	live := w.conclude(options, pair).Records[0]
	g.Expect(live.Source).To(Equal(providers.SourceLive))

	options.Record, options.Replay = "", folder
	options.Pairs = []certify.Pair{replayed(t, pair)}
	_, err := certify.Conclude(t.Context(), options)
	g.Expect(err).To(MatchError(ContainSubstring(`run "live" holds answers that the provider gave; replay recorded ones under another --run name`)))

	options.RunName = "replay"
	record := w.conclude(options, replayed(t, pair)).Records[0]
	g.Expect(record.Verdict).To(Equal(certification.Certified))
	g.Expect(record.Source).To(Equal(providers.SourceReplay))
	g.Expect(record.Warnings).NotTo(ContainElement(HaveField("Reason", "recorded_simulated")), "it was live, and allowed to be")
	standings, err := w.store.Standings(t.Context(), []certification.Key{{
		Contract: record.Contract, Target: record.Target, EffectiveDigest: record.EffectiveDigest,
		ProfileDigest: record.ProfileDigest, ProofDigest: record.ProofDigest,
	}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(standings[0].Proof.CertificationID).To(Equal(live.ID), "the live proof stands")

	options.Replay, options.Record = "", folder
	options.Pairs = []certify.Pair{pair}
	_, err = certify.Conclude(t.Context(), options)
	g.Expect(err).To(MatchError(ContainSubstring(`run "replay" is a replay of recorded answers`)))
}

// A replay that was cut is no live run that can be resumed; and if both went on at once, the record is a
// replay's.
func TestReplayedAndLiveDoNotMix(t *testing.T) {
	g, w, folder := NewWithT(t), newWorld(t), t.TempDir()
	pair := w.pair("support-triage", "faithful")
	pair.Profile.Source, pair.LiveOnLoopback = providers.SourceLive, true
	options := w.options()
	options.Record = folder
	w.conclude(options, pair)

	options.Record, options.Replay, options.RunName = "", folder, "cut"
	_, evidence := w.certify(replayed(t, pair), options) // collected and judged, never finished
	options.Replay = ""
	options.Pairs = []certify.Pair{pair}
	_, err := certify.Conclude(t.Context(), options)
	g.Expect(err).To(MatchError(ContainSubstring("is a replay of recorded answers")))
	samples := w.samples(evidence)
	g.Expect(samples).To(HaveLen(40))

	for i := range samples[1:] {
		samples[i+1].Replayed = ""
	}
	evidence.Canary.Replayed, evidence.Probe.Replayed, evidence.Free.Replayed, evidence.Options.Replay = "", "", "", ""
	mixed, err := certify.Judge(evidence.Resting(samples))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(mixed.Source).To(Equal(providers.SourceReplay), "one recorded answer is enough")
	samples[0].Replayed = ""
	heard, err := certify.Judge(evidence.Resting(samples))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(heard.Source).To(Equal(providers.SourceLive))
}

func TestReplayRefuses(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	options := w.options()
	options.Pairs = []certify.Pair{w.pair("support-triage", "faithful")}
	options.Replay = filepath.Join(t.TempDir(), "absent")
	_, err := certify.Conclude(t.Context(), options)
	g.Expect(err).To(MatchError(ContainSubstring("folder of cassettes")))
	options.Record = t.TempDir()
	_, err = certify.Conclude(t.Context(), options)
	g.Expect(err).To(MatchError(ContainSubstring("a replay cannot be recorded again")))
	options.Replay, options.Record, options.Out = "", filepath.Join(os.DevNull, "folder"), io.Discard
	_, err = certify.Run(t.Context(), options)
	g.Expect(err).To(MatchError(ContainSubstring("folder of cassettes")))
	g.Expect(w.simulator.Ledger()).To(BeEmpty())
}
