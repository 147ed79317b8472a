package certify_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/contracts"
	"github.com/fallproof/fallproof/contracts/certification"
	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/secrets"
	"github.com/fallproof/fallproof/providers/simulator"
	"github.com/fallproof/fallproof/suites/certify"
)

// hosting is a model with a chat template of its own.
type hosting struct {
	template string // a file of the package that renders them
	bos, eos string
	role     string // system where empty
}

var (
	llama   = hosting{template: "llama3", bos: "<|begin_of_text|>", eos: "<|eot_id|>"}
	chatml  = hosting{template: "chatml", eos: "<|im_end|>"}
	mistral = hosting{template: "mistral", bos: "<s>", eos: "</s>", role: providers.RoleMerge}
	gemma   = hosting{template: "gemma", bos: "<bos>", eos: "<eos>", role: providers.RoleMerge}
)

func (h hosting) profile(t testing.TB) func(*providers.Profile) {
	t.Helper()
	text, err := os.ReadFile("../../providers/chattemplate/testdata/" + h.template + ".jinja")
	if err != nil {
		t.Fatal(err)
	}
	return func(p *providers.Profile) {
		p.ChatTemplate, p.BOSToken, p.EOSToken = providers.NewFile(h.template+".jinja", string(text)), h.bos, h.eos
		if h.role != "" {
			p.SystemRole = h.role
		}
	}
}

// server is how such a model is served, with the tokenizer that pairs declare.
func (h hosting) server(t testing.TB) providers.Profile {
	t.Helper()
	there := providers.Profile{Tokenizer: providers.TokenizerO200K}.WithDefaults()
	h.profile(t)(&there)
	return there
}

// over lets a pair be of such a model, whose server can be asked, and returns how it is to be served.
func (h hosting) over(t testing.TB, pair *certify.Pair) providers.Profile {
	t.Helper()
	h.profile(t)(&pair.Profile)
	pair.Profile.Native = providers.NativeLlamaCpp
	return h.server(t)
}

// served is a row whose model is hosted as its profile says, but for what differs on the server.
type served struct {
	expectation
	name    string
	hosted  hosting
	declare func(*providers.Profile)
	differs func(*providers.Profile)
}

func (x served) run(t *testing.T) {
	t.Helper()
	w := newWorld(t)
	there := x.hosted.server(t)
	if x.differs != nil {
		x.differs(&there)
	}
	w.simulator.Host("", there)
	x.profile = func(p *providers.Profile) {
		x.hosted.profile(t)(p)
		if x.declare != nil {
			x.declare(p)
		}
	}
	x.contract = "support-triage"
	x.check(t, w, x.pair(w))
}

func native(which string) func(*providers.Profile) {
	return func(p *providers.Profile) { p.Native = which }
}

var everything = statuses{passed, passed, passed, passed}

func rejected(reason string) expectation {
	return expectation{
		verdict: certification.Rejected, statuses: statuses{failed, passed, passed, passed},
		dimension: certification.DimensionPrompt, reason: reason,
	}
}

func (x expectation) of(model string) expectation {
	x.model = model
	return x
}

// Models of four families are certified through their templates, and each thing that a server can get wrong
// about a prompt has its own word.
func TestSelfHostedModels(t *testing.T) {
	certified := expectation{model: "faithful", verdict: certification.Certified, statuses: everything}
	none := func(p *providers.Profile) { p.Tokenizer = providers.TokenizerNone }
	for _, row := range []served{
		{name: "Llama 3", expectation: certified, hosted: llama, declare: native(providers.NativeLlamaCpp)},
		{name: "ChatML", expectation: certified, hosted: chatml, declare: native(providers.NativeVLLM)},
		{name: "Mistral", expectation: certified, hosted: mistral, declare: native(providers.NativeLlamaCpp)},
		{name: "Gemma", expectation: certified, hosted: gemma, declare: native(providers.NativeVLLM)},
		{name: "not asked", expectation: certified, hosted: gemma},
		{name: "no tokenizer", expectation: certified, hosted: llama, declare: none},
		{
			name: "BOS from the template and the server", hosted: llama, expectation: rejected("double_bos").of("faithful"),
			declare: func(p *providers.Profile) { p.AddBOS = true },
			differs: func(p *providers.Profile) { p.AddBOS = true },
		},
		{
			name: "BOS from nobody", hosted: chatml, expectation: rejected("missing_bos").of("faithful"),
			declare: func(p *providers.Profile) { p.BOSToken = "<|endoftext|>" },
		},
		{name: "doubled by llama.cpp", hosted: llama, declare: native(providers.NativeLlamaCpp), expectation: rejected("double_bos").of("doubling")},
		{name: "doubled by vLLM", hosted: mistral, declare: native(providers.NativeVLLM), expectation: rejected("double_bos").of("doubling")},
		{name: "renders something else", hosted: llama, declare: native(providers.NativeLlamaCpp), expectation: rejected("rendering_differs").of("rewriting")},
		{
			name: "another template", hosted: llama, declare: native(providers.NativeLlamaCpp), expectation: rejected("rendering_differs").of("faithful"),
			differs: func(p *providers.Profile) { chatml.profile(t)(p) },
		},
		{name: "counts three times", hosted: chatml, expectation: rejected("token_count_differs").of("counting")},
		{name: "says that it counts three times", hosted: chatml, declare: native(providers.NativeVLLM), expectation: rejected("server_count_differs").of("counting")},
		{name: "obeys control tokens", hosted: chatml, expectation: rejected("control_tokens_obeyed").of("obeying")},
		{name: "takes them for tokens", hosted: llama, expectation: rejected("control_tokens_obeyed").of("concatenating")},
		{name: "takes them for tokens, and nobody counts", hosted: mistral, declare: none, expectation: rejected("control_tokens_obeyed").of("concatenating")},
		{
			name: "gets none", hosted: llama, expectation: certified.of("concatenating"),
			declare: func(p *providers.Profile) {
				p.ControlTokens, p.Breaks = providers.ControlTokensBreak, "<|start_header_id|>\n<|begin_of_text|>\n<|end_header_id|>\n<|eot_id|>"
			},
		},
		{
			name: "does not answer questions", hosted: chatml, declare: native(providers.NativeVLLM), expectation: certified,
			differs: func(p *providers.Profile) { p.ChatTemplate = providers.File{} },
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.run(t)
		})
	}
}

// What a lost call alone would have shown stays unseen, and certifies and rejects nobody, whatever the contract
// requires.
func TestLostCallsLeaveThePromptUnjudged(t *testing.T) {
	control := func(request map[string]any) bool {
		return strings.Count(fmt.Sprint(request["messages"]), "<|im_end|>") > 10
	}
	question := func(request map[string]any) bool { return request["temperature"] == nil }
	for _, row := range []struct {
		name   string
		lost   func(request map[string]any) bool
		status int
		body   string
		reason string
		cause  string
	}{
		{name: "control tokens", lost: control, status: 500, reason: "control_tokens_unanswered", cause: "server_error"},
		{name: "control tokens, rejected", lost: control, status: 400, reason: "control_tokens_unanswered", cause: "rejected"},
		{
			name: "control tokens, filtered", lost: control, status: 400, body: `{"error":{"code":"content_filter","message":"filtered"}}`,
			reason: "control_tokens_unanswered", cause: "refused",
		},
		{name: "control tokens, a page", lost: control, status: 200, body: "<html></html>", reason: "control_tokens_unanswered", cause: "malformed"},
		{
			name: "control tokens, no count", lost: control, status: 200, reason: "control_tokens_unanswered", cause: "uncounted",
			body: `{"choices":[{"message":{"role":"assistant","content":"{}"},"finish_reason":"stop"}]}`,
		},
		{name: "questions", lost: question, status: 500, reason: "server_unanswered", cause: "server_error"},
		{name: "questions, throttled", lost: question, status: 429, reason: "server_unanswered", cause: "rate_limited"},
		{name: "questions, unauthorized", lost: question, status: 401, reason: "server_unanswered", cause: "unauthorized"},
		{name: "questions, a redirect", lost: question, status: 302, reason: "server_unanswered", cause: "redirect"},
		{name: "questions, no content", lost: question, status: 204, reason: "server_unanswered", cause: "malformed"},
		{name: "questions, nothing", lost: question, status: 200, reason: "server_unanswered", cause: "malformed"},
		{name: "questions, an error under 200", lost: question, status: 200, body: `{"detail":"busy"}`, reason: "server_unanswered", cause: "malformed"},
		{
			name: "questions, filtered", lost: question, status: 400, body: `{"error":{"code":"content_filter"}}`,
			reason: "server_unanswered", cause: "refused",
		},
		{name: "questions, a page", lost: question, status: 503, body: "<html></html>", reason: "server_unanswered", cause: "server_error"},
	} {
		for _, require := range []string{"", contracts.RequireTokens} {
			t.Run(row.name+" "+require, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				gateway := proxy{instead: func(request map[string]any) (int, string) {
					if row.lost(request) {
						return row.status, row.body
					}
					return 0, ""
				}}
				x := expectation{
					contract: "support-triage", model: "obeying", require: require, verdict: certification.Inconclusive,
					statuses: statuses{notJudged, passed, passed, passed}, dimension: certification.DimensionPrompt, reason: row.reason,
				}
				if row.reason == "server_unanswered" {
					x.model = "faithful"
				}
				x.profile = chatml.profile(t)
				pair := x.pair(w)
				w.simulator.Host("", chatml.over(t, &pair))
				record := x.check(t, w, at(t, pair, gateway.start(t, w.simulator.Simulator), ""))
				NewWithT(t).Expect(dimension(record, certification.DimensionPrompt).Findings).To(ContainElement(
					And(HaveField("Reason", row.reason), HaveField("Cause", row.cause))))
			})
		}
	}
}

// Where a provider counts prompts, losing the one count that others are compared with certifies nobody.
func TestLostCountsLeaveThePromptUnjudged(t *testing.T) {
	for _, model := range []string{"obeying", "faithful"} {
		t.Run(model, func(t *testing.T) {
			w := newWorld(t)
			x := expectation{
				contract: "support-triage", model: model, verdict: certification.Inconclusive,
				statuses: statuses{notJudged, passed, passed, passed}, dimension: certification.DimensionPrompt, reason: "control_tokens_unanswered",
			}
			x.profile = chatml.profile(t)
			pair := x.pair(w)
			w.simulator.Host("", chatml.over(t, &pair))
			first := fmt.Sprint(pair.Contract.Cases[0].Input["message"])
			uncounted := proxy{without: func(request map[string]any) string {
				if text := fmt.Sprint(request["messages"]); strings.Contains(text, first) && strings.Count(text, "<|im_end|>") < 10 {
					return "usage"
				}
				return ""
			}}
			record := x.check(t, w, at(t, pair, uncounted.start(t, w.simulator.Simulator), ""))
			NewWithT(t).Expect(dimension(record, certification.DimensionPrompt).Findings).To(ContainElement(And(
				HaveField("Cause", "uncounted"), HaveField("Detail", ContainSubstring(pair.Contract.Cases[0].Name)))))
		})
	}
}

// A server that does not know the questions says so by its status, whatever else it says.
func TestQuestionsThatAServerDoesNotKnow(t *testing.T) {
	for status, body := range map[int]string{404: "<html><title>404 Not Found</title></html>", 405: "", 501: `{"error":{"code":501,"message":"This server does not support it"}}`} {
		for _, require := range []string{"", contracts.RequireTokens} {
			t.Run(fmt.Sprint(status, " ", require), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				x := expectation{
					contract: "support-triage", model: "faithful", require: require, verdict: certification.Certified,
					statuses: everything, dimension: certification.DimensionPrompt, reason: "not_verified",
				}
				if require != "" {
					x.verdict, x.statuses.prompt = certification.Rejected, failed
				}
				x.profile = chatml.profile(t)
				pair := x.pair(w)
				w.simulator.Host("", chatml.over(t, &pair))
				unknowing := proxy{instead: func(request map[string]any) (int, string) {
					if request["temperature"] == nil {
						return status, body
					}
					return 0, ""
				}}
				x.check(t, w, at(t, pair, unknowing.start(t, w.simulator.Simulator), ""))
			})
		}
	}
}

// A template without a system role refuses the messages before they are sent, and so does its server.
func TestTemplateWithoutASystemRole(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	unmerged := gemma
	unmerged.role = ""
	there := providers.Profile{Tokenizer: providers.TokenizerO200K}
	unmerged.profile(t)(&there)
	w.simulator.Host("", there)
	pair := w.pair("support-triage", "faithful")
	unmerged.profile(t)(&pair.Profile)
	options := w.options()
	options.Complete = true // else nobody would be asked what is certain anyway
	record, _ := w.certify(pair, options)
	g.Expect(record.Verdict).To(Equal(certification.Rejected))
	refused := dimension(record, certification.DimensionPrompt)
	g.Expect(refused.Status).To(Equal(failed))
	g.Expect(refused.Findings).To(ContainElement(And(
		HaveField("Reason", "role_not_accepted"), HaveField("Detail", "the template refuses the messages: System role not supported; with system_role: merge it takes them"))))
	g.Expect(reasonsOf(dimension(record, certification.DimensionRoundTrip))).To(ContainElement("profile_error"))
}

// What the table above cannot say in one word: findings tell both sides.
func TestFindingsTellBothSides(t *testing.T) {
	g := NewWithT(t)
	finding := func(record certification.Record, reason string) string {
		for _, f := range dimension(record, certification.DimensionPrompt).Findings {
			if f.Reason == reason {
				return f.Detail
			}
		}
		return ""
	}
	w := newWorld(t)
	there := providers.Profile{Tokenizer: providers.TokenizerO200K}
	llama.profile(t)(&there)
	w.simulator.Host("", there)
	pair := func(model string) certify.Pair {
		p := w.pair("support-triage", model)
		llama.profile(t)(&p.Profile)
		p.Profile.Native = providers.NativeLlamaCpp
		return p
	}
	record, _ := w.certify(pair("counting"), w.options())
	g.Expect(finding(record, "token_count_differs")).To(MatchRegexp(`^the provider counts \d+ prompt tokens, o200k_base counts \d+$`))
	g.Expect(finding(record, "server_count_differs")).To(MatchRegexp(`^the server counts \d+ tokens of the prompt, o200k_base counts \d+$`))
	record, _ = w.certify(pair("rewriting"), w.options())
	g.Expect(finding(record, "rendering_differs")).To(MatchRegexp(`^from byte \d+ on the server's prompt is "Today is a fine day\. .*", ours is "`))
	record, _ = w.certify(pair("concatenating"), w.options())
	g.Expect(finding(record, "control_tokens_obeyed")).To(MatchRegexp(
		`^<\|begin_of_text\|> .* typed by a user: the prompt has \d+ tokens more .* as text it would be about \d+, as control tokens \d+ \(control_tokens: break`))

	// A wider tolerance is declared, and then no finding.
	wide := pair("counting:2")
	wide.Profile.TokenTolerance = 1
	record, _ = w.certify(wide, w.options())
	g.Expect(finding(record, "token_count_differs")).To(BeEmpty())
}

// Questions are asked once a case, whoever runs, and no sample's ledger counts them.
func TestQuestionsAreAskedOnce(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	pair := w.pair("support-triage", "faithful")
	w.simulator.Host("", llama.over(t, &pair))
	forecast, err := certify.ForecastOf(pair, 0)
	g.Expect(err).NotTo(HaveOccurred())
	options := w.options()
	options.RunName, options.Complete = "once", true
	_, evidence := w.certify(pair, options)
	asked := w.simulator.Questions(simulator.Filter{Model: "faithful"})
	g.Expect(asked).To(HaveLen(1 + 3*len(pair.Contract.Cases)))
	calls := len(w.simulator.Ledger())
	g.Expect(calls).To(Equal(len(w.samples(evidence)) + 4)) // canary, two probes of the schema, control tokens
	g.Expect(forecast.Calls).To(Equal(calls), "questions are not paid for")

	again, _ := w.certify(pair, options)
	g.Expect(again.Verdict).To(Equal(certification.Certified))
	g.Expect(w.simulator.Questions(simulator.Filter{})).To(HaveLen(len(asked)))
	g.Expect(w.simulator.Ledger()).To(HaveLen(calls))
}

// Without a tokenizer the token checks are neither passed nor failed, unless the contract requires them.
func TestTokensThatAreRequired(t *testing.T) {
	w := newWorld(t)
	for _, row := range []struct {
		name    string
		model   string
		require bool
		declare func(*providers.Profile)
		want    expectation
	}{
		{"no tokenizer", "faithful", false, func(p *providers.Profile) { p.Tokenizer = providers.TokenizerNone },
			expectation{verdict: certification.Certified, statuses: everything}},
		{"no tokenizer, required", "faithful", true, func(p *providers.Profile) { p.Tokenizer = providers.TokenizerNone }, rejected("not_verified")},
		{"no window, required", "faithful", true, func(p *providers.Profile) { p.ContextWindow = 0 }, rejected("not_verified")},
		{"counted, required", "faithful", true, func(*providers.Profile) {}, expectation{verdict: certification.Certified, statuses: everything}},
		{"trouble, required", "rate-limited", true, func(*providers.Profile) {}, expectation{
			verdict: certification.Inconclusive, statuses: statuses{notJudged, notJudged, notJudged, notJudged},
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			want := row.want.of(row.model)
			want.profile = row.declare
			if row.require {
				want.require = contracts.RequireTokens
			}
			w := w.in(t)
			want.check(t, w, want.pair(w))
		})
	}
}

// A target that drops the system message, or refuses its role, is rejected for just that.
func TestSystemRole(t *testing.T) {
	w := newWorld(t)
	ignored := rejected("system_prompt_ignored").of("deaf")
	ignored.check(t, w, ignored.pair(w))
	lenient := ignored.pair(w)
	lenient.Contract = w.changed("invoice-extraction", `thresholds: \{prompt: 1\.0`, "thresholds: {prompt: 0.5")
	ignored.check(t, w, lenient) // one check of many, and no threshold makes up for it

	refused := expectation{
		model: "picky:system", verdict: certification.Rejected, statuses: statuses{notJudged, notJudged, notJudged, failed},
		dimension: certification.DimensionRoundTrip, reason: "profile_error",
	}
	refused.check(t, w, refused.pair(w))
	merged := expectation{model: "picky:system", verdict: certification.Certified, statuses: everything}
	merged.profile = func(p *providers.Profile) { p.SystemRole = providers.RoleMerge }
	merged.check(t, w, merged.pair(w))
}

// What the model reads is kept beside the record, to the byte and with every BOS, where a chat template is declared.
func TestThePromptIsKeptAsTheModelReadsIt(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	w.simulator.Host("", llama.server(t))
	pair := w.pair("support-triage", "faithful")
	options := w.options()
	_, kept, _ := w.withEvidence(pair, options)
	g.Expect(kept.Cases).To(HaveEach(HaveField("Rendered", "")), "nobody knows it without the template")

	llama.profile(t)(&pair.Profile)
	options.HTML = filepath.Join(t.TempDir(), "r.html")
	record, kept, _ := w.withEvidence(pair, options)
	g.Expect(record.Verdict).To(Equal(certification.Certified))
	for _, c := range kept.Cases {
		g.Expect(c.Rendered).To(HavePrefix("<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n" + strings.TrimSpace(c.Messages[0].Content)))
		g.Expect(c.Rendered).To(HaveSuffix(strings.TrimSpace(c.Messages[1].Content) + "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"))
	}
	g.Expect(string(read(t, options.HTML))).To(ContainSubstring("&lt;|begin_of_text|&gt;&lt;|start_header_id|&gt;system"))

	pair.Profile.AddBOS = true
	_, kept, _ = w.withEvidence(pair, options)
	g.Expect(kept.Cases).To(HaveEach(HaveField("Rendered", HavePrefix("<|begin_of_text|><|begin_of_text|><|start_header_id|>"))), "the one of the server, too")

	pair.Profile.AddBOS = false
	const typed = "59.90 on the 3rd and 59.90 again"
	g.Expect(kept.Cases[0].Rendered).To(ContainSubstring(typed))
	pair.Scrub = secrets.Named(map[string]string{"alpha": typed})
	_, kept, _ = w.withEvidence(pair, options)
	g.Expect(kept.Cases[0].Rendered).To(HavePrefix("<|begin_of_text|>"))
	g.Expect(kept.Cases[0].Rendered).NotTo(ContainSubstring(typed), "a key does not hide in it")
}

// Prompts that are at fault whatever a call would show reject without one; where the contract leaves room for that, or
// every sample is asked for, calls are made.
func TestPromptsAtFaultCostNothing(t *testing.T) {
	for _, row := range []struct {
		name     string
		change   func(*world, *certify.Pair, *certify.Options)
		reason   string
		calls    bool
		verdict  certification.Verdict
		warnings bool
	}{
		{name: "a doubled BOS", change: func(_ *world, p *certify.Pair, _ *certify.Options) { p.Profile.AddBOS = true }, reason: "double_bos", verdict: certification.Rejected},
		{name: "no room in the window", change: func(_ *world, p *certify.Pair, _ *certify.Options) { p.Profile.ContextWindow = 1200 }, reason: "window_exceeded", verdict: certification.Rejected},
		{name: "a variable that is missing", change: func(w *world, p *certify.Pair, _ *certify.Options) {
			p.Contract = w.changed("support-triage", `\{\{ \.message`, "{{ .massage")
		}, reason: "missing_variable", verdict: certification.Rejected},
		{name: "all samples are asked for", change: func(_ *world, p *certify.Pair, o *certify.Options) { p.Profile.AddBOS, o.Complete = true, true },
			reason: "double_bos", calls: true, verdict: certification.Rejected},
		{name: "the contract leaves room", change: func(w *world, p *certify.Pair, _ *certify.Options) {
			p.Contract = w.changed("support-triage", `prompt: 1\.0`, "prompt: 0.5")
			p.Profile.AddBOS = true
		}, reason: "double_bos", calls: true, verdict: certification.Certified, warnings: true},
		{name: "what cannot be known is no fault", change: func(_ *world, p *certify.Pair, _ *certify.Options) { p.Profile.BOSToken = "" },
			reason: "not_verified", calls: true, verdict: certification.Certified},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, w := NewWithT(t), newWorld(t)
			w.simulator.Host("", llama.server(t))
			pair, options := w.pair("support-triage", "faithful"), w.options()
			llama.profile(t)(&pair.Profile)
			row.change(w, &pair, &options)
			options.Record = t.TempDir()
			record := w.conclude(options, pair).Records[0]
			g.Expect(record.Verdict).To(Equal(row.verdict), "%+v", record.Dimensions)
			d := dimension(record, certification.DimensionPrompt)
			g.Expect(reasonsOf(d)).To(ContainElement(row.reason))
			g.Expect(len(w.simulator.Ledger()) > 0).To(Equal(row.calls))
			if !row.calls {
				why, _ := d.Why()
				g.Expect(why.Reason).To(Equal(row.reason))
				g.Expect(record.Cases).To(HaveLen(len(pair.Contract.Cases)))
				g.Expect(record.Cases).To(HaveEach(WithTransform(certification.CaseFigures.Outcome, Equal(certification.CaseFailed))))
				options.Replay, options.Record, options.RunName = options.Record, "", "again"
				again := w.conclude(options, replayed(t, pair)).Records[0]
				g.Expect(again.Verdict).To(Equal(certification.Rejected), "a replay finds the same")
			}
			tolerated := ContainElement(And(HaveField("Reason", row.reason), HaveField("Count", 8), HaveField("Detail", ContainSubstring("tolerated: the contract asks for 0.5 of"))))
			if !row.warnings {
				tolerated = Not(ContainElement(HaveField("Reason", row.reason)))
			}
			g.Expect(record.Warnings).To(tolerated)
		})
	}
}

// No threshold makes up for control tokens that a user's text turns into commands.
func TestControlTokensDecideAlone(t *testing.T) {
	g, w := NewWithT(t), newWorld(t)
	w.simulator.Host("", chatml.server(t))
	pair := w.pair("support-triage", "obeying")
	chatml.profile(t)(&pair.Profile)
	pair.Contract = w.changed("support-triage", `prompt: 1\.0`, "prompt: 0.5")
	record, _ := w.certify(pair, w.options())
	d := dimension(record, certification.DimensionPrompt)
	g.Expect(record.Verdict).To(Equal(certification.Rejected))
	g.Expect(reasonsOf(d)).To(ContainElement("control_tokens_obeyed"))
	g.Expect(d.Vetoed()).NotTo(BeEmpty(), "its figure alone would do")
}

// What a contract requires and a profile cannot give is certain before anybody is called.
func TestRequirementsThatCannotBeMetCostNothing(t *testing.T) {
	for _, row := range []struct {
		require, reason string
		dimension       string
		change          func(*providers.Profile)
		calls           bool
	}{
		{"enforcement", "not_enforced", certification.DimensionStructure, func(p *providers.Profile) { p.StructuredOutput = providers.StructuredNone }, false},
		{"enforcement", "not_enforced", certification.DimensionStructure, func(p *providers.Profile) { p.StructuredOutput = providers.StructuredJSONObject }, false},
		{"tokens", "not_verified", certification.DimensionPrompt, func(p *providers.Profile) { p.Tokenizer = providers.TokenizerNone }, false},
		{"tokens", "not_verified", certification.DimensionPrompt, func(p *providers.Profile) { p.ContextWindow = 0 }, false},
		{"tokens", "", "", func(*providers.Profile) {}, true},
	} {
		g, w := NewWithT(t), newWorld(t)
		pair := w.pair("support-triage", "faithful")
		pair.Contract = w.changed("support-triage", `sampling: `, "require: ["+row.require+`]\nsampling: `)
		row.change(&pair.Profile)
		record, _ := w.certify(pair, w.options())
		g.Expect(len(w.simulator.Ledger()) > 0).To(Equal(row.calls), row.require)
		if row.calls {
			g.Expect(record.Verdict).To(Equal(certification.Certified))
			continue
		}
		g.Expect(record.Verdict).To(Equal(certification.Rejected))
		g.Expect(reasonsOf(dimension(record, row.dimension))).To(ContainElement(row.reason))
	}
}
