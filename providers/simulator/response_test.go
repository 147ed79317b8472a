package simulator

import (
	"context"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestBackgroundResponses sees each way to behave at the POST, and what is fetched when the work is done.
func TestBackgroundResponses(t *testing.T) {
	right := func(t *testing.T, r responseSeen) {
		_, expected := sample(t, "")
		NewWithT(t).Expect(r.Status).To(Equal("completed"))
		NewWithT(t).Expect(decoded(t, r.text(t))).To(Equal(plain(expected)))
		NewWithT(t).Expect(r.Output[0].Status).To(Equal("completed"))
		NewWithT(t).Expect(r.Output[0].Content[0].Type).To(Equal("output_text"))
		NewWithT(t).Expect(r.Output[0].Content[0].Annotations).To(HaveValue(BeEmpty()))
	}
	incomplete := func(reason string) func(*testing.T, responseSeen) {
		return func(t *testing.T, r responseSeen) {
			NewWithT(t).Expect(r.Status).To(Equal("incomplete"))
			NewWithT(t).Expect(r.IncompleteDetails).To(HaveValue(HaveField("Reason", reason)))
			NewWithT(t).Expect(r.Output[0].Status).To(Equal("incomplete"))
		}
	}
	for _, row := range []struct {
		model  string
		status int // of the POST; 0 = the connection was lost
		check  func(*testing.T, responseSeen)
	}{
		{"faithful", 200, right},
		{"slow:1ms", 200, right},
		{"late:1ms", 200, right},
		{"plausible", 200, func(t *testing.T, r responseSeen) {
			_, expected := sample(t, "")
			NewWithT(t).Expect(decoded(t, r.text(t))).NotTo(Equal(plain(expected)))
		}},
		{"fenced", 200, func(t *testing.T, r responseSeen) {
			NewWithT(t).Expect(r.text(t)).To(HavePrefix("```json\n"))
		}},
		{"truncating", 200, incomplete("max_output_tokens")},
		{"truncating:parses", 200, incomplete("max_output_tokens")},
		{"refusing:filter", 200, incomplete("content_filter")},
		{"refusing", 200, func(t *testing.T, r responseSeen) {
			part := r.Output[0].Content[0]
			NewWithT(t).Expect(r.Status).To(Equal("completed"))
			NewWithT(t).Expect(part.Type).To(Equal("refusal"))
			NewWithT(t).Expect(part.Refusal).To(HaveValue(ContainSubstring("can't help")))
			NewWithT(t).Expect(part.Text).To(BeNil())
		}},
		{"error-200", 200, func(t *testing.T, r responseSeen) {
			NewWithT(t).Expect(r.Status).To(Equal("failed"))
			NewWithT(t).Expect(r.Error).To(HaveValue(HaveField("Code", "server_error")))
			NewWithT(t).Expect(r.Output).To(BeEmpty())
			NewWithT(t).Expect(r.Usage).To(BeNil())
		}},
		{"empty-choices", 200, func(t *testing.T, r responseSeen) {
			NewWithT(t).Expect(r.Status).To(Equal("completed"))
			NewWithT(t).Expect(r.Output).To(BeEmpty())
		}},
		{"renamed:other-1", 200, func(t *testing.T, r responseSeen) {
			NewWithT(t).Expect(r.Model).To(Equal("other-1"))
			right(t, r)
		}},
		{"dropping", 0, right},
		{"dropping:reset", 0, right},
		{"half-body", 0, right},
		{"overloaded:502:executed", 502, right},
	} {
		t.Run(row.model, func(t *testing.T) {
			g := NewWithT(t)
			f := listen(t, Config{})
			got := f.respond(inBackground(t, row.model), "a1")
			if row.status == 0 {
				g.Expect(got.err).To(HaveOccurred())
			} else {
				g.Expect(got.status).To(Equal(row.status))
			}
			entry := f.waitFor(1, Filter{AttemptID: "a1", Executed: true, Produced: row.model != "error-200"})[0]
			id := ""
			if row.status == http.StatusOK {
				accepted := got.response(t)
				id = accepted.ID
				g.Expect(id).To(HavePrefix("resp_"))
				g.Expect(accepted.Object).To(Equal("response"))
				g.Expect(accepted.Status).To(Equal("queued"))
				g.Expect(accepted.Background).To(BeTrue())
				g.Expect(accepted.Output).To(BeEmpty())
			} else {
				id = entry.Produced.ID // the client never learned it
			}
			var fetched responseSeen
			g.Eventually(func() string {
				fetched = f.get(pathResponses + "/" + id).response(t)
				return fetched.Status
			}).WithTimeout(patience).ShouldNot(Equal("in_progress"))
			g.Expect(fetched.ID).To(Equal(id))
			g.Expect(fetched.Metadata).To(HaveKeyWithValue("attempt", "a1"))
			if fetched.Usage != nil {
				g.Expect(fetched.Usage.Total).To(Equal(fetched.Usage.Input + fetched.Usage.Output))
			}
			row.check(t, fetched)
			g.Expect(f.list().Data).To(BeEmpty(), "a response is no completion")
			g.Expect(f.Ledger()).To(HaveLen(1))
		})
	}
}

func TestAResponseAndACompletionAreTheSameAnswer(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	body, _ := sample(t, "faithful")
	c := f.chat(body, "").completion(t)
	foreground := strings.Replace(string(inBackground(t, "faithful")), `"background":true`, `"background":false`, 1)
	r := f.respond([]byte(foreground), "").response(t)
	g.Expect(r.Status).To(Equal("completed"), "in the foreground the answer is waited for")
	g.Expect(r.Background).To(BeFalse())
	g.Expect(r.text(t)).To(Equal(*c.Choices[0].Message.Content))
	g.Expect(r.Usage.Input).To(Equal(c.Usage.Prompt))
	g.Expect(r.Usage.Output).To(Equal(c.Usage.Completion))
	g.Expect(f.get(pathResponses + "/" + r.ID).response(t)).To(Equal(r))
	g.Expect(f.get(pathCompletions + "/" + r.ID).status).To(Equal(404))
	g.Expect(f.get(pathResponses + "/" + c.ID).status).To(Equal(404))
}

func TestARefusedResponseIsRefusedAtThePost(t *testing.T) {
	for model, status := range map[string]int{
		"rate-limited": 429, "overloaded": 503, "overloaded:500": 500, "unauthorized": 401, "redirecting": 307, "no-such-model": 404,
	} {
		g := NewWithT(t)
		f := listen(t, Config{})
		g.Expect(f.respond(inBackground(t, model), "").status).To(Equal(status), model)
		g.Expect(f.Ledger()[0].Executed).To(BeFalse(), model)
		g.Expect(f.archive.works).To(BeEmpty(), model)
	}
}

func TestAResponseIsInProgressUntilItsWorkIsDone(t *testing.T) {
	g := NewWithT(t)
	f := listen(t, Config{})
	held := f.respond(inBackground(t, "hold"), "a1").response(t)
	silent := f.respond(inBackground(t, "silent"), "a2").response(t)
	g.Expect(f.get(pathResponses + "/" + held.ID).response(t).Status).To(Equal("in_progress"))
	g.Expect(f.Release(Filter{AttemptID: "a1"})).To(Equal(1), "though it was answered")
	f.waitFor(1, Filter{AttemptID: "a1", Produced: true})
	g.Expect(f.get(pathResponses + "/" + held.ID).response(t).Status).To(Equal("completed"))
	g.Expect(f.get(pathResponses + "/" + silent.ID).response(t).Status).To(Equal("in_progress"))
	g.Expect(f.Select(Filter{AttemptID: "a2"})[0].Executed).To(BeFalse(), "it was never taken up")
}

func TestThePostOfAResponseMayStaySilent(t *testing.T) {
	for model, executes := range map[string]bool{"silent:executed": true, "silent:unexecuted": false, "hold:silent:executed": true} {
		t.Run(model, func(t *testing.T) {
			g := NewWithT(t)
			f := listen(t, Config{})
			ctx, leave := context.WithCancel(context.Background())
			done := make(chan seen, 1)
			go func() { done <- f.do(ctx, http.MethodPost, pathResponses, inBackground(t, model), "a1") }()
			f.waitFor(1, Filter{Executed: executes})
			f.Release(Filter{AttemptID: "a1"})
			entry := f.waitFor(1, Filter{Produced: executes})[0]
			if executes {
				g.Expect(f.get(pathResponses + "/" + entry.Produced.ID).response(t).Status).To(Equal("completed"))
			} else {
				g.Expect(f.archive.works).To(BeEmpty())
			}
			g.Expect(entry.Answered).To(BeNil())
			leave()
			g.Expect((<-done).err).To(MatchError(context.Canceled))
		})
	}
}

func TestResponsesSpellTheirRequestsOtherwise(t *testing.T) {
	g := NewWithT(t)
	read := func(body string) *chatRequest {
		request, refusal := parseResponseRequest([]byte(body))
		g.Expect(refusal).To(BeNil())
		chat := request.chat()
		g.Expect(request.check(chat)).To(BeNil())
		return chat
	}
	chat := read(`{"model":"m","instructions":"be brief","input":"hello","max_output_tokens":16}`)
	g.Expect(chat.Messages).To(HaveLen(2))
	g.Expect(chat.Messages[0]).To(And(HaveField("Role", "system"), HaveField("Content", messageText("be brief"))))
	g.Expect(chat.Messages[1]).To(And(HaveField("Role", "user"), HaveField("Content", messageText("hello"))))
	g.Expect(chat.Store).To(BeTrue(), "unless said otherwise")
	limit, _ := chat.maxTokens()
	g.Expect(limit).To(Equal(16))

	chat = read(`{"model":"m","store":false,"input":[{"type":"message","role":"developer","content":[` +
		`{"type":"input_text","text":"one "},{"type":"input_text","text":"two as json"}]}],"text":{"format":{"type":"json_object"}}}`)
	g.Expect(chat.Messages[0].Content).To(Equal(messageText("one two as json")))
	g.Expect(chat.Store).To(BeFalse())
	g.Expect(chat.ResponseFormat.Type).To(Equal("json_object"))
}

func TestBadResponseRequestsAreRefused(t *testing.T) {
	const input = `"input":"hello"`
	for name, row := range map[string]struct{ body, code, param string }{
		"no input":              {`{"model":"faithful"}`, "missing_required_parameter", "input"},
		"no input but orders":   {`{"model":"faithful","instructions":"x"}`, "missing_required_parameter", "input"},
		"empty input":           {`{"model":"faithful","input":[]}`, "empty_array", "input"},
		"wrong role":            {`{"model":"faithful","input":[{"role":"boss","content":"x"}]}`, "invalid_value", "input.role"},
		"an image":              {`{"model":"faithful","input":[{"role":"user","content":[{"type":"input_image"}]}]}`, "invalid_type", "input.0.content"},
		"a call":                {`{"model":"faithful","input":[{"type":"function_call"}]}`, "invalid_type", "input"},
		"chat's own members":    {`{"model":"faithful",` + input + `,"messages":[]}`, "unknown_parameter", "messages"},
		"chat's format":         {`{"model":"faithful",` + input + `,"response_format":{}}`, "unknown_parameter", "response_format"},
		"background not stored": {`{"model":"faithful",` + input + `,"background":true,"store":false}`, "invalid_value", "background"},
		"limit too low":         {`{"model":"faithful",` + input + `,"max_output_tokens":15}`, "integer_below_min_value", "max_output_tokens"},
		"stream":                {`{"model":"faithful",` + input + `,"stream":true}`, "unsupported_value", "stream"},
		"temperature":           {`{"model":"faithful",` + input + `,"temperature":3}`, "decimal_out_of_range", "temperature"},
		"schema without name":   {`{"model":"faithful",` + input + `,"text":{"format":{"type":"json_schema","schema":{}}}}`, "invalid_value", "text.format.name"},
		"unknown format":        {`{"model":"faithful",` + input + `,"text":{"format":{"type":"xml"}}}`, "invalid_value", "text.format.type"},
		"JSON in orders alone":  {`{"model":"faithful","instructions":"json",` + input + `,"text":{"format":{"type":"json_object"}}}`, "", "input"},
		"metadata":              {`{"model":"faithful",` + input + `,"metadata":{"k":1}}`, "invalid_type", "metadata.k"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f := listen(t, Config{})
			got := f.respond([]byte(row.body), "a1")
			g.Expect(got.status).To(Equal(400))
			failure := got.completion(t).Error
			g.Expect(failure.Code).To(Equal(optional(row.code)))
			g.Expect(failure.Param).To(Equal(optional(row.param)))
			g.Expect(f.waitAnswered(1)[0].Answered.How).To(Equal("rejected"))
		})
	}
}
