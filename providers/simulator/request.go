package simulator

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/fallproof/fallproof/providers"
)

// maxRequestBytes limits what one request may make the simulator hold.
const maxRequestBytes = 8 << 20

// chatRequest is the part of a chat-completions request that is understood. Further members that the
// wire format knows are accepted and have no effect; a member that it does not know is refused.
type chatRequest struct {
	Model               string                    `json:"model"`
	Messages            []chatMessage             `json:"messages"`
	Temperature         *float64                  `json:"temperature"`
	MaxTokens           *int                      `json:"max_tokens"`
	MaxCompletionTokens *int                      `json:"max_completion_tokens"`
	ResponseFormat      *responseFormat           `json:"response_format"`
	N                   *int                      `json:"n"`
	Stream              bool                      `json:"stream"`
	Store               bool                      `json:"store"`
	Metadata            map[string]string         `json:"metadata"`
	Rest                map[string]jsontext.Value `json:",embed"`
}

type chatMessage struct {
	Role    string                    `json:"role"`
	Content messageText               `json:"content"`
	Rest    map[string]jsontext.Value `json:",embed"`
}

type responseFormat struct {
	Type       string      `json:"type"`
	JSONSchema *jsonSchema `json:"json_schema"`
}

type jsonSchema struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Schema      jsontext.Value `json:"schema"`
	Strict      *bool          `json:"strict"`
}

// messageText is a content as plain text: a string, or the joined text of its parts.
type messageText string

type textPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

var errContent = errors.New("content is neither a string nor an array of text parts")

// UnmarshalJSON reads both forms.
func (m *messageText) UnmarshalJSON(data []byte) error {
	text, err := joinText(data, "text")
	*m = messageText(text)
	return err
}

// joinText reads a string, or parts of the kinds that are text.
func joinText(data []byte, kinds ...string) (string, error) {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return text, nil
	}
	var parts []textPart
	if err := json.Unmarshal(data, &parts); err != nil {
		return "", errContent
	}
	for _, part := range parts {
		if !slices.Contains(kinds, part.Type) {
			return "", errContent
		}
		text += part.Text
	}
	return text, nil
}

var (
	inertMembers = strings.Fields(`audio frequency_penalty function_call functions logit_bias logprobs modalities
		parallel_tool_calls prediction presence_penalty prompt_cache_key reasoning_effort safety_identifier seed
		service_tier stop stream_options tool_choice tools top_logprobs top_p user verbosity web_search_options`)
	roles      = strings.Fields(`system assistant user function tool developer`)
	formats    = strings.Fields(`text json_object json_schema`)
	schemaName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
)

// modelOf reads the model from a body that may be wrong in any other way, for the ledger.
func modelOf(body []byte) string {
	var named struct {
		Model string `json:"model"`
	}
	if json.Unmarshal(body, &named, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
		return ""
	}
	return named.Model
}

func parseRequest(body []byte) (*chatRequest, *apiError) {
	var request chatRequest
	if refusal := decodeRequest(body, &request); refusal != nil {
		return nil, refusal
	}
	return &request, nil
}

// decodeRequest reads a body strictly: duplicate names and invalid UTF-8 are errors too.
func decodeRequest(body []byte, into any) *apiError {
	err := json.Unmarshal(body, into)
	var semantic *json.SemanticError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &semantic):
		param := strings.ReplaceAll(strings.TrimPrefix(string(semantic.JSONPointer), "/"), "/", ".")
		return invalid("invalid_type", param, "Invalid type for '%s'.", param)
	default:
		return invalid("", "", "We could not parse the JSON body of your request.")
	}
}

func (q *chatRequest) maxTokens() (limit int, given bool) {
	for _, field := range []*int{q.MaxCompletionTokens, q.MaxTokens} {
		if field != nil {
			return *field, true
		}
	}
	return 0, false
}

// messages are the request's messages as they are counted.
func (q *chatRequest) messages() []providers.Message {
	counted := make([]providers.Message, len(q.Messages))
	for i, m := range q.Messages {
		counted[i] = providers.Message{Role: m.Role, Content: string(m.Content)}
	}
	return counted
}
