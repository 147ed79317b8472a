package simulator

import (
	"errors"
	"io"
	"net/http"

	"github.com/fallproof/fallproof/providers"
)

// The paths by which servers of self-hosted models let their prompts be looked at.
const (
	pathApplyTemplate = "/apply-template"
	pathTokenize      = "/tokenize"
)

func isNative(r *http.Request) bool {
	return r.Method == http.MethodPost && (r.URL.Path == pathApplyTemplate || r.URL.Path == pathTokenize)
}

// nativeRequest is what llama.cpp's server and vLLM take, as far as it matters here. Of a server of one model
// the name of the model is not asked; this one has many.
type nativeRequest struct {
	Model      string        `json:"model"`
	Messages   []chatMessage `json:"messages"`
	Content    *string       `json:"content"` // llama.cpp
	Prompt     *string       `json:"prompt"`  // vLLM
	AddSpecial bool          `json:"add_special"`
}

type tokenList struct {
	Count  int   `json:"count"`
	Length int   `json:"max_model_len"`
	Tokens []int `json:"tokens"`
}

// answerNative says what the prompt of messages is, or its tokens. It puts no model to work, so that it
// stands in the ledger of questions.
func (s *Simulator) answerNative(w http.ResponseWriter, r *http.Request) {
	x := &exchange{sim: s, w: w, r: r, ledger: s.questions}
	x.record = x.ledger.receive(Entry{AttemptID: r.Header.Get(AttemptHeader), Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery})
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	model := modelOf(body)
	p, known := s.roster.find(model)
	x.p = p
	x.ledger.identify(x.record, model, "", body)
	h := s.hostOf(model, p)
	var request nativeRequest
	var refusal *apiError
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		refusal = errTooLarge()
	case err != nil:
		x.abort(howRejected, OutcomeUnanswered)
	case !x.authorized():
		refusal = errUnauthorized()
	case !known:
		refusal = errUnknownModel(model)
	case !h.templated():
		refusal = errUnknownURL(r.Method, r.URL.Path)
	case !p.executes():
		ctx, cancel := x.live()
		defer cancel()
		x.decline(ctx)
		return
	default:
		refusal = decodeRequest(body, &request)
	}
	var said any
	if refusal == nil {
		said, refusal = h.native(r.URL.Path, &request)
	}
	if refusal != nil {
		x.reject(refusal)
		return
	}
	x.send(p.String(), http.StatusOK, said)
}

func (h host) native(path string, request *nativeRequest) (any, *apiError) {
	var text string
	special := request.AddSpecial
	switch {
	case path == pathTokenize && request.Content != nil:
		text = *request.Content
	case path == pathTokenize && request.Prompt != nil:
		text = *request.Prompt
	default:
		messages := make([]providers.Message, len(request.Messages))
		for i, m := range request.Messages {
			messages[i] = providers.Message{Role: m.Role, Content: string(m.Content)}
		}
		var refusal *apiError
		if text, refusal = h.render(messages); refusal != nil {
			return nil, refusal
		}
		if path == pathApplyTemplate {
			return struct {
				Prompt string `json:"prompt"`
			}{text}, nil
		}
		special = true // as in the call itself
	}
	ids := h.tokenized(text, special)
	return tokenList{Count: len(ids), Length: h.profile.ContextWindow, Tokens: ids}, nil
}
