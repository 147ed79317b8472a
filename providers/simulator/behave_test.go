package simulator

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	. "github.com/onsi/gomega"

	"github.com/fallproof/fallproof/providers"
	"github.com/fallproof/fallproof/providers/tokens"
)

// TestPersonalities sees each way to behave as a client does, by a request of its own, and what the
// ledger says of it.
func TestPersonalities(t *testing.T) {
	right := func(t *testing.T, s seen) {
		_, expected := sample(t, "")
		NewWithT(t).Expect(decoded(t, s.content(t))).To(Equal(plain(expected)))
		NewWithT(t).Expect(s.completion(t).Choices[0].FinishReason).To(Equal("stop"))
	}
	failure := func(kind string) func(*testing.T, seen) {
		return func(t *testing.T, s seen) {
			g := NewWithT(t)
			c := s.completion(t)
			g.Expect(c.Error).NotTo(BeNil())
			g.Expect(c.Error.Type).To(Equal(kind))
			g.Expect(c.Error.Message).NotTo(BeEmpty())
			g.Expect(c.Choices).To(BeEmpty())
		}
	}
	for _, row := range []struct {
		model   string
		status  int
		outcome Outcome
		check   func(*testing.T, seen)
	}{
		{"faithful", 200, OutcomeAnswered, right},
		{"acme-faithful", 200, OutcomeAnswered, right},
		{"slow:20ms", 200, OutcomeAnswered, right},
		{"org/late:30ms", 200, OutcomeAnswered, right},
		{"deaf", 200, OutcomeAnswered, right}, // nothing in this request shows that it does not listen
		{"extra-key", 200, OutcomeAnswered, func(t *testing.T, s seen) {
			_, expected := sample(t, "")
			got := decoded(t, s.content(t)).(map[string]any)
			NewWithT(t).Expect(got).To(HaveKey("confidence"))
			delete(got, "confidence")
			NewWithT(t).Expect(got).To(Equal(plain(expected)))
		}},
		{"plausible", 200, OutcomeAnswered, func(t *testing.T, s seen) {
			_, expected := sample(t, "")
			got := decoded(t, s.content(t)).(map[string]any)
			NewWithT(t).Expect(got["total"]).NotTo(Equal(plain(expected["total"])))
			got["total"] = plain(expected["total"])
			NewWithT(t).Expect(got).To(Equal(plain(expected)))
		}},
		{"fenced", 200, OutcomeAnswered, func(t *testing.T, s seen) {
			inside := strings.TrimSuffix(strings.TrimPrefix(s.content(t), "```json\n"), "\n```")
			_, expected := sample(t, "")
			NewWithT(t).Expect(inside).NotTo(Equal(s.content(t)))
			NewWithT(t).Expect(decoded(t, inside)).To(Equal(plain(expected)))
		}},
		{"chatty", 200, OutcomeAnswered, func(t *testing.T, s seen) {
			text := s.content(t)
			from, to := strings.Index(text, "{"), strings.LastIndex(text, "}")
			_, expected := sample(t, "")
			NewWithT(t).Expect(jsontext.Value(text).IsValid()).To(BeFalse())
			NewWithT(t).Expect(decoded(t, text[from:to+1])).To(Equal(plain(expected)))
		}},
		{"truncating", 200, OutcomeAnswered, func(t *testing.T, s seen) {
			NewWithT(t).Expect(s.completion(t).Choices[0].FinishReason).To(Equal("length"))
			NewWithT(t).Expect(jsontext.Value(s.content(t)).IsValid()).To(BeFalse())
		}},
		{"truncating:parses", 200, OutcomeAnswered, func(t *testing.T, s seen) {
			_, expected := sample(t, "")
			NewWithT(t).Expect(s.completion(t).Choices[0].FinishReason).To(Equal("length"))
			NewWithT(t).Expect(decoded(t, s.content(t))).To(Equal(plain(expected)))
		}},
		{"refusing", 200, OutcomeAnswered, func(t *testing.T, s seen) {
			message := s.completion(t).Choices[0].Message
			NewWithT(t).Expect(message.Content).To(BeNil())
			NewWithT(t).Expect(message.Refusal).To(HaveValue(ContainSubstring("can't help")))
		}},
		{"refusing:filter", 200, OutcomeAnswered, func(t *testing.T, s seen) {
			NewWithT(t).Expect(s.completion(t).Choices[0].FinishReason).To(Equal("content_filter"))
			NewWithT(t).Expect(s.content(t)).To(BeEmpty())
		}},
		{"renamed", 200, OutcomeAnswered, func(t *testing.T, s seen) {
			NewWithT(t).Expect(s.completion(t).Model).To(Equal("renamed-previous"))
			right(t, s)
		}},
		{"renamed:other-1", 200, OutcomeAnswered, func(t *testing.T, s seen) {
			NewWithT(t).Expect(s.completion(t).Model).To(Equal("other-1"))
			NewWithT(t).Expect(s.completion(t).Fingerprint).To(Equal(fingerprint("other-1", 0)))
		}},
		{"retuned", 200, OutcomeAnswered, func(t *testing.T, s seen) {
			NewWithT(t).Expect(s.completion(t).Model).To(Equal("retuned"))
			NewWithT(t).Expect(s.completion(t).Fingerprint).To(HavePrefix("fp_"))
			NewWithT(t).Expect(s.completion(t).Fingerprint).NotTo(Equal(fingerprint("retuned", 0)))
			right(t, s)
		}},
		{"retuned:fp_9", 200, OutcomeAnswered, func(t *testing.T, s seen) {
			NewWithT(t).Expect(s.completion(t).Fingerprint).To(Equal("fp_9"))
			right(t, s)
		}},
		{"dropping", 0, OutcomeDropped, func(t *testing.T, s seen) {
			NewWithT(t).Expect(s.err).To(MatchError(ContainSubstring("EOF")))
		}},
		{"dropping:reset", 0, OutcomeDropped, func(t *testing.T, s seen) {
			NewWithT(t).Expect(s.err).To(MatchError(Or(ContainSubstring("reset"), ContainSubstring("EOF"))))
		}},
		{"half-body", 200, OutcomeCut, func(t *testing.T, s seen) {
			NewWithT(t).Expect(s.err).To(MatchError(ContainSubstring("unexpected EOF")))
			NewWithT(t).Expect(s.body).NotTo(BeEmpty())
			NewWithT(t).Expect(jsontext.Value(s.body).IsValid()).To(BeFalse())
		}},
		{"rate-limited", 429, OutcomeAnswered, func(t *testing.T, s seen) {
			NewWithT(t).Expect(s.header.Get("Retry-After")).To(Equal("1"))
			failure("requests")(t, s)
		}},
		{"rate-limited:1500ms", 429, OutcomeAnswered, func(t *testing.T, s seen) {
			NewWithT(t).Expect(s.header.Get("Retry-After")).To(Equal("2"), "whole seconds, never too early")
		}},
		{"overloaded", 503, OutcomeAnswered, func(t *testing.T, s seen) {
			NewWithT(t).Expect(s.header).NotTo(HaveKey("Retry-After"))
			failure("server_error")(t, s)
		}},
		{"overloaded:7s", 503, OutcomeAnswered, func(t *testing.T, s seen) {
			NewWithT(t).Expect(s.header.Get("Retry-After")).To(Equal("7"))
		}},
		{"overloaded:500", 500, OutcomeAnswered, failure("server_error")},
		{"overloaded:504", 504, OutcomeAnswered, failure("server_error")},
		{"error-200", 200, OutcomeAnswered, failure("server_error")},
		{"empty-choices", 200, OutcomeAnswered, func(t *testing.T, s seen) {
			NewWithT(t).Expect(string(s.body)).To(ContainSubstring(`"choices":[]`))
			NewWithT(t).Expect(s.completion(t).Error).To(BeNil())
		}},
		{"redirecting", 307, OutcomeAnswered, func(t *testing.T, s seen) {
			NewWithT(t).Expect(s.header.Get("Location")).To(Equal(pathCompletions))
		}},
		{"redirecting:302", 302, OutcomeAnswered, func(t *testing.T, s seen) {
			NewWithT(t).Expect(s.header.Get("Location")).To(Equal(pathCompletions))
		}},
		{"unauthorized", 401, OutcomeAnswered, failure("invalid_request_error")},
		{"unauthorized:400", 400, OutcomeAnswered, failure("invalid_request_error")},
		{"unauthorized:402", 402, OutcomeAnswered, failure("invalid_request_error")},
		{"refusing:prompt", 400, OutcomeAnswered, func(t *testing.T, s seen) {
			NewWithT(t).Expect(s.completion(t).Error.Code).To(HaveValue(Equal("content_filter")))
		}},
		{"anonymous", 200, OutcomeAnswered, func(t *testing.T, s seen) {
			NewWithT(t).Expect(string(s.body)).To(ContainSubstring(`"model":""`))
		}},
	} {
		t.Run(row.model, func(t *testing.T) {
			g := NewWithT(t)
			f := listen(t, Config{})
			body, _ := sample(t, row.model)
			got := f.chat(body, "attempt-1")
			g.Expect(got.status).To(Equal(row.status))
			row.check(t, got)

			entries := f.waitAnswered(1)
			g.Expect(entries).To(HaveLen(1))
			p, _ := personalityInName(row.model)
			g.Expect(entries[0].AttemptID).To(Equal("attempt-1"))
			g.Expect(entries[0].Model).To(Equal(row.model))
			g.Expect(entries[0].Request).To(Equal(string(body)))
			g.Expect(entries[0].Answered.How).To(Equal(p.String()))
			g.Expect(entries[0].Answered.Outcome).To(Equal(row.outcome))
			g.Expect(entries[0].Answered.Status).To(Equal(row.status))
			g.Expect(entries[0].Answered.At).NotTo(BeTemporally("<", entries[0].ReceivedAt))
		})
	}
}

func TestACompletionHasEverythingThatClientsRead(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{Seed: 7})
	body, _ := sample(t, "faithful")
	before := time.Now().Unix()
	first, second := f.chat(body, "").completion(t), f.chat(body, "").completion(t)

	g.Expect(first.ID).To(HavePrefix("chatcmpl-"))
	g.Expect(first.ID).NotTo(Equal(second.ID))
	g.Expect(first.Object).To(Equal("chat.completion"))
	g.Expect(first.Created).To(BeNumerically(">=", before))
	g.Expect(first.Model).To(Equal("faithful"))
	g.Expect(first.Choices[0].Message.Role).To(Equal("assistant"))
	g.Expect(first.Fingerprint).To(HavePrefix("fp_"))
	g.Expect(first.Fingerprint).To(Equal(second.Fingerprint))
	g.Expect(first.Choices[0].Message.Content).To(Equal(second.Choices[0].Message.Content), "temperature 0")

	request, refusal := parseRequest(body)
	g.Expect(refusal).To(BeNil())
	count, verified, err := tokens.Count(providers.TokenizerO200K, request.messages())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(verified).To(BeTrue())
	g.Expect(first.Usage.Prompt).To(Equal(count))
	g.Expect(first.Usage.Completion).To(BeNumerically(">", 50))
	g.Expect(first.Usage.Total).To(Equal(first.Usage.Prompt + first.Usage.Completion))
}

func TestTheRequestsOwnLimitCutsTheAnswer(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	body, _ := sample(t, "faithful")
	limited := strings.Replace(string(body), `"max_completion_tokens":1024`, `"max_completion_tokens":20`, 1)
	g.Expect(limited).NotTo(Equal(string(body)))
	c := f.chat([]byte(limited), "").completion(t)
	g.Expect(c.Choices[0].FinishReason).To(Equal("length"))
	g.Expect(c.Usage.Completion).To(BeNumerically("~", 20, 8))
}

func TestFlakyIsWrongExactlyOnceInFive(t *testing.T) {
	for _, seed := range []int64{0, 3} {
		g := NewWithT(t)
		f := listen(t, Config{Seed: seed})
		body, expected := sample(t, "flaky")
		var wrong []int
		for i := range 15 {
			got := decoded(t, f.chat(body, "").content(t)).(map[string]any)
			if got["total"] != plain(expected["total"]) {
				wrong = append(wrong, i)
			}
		}
		g.Expect(wrong).To(HaveLen(3))
		g.Expect(wrong[1] - wrong[0]).To(Equal(5))
		g.Expect(wrong[2] - wrong[1]).To(Equal(5))
		g.Expect((int64(wrong[0]) + seed) % 5).To(BeZero())
	}
}

func TestAnAPIKeyIsAskedForWhereConfigured(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{APIKey: "sk-right"})
	body, _ := sample(t, "faithful")
	for key, status := range map[string]int{"": 401, "Bearer sk-wrong": 401, "Bearer sk-right": 200} {
		request, err := http.NewRequest(http.MethodPost, f.BaseURL()+"/chat/completions", strings.NewReader(string(body)))
		g.Expect(err).NotTo(HaveOccurred())
		if key != "" {
			request.Header.Set("Authorization", key)
		}
		response, err := f.client.Do(request)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(response.Body.Close()).To(Succeed())
		g.Expect(response.StatusCode).To(Equal(status), key)
	}
	g.Expect(f.Ledger()).To(HaveLen(3))
	for _, entry := range f.Ledger() {
		g.Expect(string(encode(entry))).NotTo(ContainSubstring("sk-"), "keys are not kept")
	}
}
