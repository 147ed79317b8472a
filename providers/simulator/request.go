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
	var text string
	if json.Unmarshal(data, &text) == nil {
		*m = messageText(text)
		return nil
	}
	var parts []textPart
	if err := json.Unmarshal(data, &parts); err != nil {
		return errContent
	}
	for _, part := range parts {
		if part.Type != "text" {
			return errContent
		}
		text += part.Text
	}
	*m = messageText(text)
	return nil
}

var (
	inertMembers = strings.Fields(`audio frequency_penalty function_call functions logit_bias logprobs metadata modalities
		parallel_tool_calls prediction presence_penalty prompt_cache_key reasoning_effort safety_identifier seed
		service_tier stop store stream_options tool_choice tools top_logprobs top_p user verbosity web_search_options`)
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

// parseRequest reads a body strictly: duplicate names and invalid UTF-8 are errors too.
func parseRequest(body []byte) (*chatRequest, *apiError) {
	var request chatRequest
	err := json.Unmarshal(body, &request)
	var semantic *json.SemanticError
	switch {
	case err == nil:
		return &request, nil
	case errors.As(err, &semantic):
		param := strings.ReplaceAll(strings.TrimPrefix(string(semantic.JSONPointer), "/"), "/", ".")
		return nil, invalid("invalid_type", param, "Invalid type for '%s'.", param)
	default:
		return nil, invalid("", "", "We could not parse the JSON body of your request.")
	}
}

// check refuses what the real wire format refuses, before any personality comes into play.
func (q *chatRequest) check() *apiError {
	for member := range q.Rest {
		if !slices.Contains(inertMembers, member) {
			return invalid("unknown_parameter", member, "Unknown parameter: '%s'.", member)
		}
	}
	if err := q.checkMessages(); err != nil {
		return err
	}
	if err := q.checkLimits(); err != nil {
		return err
	}
	return q.checkFormat()
}

func (q *chatRequest) checkMessages() *apiError {
	if q.Messages == nil {
		return invalid("missing_required_parameter", "messages", "Missing required parameter: 'messages'.")
	}
	if len(q.Messages) == 0 {
		return invalid("empty_array", "messages", "Invalid 'messages': empty array. Expected an array with minimum length 1.")
	}
	for _, m := range q.Messages {
		if !slices.Contains(roles, m.Role) {
			return invalid("invalid_value", "messages.role", "Invalid value: '%s'. Supported values are: %s.",
				m.Role, strings.Join(roles, ", "))
		}
	}
	return nil
}

func (q *chatRequest) checkLimits() *apiError {
	if q.Temperature != nil && (*q.Temperature < 0 || *q.Temperature > 2) {
		return invalid("decimal_out_of_range", "temperature", "Invalid 'temperature': expected a value from 0 to 2.")
	}
	if q.MaxTokens != nil && q.MaxCompletionTokens != nil {
		return invalid("invalid_parameter_combination", "max_tokens",
			"Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	}
	if limit, given := q.maxTokens(); given && limit < 1 {
		return invalid("integer_below_min_value", "max_tokens", "Invalid maximum of tokens: expected at least 1.")
	}
	if q.Stream {
		return invalid("unsupported_value", "stream", "Streaming is not supported by this simulator.")
	}
	if q.N != nil && *q.N != 1 {
		return invalid("unsupported_value", "n", "This simulator gives one choice: 'n' must be 1.")
	}
	return nil
}

func (q *chatRequest) checkFormat() *apiError {
	format := q.ResponseFormat
	if format == nil {
		return nil
	}
	if !slices.Contains(formats, format.Type) {
		return invalid("invalid_value", "response_format.type", "Invalid value: '%s'. Supported values are: %s.",
			format.Type, strings.Join(formats, ", "))
	}
	if format.Type == "json_object" && !q.mentionsJSON() {
		return invalid("", "messages",
			"'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.")
	}
	if format.Type != "json_schema" {
		return nil
	}
	if format.JSONSchema == nil || !schemaName.MatchString(format.JSONSchema.Name) {
		return invalid("invalid_value", "response_format.json_schema.name",
			"Invalid 'response_format.json_schema.name': expected a string that matches %s.", schemaName)
	}
	if format.JSONSchema.Schema.Kind() != '{' {
		return invalid("invalid_type", "response_format.json_schema.schema", "The schema must be an object.")
	}
	return nil
}

func (q *chatRequest) mentionsJSON() bool {
	return slices.ContainsFunc(q.Messages, func(m chatMessage) bool {
		return strings.Contains(strings.ToLower(string(m.Content)), "json")
	})
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
