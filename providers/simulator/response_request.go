package simulator

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// minResponseTokens is the least limit that the Responses format accepts.
const minResponseTokens = 16

// responseRequest is the part of a request for a response that is understood; see chatRequest for the rest.
type responseRequest struct {
	Model           string                    `json:"model"`
	Input           responseInput             `json:"input"`
	Instructions    *string                   `json:"instructions"`
	Text            *responseText             `json:"text"`
	MaxOutputTokens *int                      `json:"max_output_tokens"`
	Temperature     *float64                  `json:"temperature"`
	Background      bool                      `json:"background"`
	Store           *bool                     `json:"store"`
	Stream          bool                      `json:"stream"`
	Metadata        map[string]string         `json:"metadata"`
	Rest            map[string]jsontext.Value `json:",embed"`
}

type responseText struct {
	Format    *textFormat    `json:"format"`
	Verbosity jsontext.Value `json:"verbosity,omitzero"`
}

// textFormat is a response_format without its inner object.
type textFormat struct {
	Type        string         `json:"type"`
	Name        string         `json:"name,omitzero"`
	Description string         `json:"description,omitzero"`
	Schema      jsontext.Value `json:"schema,omitzero"`
	Strict      *bool          `json:"strict,omitzero"`
}

// responseInput is what the model is told: a text, which a user says, or messages.
type responseInput []chatMessage

type responseMessage struct {
	Type    string                    `json:"type"`
	Role    string                    `json:"role"`
	Content inputText                 `json:"content"`
	Rest    map[string]jsontext.Value `json:",embed"`
}

// inputText is a content as plain text; its parts are named otherwise than those of chat completions.
type inputText string

// UnmarshalJSON reads a string or parts.
func (t *inputText) UnmarshalJSON(data []byte) error {
	text, err := joinText(data, "input_text", "output_text")
	*t = inputText(text)
	return err
}

// UnmarshalJSON reads both forms.
func (in *responseInput) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*in = responseInput{{Role: "user", Content: messageText(text)}}
		return nil
	}
	var items []responseMessage
	if err := json.Unmarshal(data, &items); err != nil {
		return err
	}
	*in = responseInput{}
	for _, item := range items {
		if item.Type != "" && item.Type != "message" {
			return errContent
		}
		*in = append(*in, chatMessage{Role: item.Role, Content: messageText(item.Content)})
	}
	return nil
}

var (
	inertResponseMembers = strings.Fields(`context_management conversation include max_tool_calls parallel_tool_calls
		previous_response_id prompt prompt_cache_key prompt_cache_retention reasoning safety_identifier service_tier
		stream_options tool_choice tools top_logprobs top_p truncation user`)

	// inResponses says in the words of responses what is wrong in those of chat completions.
	inResponses = strings.NewReplacer("response_format.json_schema", "text.format", "response_format", "text.format",
		"messages", "input", "max_tokens", "max_output_tokens")
)

func parseResponseRequest(body []byte) (*responseRequest, *apiError) {
	var request responseRequest
	if refusal := decodeRequest(body, &request); refusal != nil {
		return nil, refusal
	}
	return &request, nil
}

func (q *responseRequest) stores() bool { return q.Store == nil || *q.Store }

// chat is the same request in the words of chat completions, so that both are answered by one reader.
func (q *responseRequest) chat() *chatRequest {
	request := &chatRequest{
		Model: q.Model, Messages: []chatMessage(q.Input), Temperature: q.Temperature, MaxCompletionTokens: q.MaxOutputTokens,
		Stream: q.Stream, Store: q.stores(), Metadata: q.Metadata,
	}
	if q.Instructions != nil && q.Input != nil {
		request.Messages = append([]chatMessage{{Role: "system", Content: messageText(*q.Instructions)}}, q.Input...)
	}
	if q.Text == nil || q.Text.Format == nil {
		return request
	}
	format := q.Text.Format
	request.ResponseFormat = &responseFormat{Type: format.Type}
	if format.Type == "json_schema" {
		request.ResponseFormat.JSONSchema = &jsonSchema{
			Name: format.Name, Description: format.Description, Schema: format.Schema, Strict: format.Strict,
		}
	}
	return request
}

// check refuses what the real wire format refuses.
func (q *responseRequest) check(request *chatRequest) *apiError {
	for member := range q.Rest {
		if !slices.Contains(inertResponseMembers, member) {
			return invalid("unknown_parameter", member, "Unknown parameter: '%s'.", member)
		}
	}
	if q.Background && !q.stores() {
		return invalid("invalid_value", "background", "Background mode requires 'store' to be true.")
	}
	if n := q.MaxOutputTokens; n != nil && *n < minResponseTokens {
		return invalid("integer_below_min_value", "max_output_tokens",
			"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= %d, but got %d instead.",
			minResponseTokens, *n)
	}
	if refusal := request.checkContent(); refusal != nil {
		refusal.Message = inResponses.Replace(refusal.Message)
		if refusal.Param != nil {
			refusal.Param = optional(inResponses.Replace(*refusal.Param))
		}
		return refusal
	}
	// The instructions do not count: providers look for the word in the input alone.
	said := chatRequest{Messages: []chatMessage(q.Input)}
	if format := request.ResponseFormat; format != nil && format.Type == "json_object" && !said.mentionsJSON() {
		return newError(http.StatusBadRequest, typeInvalid, "", "input",
			"Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.")
	}
	return nil
}
