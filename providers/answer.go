package providers

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// envelope is the part of a chat completion that matters. Every field stays raw at first, so that an odd
// value in one of them says something about that field alone. Duplicate keys and invalid UTF-8 anywhere
// in the body are refused by the decoder: two readers would not agree on what was answered.
type envelope struct {
	Error       jsontext.Value `json:"error"`
	Choices     jsontext.Value `json:"choices"`
	Model       jsontext.Value `json:"model"`
	Fingerprint jsontext.Value `json:"system_fingerprint"`
	Usage       jsontext.Value `json:"usage"`
	BaseResp    jsontext.Value `json:"base_resp"`
}

// failure is the error that an answer carries, whatever stands beside it; nil = none. MiniMax has its errors in
// base_resp under a 200, with a status_code other than 0.
func (e envelope) failure() jsontext.Value {
	if says(e.Error) {
		return e.Error
	}
	var base struct {
		Code int `json:"status_code"`
	}
	if e.BaseResp.Kind() == '{' && json.Unmarshal(e.BaseResp, &base) == nil && base.Code != 0 {
		return e.BaseResp
	}
	return nil
}

type choice struct {
	Error        jsontext.Value `json:"error"`
	FinishReason jsontext.Value `json:"finish_reason"`
	Message      jsontext.Value `json:"message"`
}

type message struct {
	Content jsontext.Value `json:"content"`
	Refusal jsontext.Value `json:"refusal"`
}

// endings are the finish reasons with a meaning of their own, OpenAI's and those that compatible servers
// are known for. Everything else, absence and "error" included, does not say that an answer was finished.
var endings = map[string]Reason{
	"stop": ReasonNone, "stop_sequence": ReasonNone, "end_turn": ReasonNone, "eos": ReasonNone, "eos_token": ReasonNone,
	"length": ReasonTruncated, "max_tokens": ReasonTruncated, "model_length": ReasonTruncated,
	"content_filter": ReasonRefused, "safety": ReasonRefused, "refusal": ReasonRefused,
}

// readAnswer reads a whole body under a 200. In this order: an error body or no choice is malformed; a
// refusal is refused, also where the text was cut; a cut text is truncated, also where it parses or is
// empty; an answer without a proper end or without text is malformed; then [content] is judged.
func readAnswer(ex Exchange, rules Rules) Outcome {
	var env envelope
	if err := json.Unmarshal(ex.Body, &env); err != nil {
		return notAnObject(ex, err)
	}
	out := Outcome{Verdict: Failed, Reason: ReasonMalformed, Retryable: true}
	out.Usage, out.UsageFault = usageIn(env.Usage, completionUsage)
	out.ServedModel = lineIn(env.Model)
	out.Fingerprint = lineIn(env.Fingerprint)
	if failure := env.failure(); failure != nil {
		out.Detail = with("status 200 with an error body", messageOf(failure))
		return out
	}
	first, problem := firstChoice(env.Choices)
	if problem != "" {
		out.Detail = problem
		return out
	}
	return readChoice(out, first, rules)
}

// notAnObject is a whole body under a 200 that the decoder refused.
func notAnObject(ex Exchange, err error) Outcome {
	what := "the answer is not one JSON object"
	if coding := ex.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		what = "the answer is compressed, though compression was not asked for"
	}
	return failed(ReasonMalformed, true, with(what, decoding(err)))
}

func firstChoice(raw jsontext.Value) (choice, string) {
	var choices []choice
	if raw.Kind() != '[' {
		return choice{}, "no choices"
	}
	if err := json.Unmarshal(raw, &choices); err != nil {
		return choice{}, "choices is not a list of objects"
	}
	if len(choices) == 0 {
		return choice{}, "no choices"
	}
	return choices[0], "" // one was asked for; were there more, the first is the one that clients read
}

// readChoice finishes out, which comes in as malformed and retryable.
func readChoice(out Outcome, c choice, rules Rules) Outcome {
	out.FinishReason = lineIn(c.FinishReason)
	var m message
	if c.Message.Kind() == '{' {
		if err := json.Unmarshal(c.Message, &m); err != nil {
			out.Detail = with("the message cannot be read", decoding(err))
			return out
		}
	}
	text, isText := stringIn(m.Content)
	out.Content = text
	ending, known := endings[strings.ToLower(out.FinishReason)]
	switch {
	case says(c.Error):
		out.Detail = with("a choice with an error", messageOf(c.Error))
	case says(m.Refusal):
		refusal, _ := stringIn(m.Refusal)
		out.Reason, out.Retryable, out.Detail = ReasonRefused, false, with("refusal", refusal)
	case known && ending != ReasonNone:
		out.Reason, out.Retryable, out.Detail = ending, false, "finish_reason "+out.FinishReason
	case !known:
		out.Detail = oneLine(fmt.Sprintf("finish_reason %q does not say that the answer ended", out.FinishReason))
	case !isText:
		out.Detail = "the content is not text"
	case strings.TrimSpace(text) == "":
		out.Detail = "the content is empty"
	default:
		return judge(out, rules)
	}
	return out
}

// says tells a field that holds something from one that is absent or, as some servers fill it in every
// answer, present and empty.
func says(value jsontext.Value) bool {
	if value == nil {
		return false
	}
	compact := value.Clone()
	_ = compact.Compact() // part of a body that was decoded: it is valid
	switch string(compact) {
	case `null`, `""`, `{}`, `[]`, `false`:
		return false
	}
	return true
}

func lineIn(value jsontext.Value) string {
	text, _ := stringIn(value)
	return oneLine(text)
}
